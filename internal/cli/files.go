package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// readFile reads a file, or standard input for "-", of at most limit bytes.
func (a *app) readFile(name string, limit int64) ([]byte, error) {
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, badInput("read %s: %w", sandbox.Echo(name), withoutPath(err))
	}
	if int64(len(b)) > limit {
		return nil, badInput("%s is larger than %d bytes, which is the most that is read", sandbox.Echo(name), limit)
	}
	return b, nil
}

// open opens a regular file or a pipe, or standard input for "-".
func (a *app) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.env.Stdin), nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, badInput("%s: %w", sandbox.Echo(name), withoutPath(err))
	}
	if info.IsDir() {
		return nil, badInput("%s is a directory, not a file", sandbox.Echo(name))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, badInput("%s: %w", sandbox.Echo(name), withoutPath(err))
	}
	return f, nil
}

// withoutPath drops the path that messages have already named.
func withoutPath(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	return err
}

// isDirectory reports whether name is one. What is not there is none.
func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// interruptible reads a stream that may block, such as a terminal, until ctx
// ends. A read that is abandoned goes on by itself, into a buffer of its own; the
// command ends then, and the read with it.
type interruptible struct {
	ctx  context.Context //nolint:containedctx // what ends a Read, which takes none
	from io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	type result struct {
		data []byte
		err  error
	}
	answer := make(chan result, 1)
	go func() {
		buf := make([]byte, len(p))
		n, err := r.from.Read(buf)
		answer <- result{buf[:n], err}
	}()
	select {
	case got := <-answer:
		return copy(p, got.data), got.err
	case <-r.ctx.Done():
		return 0, context.Cause(r.ctx)
	}
}

// exists reports whether a name is taken, by whatever.
func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// createFile writes a file. Without over it takes no name that is taken, whoever was
// first; with it the file of that name is replaced as a whole.
func createFile(name string, content []byte, over bool) error {
	if over {
		return replaceFile(name, content)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fileExists(name)
	} else if err != nil {
		return badInput("%s: %w", sandbox.Echo(name), withoutPath(err))
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return badInput("%s: %w", sandbox.Echo(name), errors.Join(err, os.Remove(name)))
	}
	return nil
}

func replaceFile(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return badInput("%s: %w", sandbox.Echo(name), withoutPath(err))
	}
	defer os.Remove(f.Name()) //nolint:errcheck // under its own name it is gone by then
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return badInput("%s: %w", sandbox.Echo(name), err)
	}
	return nil
}
