package process

import (
	"context"
	"errors"
	"io"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Image is what a sandbox with a root of its own is made from. The zero value has
// no programs, and no sandbox is made from it.
type Image struct {
	// User is whom programs run as, as images have it: a name that the image's
	// /etc/passwd knows or a number, with a group behind a colon or not; empty is
	// root. Anybody but root takes a second user of Config.Users: without one such
	// an image is refused with [sandbox.CodeImageUserUnserved].
	User string
	// Env are variables that its programs have, unless they are given others.
	Env []string
	// WorkDir is where its programs run that are not told where, "/" when empty.
	WorkDir string

	// Machine shows what sandboxes are shown without images, this machine's /usr
	// or Config.RootFS, read-only, beside a few directories and files of the
	// sandbox's own.
	Machine bool
	// Files opens a tar archive, uncompressed, of what the root file system holds
	// to begin with; nil is nothing. It is called once or twice for a sandbox. The
	// archive is taken apart in the sandbox, by its own root: what is in it can do
	// nothing that the sandbox's programs could not do. Owners that the sandbox
	// does not have become its root; devices, extended attributes and what would
	// stand below /proc, /sys and /dev are left out.
	//
	// Together with Machine it is laid over what is there already; nothing can be
	// put into what is shown of the machine.
	Files func(ctx context.Context) (io.ReadCloser, error)
}

// Images answers what the image of a sandbox is, which may be the zero value where
// none was asked for. An error is the answer to the start.
type Images func(ctx context.Context, wanted sandbox.Image) (Image, error)

// RootGuest is what every guest is of an engine whose Config has Images: the file
// plane acts as the guest's root, which is nobody outside it, and programs run as
// the image's user.
type RootGuest interface {
	engine.Guest
	engine.Execer

	// Look describes what stands at a path, a link as a link.
	Look(ctx context.Context, ref engine.FileRef) (Details, error)
	// WriteMode is Write, and MkdirMode Mkdir, of what has those permissions from
	// its first moment on.
	WriteMode(ctx context.Context, ref engine.FileRef, content io.Reader, size int64, mode uint32) error
	MkdirMode(ctx context.Context, ref engine.FileRef, mode uint32) error
	// Hold stops every program, and release lets them go on. What runs a program
	// meanwhile runs it.
	Hold(ctx context.Context) (release func(context.Context) error, err error)
	// Snapshot writes a tar archive of the root file system, with every program
	// stopped, for the Files of an [Image]. What is shown of the machine is not in
	// it, nor /dev/shm. On an error what was written is not whole.
	Snapshot(ctx context.Context, to io.Writer) error
	// Attach shows a directory of this machine at one of the sandbox, absolute and
	// clean, which is made where it is missing. A file of the machine's root is of
	// the sandbox's root there. How much is written to it nobody bounds. It is
	// [ErrCannotAttach] on a host that is not root.
	Attach(ctx context.Context, dir, at string, readOnly bool) error
	// Rejudge asks the sandbox's [EgressJudge] again about what goes on, and ends what
	// it does not admit any more.
	Rejudge()
	// ExecAsRoot runs a program as the guest's root instead of the image's user.
	ExecAsRoot(ctx context.Context, cmd engine.ExecRequest) (exitCode int, err error)
}

// ErrCannotAttach says that this host mounts nothing into a sandbox that runs: it
// is not root, or its kernel or the directory's file system cannot.
var ErrCannotAttach = errors.New("this host cannot mount a directory into a sandbox that runs")

// Details are what a guest with a root says about what stands at a path.
type Details = guestagent.Details

// checkImages refuses what guests with a root cannot be made with.
func (c Config) checkImages() error {
	if c.Images == nil || c.Runtime != RuntimeGVisor {
		return nil
	}
	return sandbox.Finding{
		Code: sandbox.CodeOptionsInvalid, Path: sandbox.Path("Images"), Found: "runtime " + string(RuntimeGVisor),
		Required: "runtime " + string(RuntimeBubblewrap) + " for sandboxes with a root of their own",
		Remedy:   "leave Runtime out, or Images",
	}.Refusal(nil)
}
