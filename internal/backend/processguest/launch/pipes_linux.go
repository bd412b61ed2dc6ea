package launch

import (
	"errors"
	"fmt"
	"os"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/bwrap"
)

// plumb makes what process 1 has as its descriptors 0 to 2: the two pipes, and
// the page for errors.
func (s *Sandbox) plumb(child *descriptors) error {
	stdin, in, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make the agent's pipes: %w", err)
	}
	child.add(stdin)
	s.In = in
	out, stdout, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make the agent's pipes: %w", err)
	}
	child.add(stdout)
	s.Out = out
	if s.words, err = page(); err != nil {
		return err
	}
	words, err := os.OpenFile(bwrap.Lookup(s.words), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open the page for errors: %w", err)
	}
	child.add(words)
	return nil
}

// closeOwn closes what the host holds of a sandbox that never was.
func (s *Sandbox) closeOwn() {
	for _, f := range append([]*os.File{s.Out, s.In, s.words, s.pidfd}, s.also...) {
		if f != nil {
			_ = f.Close()
		}
	}
}

// descriptors are what a child gets, each with its number there.
type descriptors struct{ files []*os.File }

func (d *descriptors) add(f *os.File) uintptr {
	d.files = append(d.files, f)
	return d.last()
}

func (d *descriptors) last() uintptr { return uintptr(len(d.files) - 1) }

// inPipe is what every pipe takes without a reader.
const inPipe = 4096

// content is a descriptor that is read from the content's beginning: a pipe that
// holds all of it already, or memory for what is larger.
func (d *descriptors) content(content []byte) (uintptr, error) {
	if len(content) > inPipe {
		image, err := NewImage("content", content)
		if err != nil {
			return 0, err
		}
		f, err := image.Open()
		if err != nil {
			return 0, errors.Join(err, image.Close())
		}
		return d.add(f), image.Close()
	}
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	n := d.add(r)
	_, err = w.Write(content)
	return n, errors.Join(err, w.Close())
}

func (d *descriptors) open(path string) (uintptr, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	return d.add(f), nil
}

func (d *descriptors) close() {
	for _, f := range d.files {
		_ = f.Close() // the child has its own
	}
	d.files = nil
}
