package acasapi

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// The file plane acts as root in the guest and follows links in every component
// but a stat's last. Nothing here confines; whoever calls does.

// maxPath is the longest path that Linux takes.
const maxPath = 4096

// checkPath refuses a path that different readers would read differently. It does
// not say whether the path is within anything.
func checkPath(object, path string) error {
	if !strings.HasPrefix(path, "/") || len(path) > maxPath || !utf8.ValidString(path) || strings.ContainsRune(path, 0) {
		return refusal(sandbox.CodePathInvalid, object, sandbox.Echo(path), "an absolute path of at most 4096 bytes of UTF-8 without NUL", "")
	}
	return nil
}

func (s *Sandbox) file(op wire.Op, path string, more ...param) (call, error) {
	c := s.call(op)
	c.object = "file " + sandbox.Echo(path) + " of " + c.object
	c.query = append([]param{{"path", path}}, more...)
	return c, checkPath(c.object, path)
}

// Content is a file on its way out of the guest. Close it; nothing of it is held.
type Content struct {
	io.ReadCloser
	// Size is what the service announced, -1 when it announced nothing. Reading
	// fewer bytes is an error, never a short file.
	Size int64
}

// ReadFile opens a file. It follows links. The context bounds the whole transfer:
// what looks like an empty file may be a pipe that never ends, and reading one gets
// no answer at all.
func (s *Sandbox) ReadFile(ctx context.Context, path string) (*Content, error) {
	c, err := s.file(wire.FileRead, path)
	if err != nil {
		return nil, err
	}
	return s.plane().open(ctx, c)
}

func (p *plane) open(ctx context.Context, c call) (*Content, error) {
	c.stream = true
	a, err := p.send(ctx, c)
	if err != nil {
		return nil, err
	}
	return &Content{ReadCloser: a.stream, Size: a.stream.left}, nil
}

// Writing says how a file is written.
type Writing struct {
	// Size is the content's length in bytes; content of another length replaces
	// nothing that the service would not have replaced already.
	Size int64
	// NoDirs refuses to make the directories that are missing above the file.
	NoDirs bool
	// Mode is the permission bits; zero leaves them to the service, which takes
	// 0644.
	Mode uint32
}

// WriteFile replaces a file with content, which is read once and not held. When
// content can be read again, an [io.Seeker], it is sent again where that is needed.
func (s *Sandbox) WriteFile(ctx context.Context, path string, content io.Reader, how Writing) error {
	more := []param{{"createDirs", strconv.FormatBool(!how.NoDirs)}}
	if how.Mode != 0 {
		more = append(more, param{"mode", strconv.FormatUint(uint64(how.Mode), 10)})
	}
	c, err := s.file(wire.FileWrite, path, more...)
	if err != nil {
		return err
	}
	if c.upload, err = newUpload(content, how.Size, c.object); err != nil {
		return err
	}
	a, err := s.plane().send(ctx, c)
	if err != nil {
		return err
	}
	return s.done(a, &how.Size)
}

// done reads the answer to a change. An empty one is as good as one that says so.
func (s *Sandbox) done(a *answer, size *int64) error {
	if len(a.body) == 0 {
		return nil
	}
	_, err := read(s.plane(), a, func(d *wire.Done) error {
		if size != nil && d.BytesWritten != nil && *d.BytesWritten != *size {
			return errors.New(strconv.FormatInt(*d.BytesWritten, 10) + " bytes written of " + strconv.FormatInt(*size, 10))
		}
		return d.Check()
	})
	return err
}

// StatFile describes what stands at path, a link itself if it is one.
func (s *Sandbox) StatFile(ctx context.Context, path string) (wire.FileInfo, error) {
	c, err := s.file(wire.FileStat, path)
	if err != nil {
		return wire.FileInfo{}, err
	}
	return ask(ctx, s.plane(), c, (*wire.FileInfo).Check)
}

// ListFiles describes what stands in a directory. It follows a link to one.
func (s *Sandbox) ListFiles(ctx context.Context, path string) ([]wire.FileInfo, error) {
	c, err := s.file(wire.FileList, path)
	if err != nil {
		return nil, err
	}
	listing, err := ask(ctx, s.plane(), c, (*wire.Listing).Check)
	if err != nil {
		return nil, err
	}
	return *listing.Entries, nil
}

// MakeDir makes a directory and what is missing above it. One that exists is
// success.
func (s *Sandbox) MakeDir(ctx context.Context, path string) error {
	c, err := s.file(wire.FileMkdir, path)
	if err != nil {
		return err
	}
	c.query, c.body = nil, wire.Mkdir{Path: path}
	a, err := s.plane().send(ctx, c)
	if err != nil {
		return err
	}
	return s.done(a, nil)
}

// DeleteFile removes a file, an empty directory, or with recursive a whole tree. A
// path where nothing stands is service.not_found, unless an earlier attempt of this
// call may have removed it.
func (s *Sandbox) DeleteFile(ctx context.Context, path string, recursive bool) error {
	c, err := s.file(wire.FileDelete, path, param{"recursive", strconv.FormatBool(recursive)})
	if err != nil {
		return err
	}
	a, err := s.plane().send(ctx, c)
	if e := ErrorOf(err); e != nil && e.Class == sandbox.CodeServiceNotFound && e.repeated {
		return nil
	}
	if err != nil {
		return err
	}
	return s.done(a, nil)
}
