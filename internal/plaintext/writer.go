package plaintext

import (
	"bytes"
	"io"
	"strings"
)

// Writer passes whole lines on, each escaped as [Value] escapes, but for the line
// break that ends it. What was written after the last line break waits for the
// next one or for [Writer.Flush]; a command that was cut in two is still seen.
type Writer struct {
	to   io.Writer
	line []byte
}

// NewWriter is a door in front of to.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// maxLine bounds the part of a line that waits, in bytes. A longer line is passed
// on in pieces, each of them escaped.
const maxLine = 1 << 20

// Write takes text. It always takes all of it, or fails as the writer behind.
func (w *Writer) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			w.line = append(w.line, rest...)
			if len(w.line) > maxLine {
				return len(p), w.pass("")
			}
			return len(p), nil
		}
		w.line = append(w.line, rest[:end]...)
		rest = rest[end+1:]
		if err := w.pass("\n"); err != nil {
			return len(p) - len(rest), err
		}
	}
	return len(p), nil
}

// Flush passes on what waits for the end of its line.
func (w *Writer) Flush() error {
	if len(w.line) == 0 {
		return nil
	}
	return w.pass("")
}

func (w *Writer) pass(end string) error {
	text := line(string(w.line), false) + end
	w.line = w.line[:0]
	_, err := io.WriteString(w.to, text)
	return err
}

// Guest writes a guest's output, each line behind the marker, so that no line of
// it can pass for one of ours. Tabs are left; a last line without a line break
// gets one. Nothing is written for no output. The writer must be the stream
// itself, not a [Writer], which would escape the tabs.
func Guest(to io.Writer, marker string, output []byte) error {
	if len(output) == 0 {
		return nil
	}
	var b strings.Builder
	for text := range strings.Lines(string(output)) {
		b.WriteString(marker)
		b.WriteString(line(strings.TrimSuffix(text, "\n"), true))
		b.WriteByte('\n')
		if b.Len() > maxLine {
			if _, err := io.WriteString(to, b.String()); err != nil {
				return err
			}
			b.Reset()
		}
	}
	_, err := io.WriteString(to, b.String())
	return err
}
