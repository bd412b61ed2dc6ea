package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"

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
