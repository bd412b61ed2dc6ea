package acasguests

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// inside is a running guest as the service's file plane and commands see it.
type inside struct {
	guest   process.RootGuest
	workDir string
}

// Exec runs a command as the image's user.
func (i *inside) Exec(ctx context.Context, cmd engine.ExecRequest) (int, error) {
	if cmd.Dir == "" {
		cmd.Dir = i.workDir
	}
	return i.guest.Exec(ctx, cmd)
}

// at is a file as the service's plane reaches it.
func at(name string) engine.FileRef {
	return engine.FileRef{Root: "/", Path: path.Clean("/" + name), Access: engine.Access{As: sandbox.PrincipalRoot, Links: engine.Follow}}
}

// maxLinks is how many links the last component of a path may lead through, as the
// kernel has it for the others.
const maxLinks = 40

// follow goes after the links of the last component. What it answers was no link a
// moment ago, or is not there.
func (i *inside) follow(ctx context.Context, name string) (string, process.Details, error) {
	for range maxLinks {
		d, err := i.guest.Look(ctx, at(name))
		if err != nil || d.Kind != sandbox.EntrySymlink {
			return name, d, err
		}
		if !path.IsAbs(d.Target) {
			d.Target = path.Join(path.Dir(path.Clean("/"+name)), d.Target)
		}
		name = d.Target
	}
	return "", process.Details{}, engine.ErrThroughLink
}

// kinds are the type bits of what stands at a path.
var kinds = map[sandbox.EntryKind]fs.FileMode{
	sandbox.EntryFile: 0, sandbox.EntryDirectory: fs.ModeDir, sandbox.EntrySymlink: fs.ModeSymlink, sandbox.EntryOther: fs.ModeIrregular,
}

func fileOf(d process.Details) acasemu.File {
	mode := kinds[d.Kind] | fs.FileMode(d.Mode&0o777)
	if d.Pipe {
		mode = fs.ModeNamedPipe | fs.FileMode(d.Mode&0o777)
	}
	return acasemu.File{Name: d.Name, Mode: mode, Size: d.Size, Target: d.Target, Modified: d.Modified}
}

// Stat describes what stands at the path, a link as a link.
func (i *inside) Stat(ctx context.Context, name string) (acasemu.File, error) {
	d, err := i.guest.Look(ctx, at(name))
	return fileOf(d), err
}

// List describes what stands in a directory.
func (i *inside) List(ctx context.Context, name string) ([]acasemu.File, error) {
	dir, d, err := i.follow(ctx, name)
	if err != nil {
		return nil, err
	}
	if d.Kind != sandbox.EntryDirectory {
		return nil, engine.ErrNotDirectory
	}
	var names []string
	err = i.guest.List(ctx, at(dir), func(info engine.Info) bool {
		names = append(names, info.Name)
		return true
	})
	if err != nil {
		return nil, err
	}
	var all []acasemu.File
	for _, child := range names {
		d, err := i.guest.Look(ctx, at(path.Join(dir, child)))
		if errors.Is(err, engine.ErrNotExist) {
			continue // gone since
		}
		if err != nil {
			return nil, err
		}
		all = append(all, fileOf(d))
	}
	return all, nil
}

// Read streams a file. A pipe is waited for until ctx ends, since nobody can tell
// whether a writer will come.
func (i *inside) Read(ctx context.Context, name string) (io.ReadCloser, acasemu.File, error) {
	file, d, err := i.follow(ctx, name)
	switch {
	case err != nil:
		return nil, acasemu.File{}, err
	case d.Kind == sandbox.EntryDirectory:
		return nil, acasemu.File{}, engine.ErrIsDirectory
	case d.Pipe:
		<-ctx.Done()
		return nil, acasemu.File{}, context.Cause(ctx)
	}
	r, info, err := i.guest.Open(ctx, at(file))
	if err != nil {
		return nil, acasemu.File{}, err
	}
	f := fileOf(d)
	f.Size = info.Size
	return r, f, nil
}

// Write replaces a file.
func (i *inside) Write(ctx context.Context, name string, content io.Reader, size int64, how acasemu.Writing) error {
	file, _, err := i.follow(ctx, name)
	if err != nil && !errors.Is(err, engine.ErrNotExist) {
		return err
	}
	if how.Parents {
		if err := i.makeAll(ctx, path.Dir(path.Clean("/"+file))); err != nil {
			return err
		}
	}
	mode := fs.FileMode(0o644)
	if how.Mode != nil {
		mode = *how.Mode
	}
	return i.guest.WriteMode(ctx, at(file), content, size, uint32(mode.Perm()))
}

// makeAll makes a directory and those above it.
func (i *inside) makeAll(ctx context.Context, dir string) error {
	if dir == "/" {
		return nil
	}
	if _, d, err := i.follow(ctx, dir); err == nil {
		if d.Kind != sandbox.EntryDirectory {
			return engine.ErrNotDirectory
		}
		return nil
	} else if !errors.Is(err, engine.ErrNotExist) {
		return err
	}
	if err := i.makeAll(ctx, path.Dir(dir)); err != nil {
		return err
	}
	return i.guest.Mkdir(ctx, at(dir))
}

// Mkdir makes a directory.
func (i *inside) Mkdir(ctx context.Context, name string, how acasemu.Writing) error {
	dir, d, err := i.follow(ctx, name)
	switch {
	case err == nil && d.Kind == sandbox.EntryDirectory:
		return nil
	case err == nil:
		return engine.ErrNotDirectory
	case !errors.Is(err, engine.ErrNotExist):
		return err
	}
	if how.Parents {
		if err := i.makeAll(ctx, path.Dir(path.Clean("/"+dir))); err != nil {
			return err
		}
	}
	if how.Mode != nil {
		return i.guest.MkdirMode(ctx, at(dir), uint32(how.Mode.Perm()))
	}
	return i.guest.Mkdir(ctx, at(dir))
}

// Remove removes a file, a link as a link, an empty directory, or a tree.
func (i *inside) Remove(ctx context.Context, name string, recursive bool) error {
	err := i.guest.Remove(ctx, at(name), recursive)
	if !errors.Is(err, engine.ErrIsDirectory) || recursive {
		return err
	}
	empty := true
	if err := i.guest.List(ctx, at(name), func(engine.Info) bool { empty = false; return false }); err != nil {
		return err
	}
	if !empty {
		return engine.ErrIsDirectory
	}
	return i.guest.Remove(ctx, at(name), true)
}

var _ acasemu.Guest = (*inside)(nil)
