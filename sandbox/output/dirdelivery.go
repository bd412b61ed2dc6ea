package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	stdpath "path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
)

// dirDelivery is one collection on its way into a [DirSink].
type dirDelivery struct {
	sink    *DirSink
	scope   string
	area    string // the scope's directory, relative to the root
	base    string // where files land, at or below the area
	staging *staging
	names   []string // staged, in order
	buffer  []byte
	stuck   bool // in the middle of a commit
	landed  bool

	reserved Usage // what the quota holds for this delivery
	staged   Usage
	replaced Usage // what stands where planned names land, and will not then
}

var _ Planner = (*dirDelivery)(nil)

// Plan looks at all places and reserves the room, before the first byte is read.
func (d *dirDelivery) Plan(ctx context.Context, artifacts []Artifact) error {
	var asked Usage
	for _, a := range artifacts {
		if err := d.acceptable(a.Name); err != nil {
			return err
		}
		if err := d.free(a.Name); err != nil {
			return err
		}
		asked = asked.Add(Usage{Bytes: a.Size, Files: 1})
		if d.sink.options.Existing == ExistingReplace {
			d.replaced = d.replaced.Add(d.standing(a.Name))
		}
	}
	return d.reserve(ctx, asked)
}

// Stage writes one artifact into the staging directory. One that was not planned
// for is admitted now.
func (d *dirDelivery) Stage(ctx context.Context, artifact Artifact, content io.Reader) (Landed, error) {
	if err := d.acceptable(artifact.Name); err != nil {
		return Landed{}, err
	}
	if err := d.free(artifact.Name); err != nil {
		return Landed{}, err
	}
	next := d.staged.Add(Usage{Bytes: artifact.Size, Files: 1})
	if next.Bytes > d.reserved.Bytes || next.Files > d.reserved.Files {
		if err := d.reserve(ctx, Usage{Bytes: max(next.Bytes, d.reserved.Bytes), Files: max(next.Files, d.reserved.Files)}); err != nil {
			return Landed{}, err
		}
	}
	n, err := d.spool(ctx, artifact, content)
	if err != nil {
		return Landed{}, err
	}
	d.staged = next
	d.names = append(d.names, artifact.Name)
	return Landed{
		Name: artifact.Name, Size: n, Display: d.sink.options.Display(artifact),
		Handle: filepath.Join(d.sink.root.Name(), filepath.FromSlash(stdpath.Join(d.base, artifact.Name))),
	}, nil
}

// copyBuffer is how much of a file is in memory at a time.
const copyBuffer = 64 << 10

func (d *dirDelivery) spool(ctx context.Context, artifact Artifact, content io.Reader) (n int64, err error) {
	root, staged := d.sink.root, d.staging.in(filesName+"/"+artifact.Name)
	if dir := stdpath.Dir(artifact.Name); dir != "." {
		if err := root.MkdirAll(d.staging.in(filesName+"/"+dir), directoryMode); err != nil {
			return 0, stagingFailed(artifact.Name, err)
		}
	}
	f, err := root.OpenFile(staged, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return 0, stagingFailed(artifact.Name, err)
	}
	defer func() {
		if closeErr := f.Close(); err == nil && closeErr != nil {
			err = landingFailed("staging", closeErr)
		}
	}()
	if d.buffer == nil {
		d.buffer = make([]byte, copyBuffer)
	}
	// The file's own ReadFrom would allocate a buffer for each.
	n, err = io.CopyBuffer(struct{ io.Writer }{f}, &bounded{ctx: ctx, r: content, left: artifact.Size}, d.buffer)
	if err == nil && n != artifact.Size {
		err = fmt.Errorf("%d bytes instead of %d", n, artifact.Size)
	}
	if err == nil && !d.sink.options.SkipSync {
		err = f.Sync()
	}
	if err != nil {
		return n, landingFailed("staging", err)
	}
	return n, nil
}

// bounded reads no further than one byte past what was said, nor past the end of
// the context.
type bounded struct {
	ctx  context.Context //nolint:containedctx // of one call, in which this lives
	r    io.Reader
	left int64
}

var errLonger = errors.New("more bytes than were said")

func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, errLonger
	}
	return n, err
}

// stagingFailed tells a name that lies below another output's, or above one, from
// a failure.
func stagingFailed(name string, err error) error {
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) {
		return exists(name)
	}
	return landingFailed("staging", err)
}

// acceptable judges a name, whoever judged it before.
func (d *dirDelivery) acceptable(name string) error {
	if err := guestpath.ValidateArtifactName(name); err != nil {
		return err
	}
	first, _, _ := strings.Cut(name, "/")
	switch {
	case d.base == "." && guestpath.CollisionKey(first) == stagingDir:
		return sandbox.Finding{
			Code: sandbox.CodeArtifactNameInvalid, Found: "name " + sandbox.Echo(name) + " in the sink's own directory",
			Required: "a name that does not begin with " + stagingDir, Remedy: "land it under another name",
		}.Refusal(nil)
	case d.sink.options.Portable && guestpath.PortableName(name) != name:
		return sandbox.Finding{
			Code: sandbox.CodeArtifactNameInvalid, Found: "name " + sandbox.Echo(name) + ", which Windows reads otherwise",
			Required: "a name such as " + sandbox.Echo(guestpath.PortableName(name)), Remedy: "land it under another name, or collect with portable names",
		}.Refusal(nil)
	}
	return nil
}

// free refuses a name whose place is taken or led elsewhere.
func (d *dirDelivery) free(name string) error {
	if err := confined(d.sink.root, d.base, name); err != nil {
		return err
	}
	info, err := d.sink.root.Lstat(stdpath.Join(d.base, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return landingFailed("looking where "+sandbox.Echo(name)+" lands", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return notConfined(name)
	case !info.Mode().IsRegular() || d.sink.options.Existing == ExistingRefuse:
		return exists(name)
	}
	return nil
}

// confined looks at every directory of base, and at those above where a name lands in
// it. What is not there yet is fine.
func confined(root *os.Root, base, name string) error {
	dirs := strings.Split(stdpath.Join(base, name), "/")
	if name != "" {
		dirs = dirs[:len(dirs)-1]
	}
	for i := range dirs {
		info, err := root.Lstat(stdpath.Join(dirs[:i+1]...))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return landingFailed("looking where "+sandbox.Echo(name)+" lands", err)
		case info.Mode()&fs.ModeSymlink != 0:
			return notConfined(name)
		case !info.IsDir():
			return exists(name)
		}
	}
	return nil
}
