package guestagent

import (
	"context"
	"errors"
	"io"
	stdpath "path"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

func (u *User) wire() *wire.User {
	if u == nil {
		return nil
	}
	return &wire.User{UID: u.UID, GID: u.GID, Groups: u.Groups}
}

// ExecAsRoot is [Client.Exec] as the agent's own user, whoever else programs run
// as.
func (c *Client) ExecAsRoot(ctx context.Context, cmd engine.ExecRequest) (exitCode int, err error) {
	return c.execAs(ctx, cmd, nil)
}

// Details are all that the agent says about what stands at a path.
type Details struct {
	engine.Info
	// Mode are the permission bits, UID and GID the owner's numbers in the guest.
	Mode     uint32
	UID, GID uint32
	Modified time.Time
	// Target is what a link says.
	Target string
	// Pipe: it is a named pipe, whose Kind is the one of everything else.
	Pipe bool
}

// namedPipe is the kernel's type of one.
const namedPipe, typeMask = 0o010000, 0o170000

// Look describes what stands at the path, a link as a link.
func (c *Client) Look(ctx context.Context, ref engine.FileRef) (Details, error) {
	payload, err := c.ask(ctx, wire.OpLook, ref, wire.File{})
	if err != nil {
		return Details{}, on("look at", ref, err)
	}
	o, d, err := wire.ParseDetails(payload)
	switch {
	case err != nil:
		c.lose(err)
		return Details{}, on("look at", ref, c.Err())
	case o.Status != wire.StatusOK:
		return Details{}, on("look at", ref, outcomeError(ctx, o))
	}
	return Details{
		Info: engineInfo(d.Info, stdpath.Base(ref.Path)), Mode: d.Mode &^ typeMask, UID: d.UID, GID: d.GID,
		Modified: time.Unix(d.Modified, 0), Target: d.Target, Pipe: d.Mode&typeMask == namedPipe,
	}, nil
}

// WriteMode is [Client.Write], and the file has those permissions from the moment
// that it has its name.
func (c *Client) WriteMode(ctx context.Context, ref engine.FileRef, content io.Reader, size int64, mode uint32) error {
	return on("write", ref, c.write(ctx, ref, content, wire.File{Size: size, SetMode: true, Mode: mode & 0o7777}))
}

// MkdirMode is [Client.Mkdir], and a directory that it makes has those permissions.
func (c *Client) MkdirMode(ctx context.Context, ref engine.FileRef, mode uint32) error {
	payload, err := c.ask(ctx, wire.OpMkdir, ref, wire.File{SetMode: true, Mode: mode & 0o7777})
	return on("make directory", ref, c.plain(ctx, payload, err))
}

// Unpack puts what a tar archive holds into the guest's root file system. It is
// taken apart by the agent, with the guest's reach alone. On an error part of it
// may be there.
func (c *Client) Unpack(ctx context.Context, archive io.Reader) error {
	k, err := c.begin(ctx, wire.Tree{}.Request(wire.OpUnpack), shape{in: wire.MaxCredit})
	if err != nil {
		return err
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(ctx, k.credit.Close)()
	s := newSender(k)
	if err := s.all(archive); err != nil {
		stop(err)
	}
	payload, err := k.wait(running)
	s.release()
	return c.plain(running, payload, err)
}

// all sends what can be read, then its end. It is nil as well when the agent ended
// the call first.
func (s *sender) all(from io.Reader) error {
	for {
		room, err := s.call.credit.Wait(wire.MaxChunk, s.call.over)
		if err != nil {
			return nil //nolint:nilerr // the call is over, and says why
		}
		chunk, ok := s.chunk()
		if !ok {
			return nil
		}
		n, err := from.Read(chunk[wire.HeaderSize:][:room])
		if n > 0 {
			s.send(chunk, n)
		} else {
			s.free <- chunk
		}
		switch {
		case errors.Is(err, io.EOF):
			s.end()
			return nil
		case err != nil:
			return err
		}
	}
}

// Pack streams all of the guest's root file system as a tar archive, without what
// else is mounted in it. What programs change meanwhile may be missing or torn;
// [Client.Hold] keeps them from it. The archive is whole only when the reader
// answers io.EOF.
func (c *Client) Pack(ctx context.Context) (io.ReadCloser, error) {
	k, err := c.begin(ctx, wire.Tree{Window: fileWindow}.Request(wire.OpPack), shape{out: fileWindow})
	if err != nil {
		return nil, err
	}
	return &stream{ctx: ctx, call: k}, nil
}

// Hold stops every program of the guest, and release lets them go on. Programs
// that begin meanwhile run.
func (c *Client) Hold(ctx context.Context) (release func(context.Context) error, err error) {
	if err := c.hold(ctx, wire.Hold{}); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return c.hold(ctx, wire.Hold{Release: true}) }, nil
}

func (c *Client) hold(ctx context.Context, h wire.Hold) error {
	k, err := c.begin(ctx, h.Request(), shape{})
	if err != nil {
		return err
	}
	payload, err := k.wait(ctx)
	return c.plain(ctx, payload, err)
}
