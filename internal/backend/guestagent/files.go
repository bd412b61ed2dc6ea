package guestagent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	stdpath "path"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Access is the way in which an agent reaches files that is the guest's own
// principal; [Options.Root] has others.
func Access() engine.Access {
	return engine.Access{As: sandbox.PrincipalGuest, Links: engine.Beneath}
}

// fileWindow is of a file's content and a directory's entries.
const fileWindow = wire.MaxCredit

// errAccess is for a file reference that this plane has no way for.
var errAccess = errors.New("no such access to files")

// checkRef holds callers to what an engine's callers promise.
func (c *Client) checkRef(ref engine.FileRef) error {
	switch {
	case !c.options.grants(ref.Access):
		return errAccess
	case !strings.HasPrefix(ref.Path, "/") || ref.Path != stdpath.Clean(ref.Path) || strings.Contains(ref.Path, "\x00"):
		return errors.New("the path is not absolute and clean")
	case ref.Root != "/" && ref.Path != ref.Root && !strings.HasPrefix(ref.Path, ref.Root+"/"):
		return errors.New("the path is not at or below its root")
	}
	return nil
}

// on says what was attempted on which file.
func on(verb string, ref engine.FileRef, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", verb, sandbox.Echo(ref.Path), err)
}

// ask makes a call without streams and answers its result.
func (c *Client) ask(ctx context.Context, op wire.Op, ref engine.FileRef, f wire.File) ([]byte, error) {
	if err := c.checkRef(ref); err != nil {
		return nil, err
	}
	f.Path, f.Follow = ref.Path, ref.Access.Links == engine.Follow
	k, err := c.begin(ctx, f.Request(op), shape{})
	if err != nil {
		return nil, err
	}
	return k.wait(ctx)
}

// Stat describes what stands at the path.
func (c *Client) Stat(ctx context.Context, ref engine.FileRef) (engine.Info, error) {
	payload, err := c.ask(ctx, wire.OpStat, ref, wire.File{})
	if err != nil {
		return engine.Info{}, on("stat", ref, err)
	}
	i, err := c.info(ctx, ref, payload)
	return i, on("stat", ref, err)
}

func (c *Client) info(ctx context.Context, ref engine.FileRef, payload []byte) (engine.Info, error) {
	o, i, err := wire.ParseInfo(payload)
	switch {
	case err != nil:
		c.lose(err)
		return engine.Info{}, c.Err()
	case o.Status != wire.StatusOK:
		return engine.Info{}, outcomeError(ctx, o)
	}
	return engineInfo(i, stdpath.Base(ref.Path)), nil
}

var entryKinds = [...]sandbox.EntryKind{
	wire.EntryFile: sandbox.EntryFile, wire.EntryDirectory: sandbox.EntryDirectory,
	wire.EntrySymlink: sandbox.EntrySymlink, wire.EntryOther: sandbox.EntryOther,
}

func engineInfo(i wire.Info, name string) engine.Info {
	info := engine.Info{Name: name, Kind: entryKinds[i.Kind]}
	if info.Kind == sandbox.EntryFile {
		info.Size, info.SizeKnown = i.Size, true
	}
	return info
}

// plain is the result of an operation that answers nothing.
func (c *Client) plain(ctx context.Context, payload []byte, err error) error {
	if err != nil {
		return err
	}
	o, err := wire.ParseOutcome(payload)
	switch {
	case err != nil:
		c.lose(err)
		return c.Err()
	case o.Status != wire.StatusOK:
		return outcomeError(ctx, o)
	}
	return nil
}

// Mkdir makes one directory.
func (c *Client) Mkdir(ctx context.Context, ref engine.FileRef) error {
	payload, err := c.ask(ctx, wire.OpMkdir, ref, wire.File{})
	return on("make directory", ref, c.plain(ctx, payload, err))
}

// Remove removes what stands at the path, a link as a link.
func (c *Client) Remove(ctx context.Context, ref engine.FileRef, recursive bool) error {
	payload, err := c.ask(ctx, wire.OpRemove, ref, wire.File{Recursive: recursive})
	return on("remove", ref, c.plain(ctx, payload, err))
}

// List calls yield for each entry of the directory as they come.
func (c *Client) List(ctx context.Context, ref engine.FileRef, yield func(engine.Info) bool) error {
	if err := c.checkRef(ref); err != nil {
		return on("list", ref, err)
	}
	k, err := c.begin(ctx, wire.File{Path: ref.Path, Follow: ref.Access.Links == engine.Follow, Window: fileWindow}.Request(wire.OpList), shape{out: fileWindow})
	if err != nil {
		return on("list", ref, err)
	}
	content := &stream{ctx: ctx, call: k}
	defer func() { _ = content.Close() }()
	in := bufio.NewReaderSize(content, 32<<10)
	for {
		info, err := nextEntry(in)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, wire.ErrMalformed), errors.Is(err, io.ErrUnexpectedEOF):
			c.lose(err)
			return on("list", ref, c.Err())
		case err != nil:
			return on("list", ref, err)
		case !yield(info):
			return nil
		}
	}
}

func nextEntry(in io.Reader) (engine.Info, error) {
	var head [wire.EntryHead]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return engine.Info{}, err
	}
	i, length, err := wire.ParseEntryHead(head[:])
	if err != nil {
		return engine.Info{}, err
	}
	name := make([]byte, length)
	if _, err := io.ReadFull(in, name); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return engine.Info{}, err
	}
	return engineInfo(i, string(name)), nil
}
