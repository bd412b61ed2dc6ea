package acasemu

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// maxPath is the longest path that is passed on.
const maxPath = 4096

// filePath is the path of a request, absolute, otherwise as it was asked for.
func filePath(p string) (string, error) {
	switch {
	case p == "":
		return "", invalid("path is required")
	case len(p) > maxPath || strings.ContainsRune(p, 0):
		return "", invalid("path is at most %d bytes without NUL", maxPath)
	case !strings.HasPrefix(p, "/"):
		return "/" + p, nil
	}
	return p, nil
}

// inside is the guest of a request to a running sandbox, and the path in it.
func (e *Emulator) inside(ctx context.Context, c *call, asked string) (Guest, string, error) {
	f, err := e.running(ctx, c)
	if err != nil {
		return nil, "", err
	}
	p, err := filePath(asked)
	if err != nil {
		return nil, "", err
	}
	guest, err := e.cfg.Guests.Guest(ctx, f.sandbox.Doc.ID)
	if err != nil {
		return nil, "", e.guestFailure(ctx, c, f.sandbox.Doc.ID, err)
	}
	return guest, p, e.touch(ctx, c, &f.sandbox)
}

func (c *call) pathParameter() string { p, _ := c.query.get("path"); return p }

func (c *call) flag(name string, otherwise bool) bool {
	text, given := c.query.get(name)
	if !given || text == "" {
		return otherwise
	}
	return strings.EqualFold(text, "true") || text == "1"
}

func (e *Emulator) fileRead(ctx context.Context, c *call) (answer, error) {
	guest, p, err := e.inside(ctx, c, c.pathParameter())
	if err != nil {
		return answer{}, err
	}
	content, info, err := guest.Read(ctx, p)
	if err != nil {
		return answer{}, e.guestFailure(ctx, c, c.seg[wire.SegSandbox], err)
	}
	size := info.Size
	if !info.Mode.IsRegular() {
		size = -1
	}
	return answer{status: http.StatusOK, stream: content, size: size}, nil
}

func (e *Emulator) fileWrite(ctx context.Context, c *call) (answer, error) {
	guest, p, err := e.inside(ctx, c, c.pathParameter())
	if err != nil {
		return answer{}, err
	}
	how := Writing{Parents: c.flag("createDirs", true)}
	if text, given := c.query.get("mode"); given && text != "" {
		if how.Mode, err = modeOf(text); err != nil {
			return answer{}, err
		}
	}
	content, size, err := e.upload(c)
	if err != nil {
		return answer{}, err
	}
	if err := guest.Write(ctx, p, content, size, how); err != nil {
		return answer{}, e.guestFailure(ctx, c, c.seg[wire.SegSandbox], err)
	}
	return c.made(wire.Done{Success: new(true), BytesWritten: &size})
}

// maxSpooled is the largest file that may come without saying how long it is.
const maxSpooled = 32 << 20

// upload is the file in the body of a request. One that does not say its size is
// read first: guests are told it.
func (e *Emulator) upload(c *call) (content io.Reader, size int64, err error) {
	tooLarge := func(most int64) error {
		return refuse(http.StatusRequestEntityTooLarge, "FileTooLarge", "a file has at most %d bytes", most)
	}
	body, size := c.arriving(), c.request.ContentLength
	switch {
	case c.request.Body == nil:
		return bytes.NewReader(nil), 0, nil
	case size > e.cfg.MaxFile:
		return nil, 0, tooLarge(e.cfg.MaxFile)
	case size >= 0:
		return io.LimitReader(body, size), size, nil
	}
	most := min(e.cfg.MaxFile, maxSpooled)
	all, err := io.ReadAll(io.LimitReader(body, most+1))
	switch {
	case err != nil:
		return nil, 0, refuse(http.StatusBadRequest, "InvalidRequestContent", "the body did not arrive whole")
	case int64(len(all)) > most:
		return nil, 0, tooLarge(most)
	}
	return bytes.NewReader(all), int64(len(all)), nil
}

// arriving is the body of a request that may take its time, and has to go on
// arriving.
func (c *call) arriving() io.Reader {
	if c.request.Body == nil {
		return nil
	}
	return &arriving{c.request.Body, c.control}
}

type arriving struct {
	body    io.Reader
	control *http.ResponseController
}

func (a *arriving) Read(p []byte) (int, error) {
	// A transport in this process has no deadlines, and needs none.
	_ = a.control.SetReadDeadline(time.Now().Add(bodyBound))
	n, err := a.body.Read(p)
	_ = a.control.SetReadDeadline(time.Time{})
	return n, err
}

// modeOf reads permissions, which are a decimal number: 420 is 0644.
func modeOf(text string) (*fs.FileMode, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > 0o7777 {
		return nil, invalid("mode is permission bits as a decimal number")
	}
	return new(fs.FileMode(n & 0o777)), nil
}

func (e *Emulator) fileStat(ctx context.Context, c *call) (answer, error) {
	asked := c.pathParameter()
	guest, p, err := e.inside(ctx, c, asked)
	if err != nil {
		return answer{}, err
	}
	f, err := guest.Stat(ctx, p)
	if err != nil {
		return answer{}, e.guestFailure(ctx, c, c.seg[wire.SegSandbox], err)
	}
	return ok(c.fileInfo(f, path.Base(asked), asked))
}

func (e *Emulator) fileList(ctx context.Context, c *call) (answer, error) {
	asked := c.pathParameter()
	guest, p, err := e.inside(ctx, c, asked)
	if err != nil {
		return answer{}, err
	}
	all, err := guest.List(ctx, p)
	if err != nil {
		return answer{}, e.listFailure(ctx, c, err)
	}
	slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	entries := make([]wire.FileInfo, 0, len(all))
	for _, f := range all {
		entries = append(entries, c.fileInfo(f, f.Name, strings.TrimSuffix(asked, "/")+"/"+f.Name))
	}
	return ok(wire.Listing{Path: textOf(asked), Entries: &entries})
}

// listFailure says of a file that it cannot be listed, with the status of what is
// not there.
func (e *Emulator) listFailure(ctx context.Context, c *call, err error) error {
	if errors.Is(err, engine.ErrNotDirectory) {
		return refuse(http.StatusNotFound, "DirectoryNotFound", "the path is not a directory")
	}
	return e.guestFailure(ctx, c, c.seg[wire.SegSandbox], err)
}

// sizeOfDirectory is what the service says of every directory.
const sizeOfDirectory = 4096

// fileInfo is an entry as the service shows it: permissions without a type, and
// for a pipe, a socket or a device what an empty file has.
func (c *call) fileInfo(f File, name, full string) wire.FileInfo {
	size := f.Size
	switch {
	case f.Mode.IsDir():
		size = sizeOfDirectory
	case f.Mode&fs.ModeSymlink != 0:
		size = int64(len(f.Target))
	case !f.Mode.IsRegular():
		size = 0
	}
	info := wire.FileInfo{
		Name: textOf(name), Path: textOf(full), Size: &size, Mode: new(int(f.Mode.Perm())), SymlinkTarget: textOf(f.Target),
		ModifiedTime: new(f.Modified.Unix()),
	}
	if !c.fault.NoFlags {
		info.IsDir, info.IsSymlink = new(f.Mode.IsDir()), new(f.Mode&fs.ModeSymlink != 0)
	}
	return info
}

func (e *Emulator) fileMkdir(ctx context.Context, c *call) (answer, error) {
	var body wire.Mkdir
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	guest, p, err := e.inside(ctx, c, body.Path)
	if err != nil {
		return answer{}, err
	}
	how := Writing{Parents: body.CreateParents == nil || *body.CreateParents}
	if body.Mode != nil {
		if how.Mode, err = modeOf(strconv.Itoa(*body.Mode)); err != nil {
			return answer{}, err
		}
	}
	if err := guest.Mkdir(ctx, p, how); err != nil {
		return answer{}, e.guestFailure(ctx, c, c.seg[wire.SegSandbox], err)
	}
	return ok(wire.Done{Success: new(true)})
}

func (e *Emulator) fileDelete(ctx context.Context, c *call) (answer, error) {
	guest, p, err := e.inside(ctx, c, c.pathParameter())
	if err != nil {
		return answer{}, err
	}
	if err := guest.Remove(ctx, p, c.flag("recursive", false)); err != nil {
		if errors.Is(err, engine.ErrIsDirectory) {
			return answer{}, refuse(http.StatusBadRequest, "DirectoryNotEmpty", "the directory is not empty; ask for recursive=true")
		}
		return answer{}, e.guestFailure(ctx, c, c.seg[wire.SegSandbox], err)
	}
	return ok(wire.Done{Success: new(true)})
}
