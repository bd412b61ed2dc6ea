package clienthello_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/clienthello"
)

// hello is what Go's client sends first.
func hello(tb testing.TB, config *tls.Config) []byte {
	tb.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		tls.Client(far, config).Handshake() //nolint:errcheck // nobody answers it
	}()
	_, seen, err := clienthello.Read(near)
	if err != nil {
		tb.Fatal(err)
	}
	near.Close()
	far.Close()
	<-done
	return seen
}

func TestAHelloIsReadHoweverItArrives(t *testing.T) {
	t.Parallel()
	sent := hello(t, &tls.Config{ServerName: "api.example.com", NextProtos: []string{"h2", "http/1.1"}})
	for name, r := range map[string]io.Reader{
		"at once":      bytes.NewReader(sent),
		"byte by byte": iotest.OneByteReader(bytes.NewReader(sent)),
		"in records":   bytes.NewReader(inRecords(sent, 7)),
	} {
		got, seen, err := clienthello.Read(r)
		if err != nil || got.ServerName != "api.example.com" || !slices.Equal(got.Protocols, []string{"h2", "http/1.1"}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if name != "in records" && !bytes.Equal(seen, sent) {
			t.Errorf("%s: what was taken is not what was sent", name)
		}
	}
	got, _, err := clienthello.Read(bytes.NewReader(hello(t, &tls.Config{InsecureSkipVerify: true})))
	if err != nil || got.ServerName != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

// inRecords cuts the one record of a hello into several.
func inRecords(sent []byte, size int) []byte {
	const header = 5
	var cut []byte
	for body := sent[header:]; len(body) > 0; {
		n := min(size, len(body))
		cut = append(cut, sent[0], sent[1], sent[2], byte(n>>8), byte(n))
		cut = append(cut, body[:n]...)
		body = body[n:]
	}
	return cut
}

func TestTheEndOfAHelloIsTheEndOfARecord(t *testing.T) {
	t.Parallel()
	sent := hello(t, &tls.Config{ServerName: "api.example.com"})
	cut := inRecords(sent, 7)
	both := slices.Concat(sent[:3], []byte{byte((len(sent) - 5 + 1) >> 8), byte(len(sent) - 5 + 1)}, sent[5:], []byte{1})
	for name, c := range map[string]struct {
		taken []byte
		end   int
	}{
		"alone":                   {sent, len(sent)},
		"in records":              {cut, len(cut)},
		"with what comes behind":  {slices.Concat(sent, sent), len(sent)},
		"with one in its record":  {both, 0},
		"without its end":         {sent[:len(sent)-1], 0},
		"with another in between": {slices.Concat(cut[:12], []byte{20, 3, 3, 0, 1, 1}, cut[12:]), 0},
		"nothing":                 {nil, 0},
	} {
		if got := clienthello.End(c.taken); got != c.end {
			t.Errorf("%s: %d, want %d of %d", name, got, c.end, len(c.taken))
		}
	}
}

func TestWhatIsNotTLSIsSaidToBeSo(t *testing.T) {
	t.Parallel()
	sent := hello(t, &tls.Config{ServerName: "api.example.com"})
	for name, text := range map[string][]byte{
		"HTTP":               []byte("GET / HTTP/1.1\r\n\r\n"),
		"another message":    append([]byte{22, 3, 1, 0, 5, 2, 0, 0, 1, 0}, sent...),
		"garbage in a hello": append(slices.Clone(sent[:50]), bytes.Repeat([]byte{0xff}, len(sent)-50)...),
		"an endless hello":   append([]byte{22, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff}, bytes.Repeat([]byte{22, 3, 1, 0x40, 0}, 1<<18)...),
	} {
		_, seen, err := clienthello.Read(bytes.NewReader(text))
		if !errors.Is(err, clienthello.ErrNotTLS) || len(seen) > clienthello.MaxBytes || !bytes.HasPrefix(text, seen) {
			t.Errorf("%s: %v after %d bytes", name, err, len(seen))
		}
	}
	if _, _, err := clienthello.Read(strings.NewReader(string(sent[:100]))); errors.Is(err, clienthello.ErrNotTLS) || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a hello: %v", err)
	}
}

func FuzzNothingIsTakenForAHelloThatServersReadDifferently(f *testing.F) {
	f.Add(hello(f, &tls.Config{ServerName: "api.example.com", NextProtos: []string{"h2"}}))
	f.Add(inRecords(hello(f, &tls.Config{ServerName: "a.b"}), 3))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, seen, err := clienthello.Read(bytes.NewReader(text))
		if !bytes.HasPrefix(text, seen) || len(seen) > clienthello.MaxBytes {
			t.Fatal("what was taken is not what was sent")
		}
		if err != nil {
			return
		}
		again, taken, err := clienthello.Read(iotest.OneByteReader(bytes.NewReader(text)))
		if err != nil || again.ServerName != got.ServerName || !bytes.HasPrefix(seen, taken) {
			t.Errorf("%+v, and byte by byte %+v, %v", got, again, err)
		}
		if seen[0] != 22 || strings.HasSuffix(got.ServerName, ".") {
			t.Errorf("%+v out of % x", got, seen)
		}
		if got.ServerName != "" && !bytes.Contains(flat(seen), []byte(got.ServerName)) {
			t.Errorf("%q is not what was sent", got.ServerName)
		}
	})
}

// flat is the content of records, one after the other.
func flat(records []byte) []byte {
	var content []byte
	const header = 5
	for len(records) >= header {
		n := min(int(records[3])<<8|int(records[4]), len(records)-header)
		content = append(content, records[header:header+n]...)
		records = records[header+n:]
	}
	return content
}
