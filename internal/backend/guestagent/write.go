package guestagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Write replaces the file with exactly size bytes of content. It is read on the
// caller's goroutine, so that a Read which never returns holds the call.
//
// When ctx ends, what stood there still stands, unless the agent says that the
// new content was in its place already: then Write has succeeded. Only an agent
// that says nothing in time leaves that open, and the error.
func (c *Client) Write(ctx context.Context, ref engine.FileRef, content io.Reader, size int64) error {
	return on("write", ref, c.write(ctx, ref, content, wire.File{Size: size}))
}

func (c *Client) write(ctx context.Context, ref engine.FileRef, content io.Reader, f wire.File) error {
	if err := c.checkRef(ref); err != nil {
		return err
	}
	if f.Size < 0 {
		return engine.ErrSize
	}
	if content == nil {
		content = strings.NewReader("")
	}
	f.Path, f.Follow = ref.Path, ref.Access.Links == engine.Follow
	k, err := c.begin(ctx, f.Request(wire.OpWrite), shape{in: wire.MaxCredit})
	if err != nil {
		return err
	}
	ended, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	unhook := context.AfterFunc(ctx, k.credit.Close)
	defer unhook()
	s := newSender(k)
	if err := s.exactly(ctx, content, f.Size); err != nil {
		stop(err)
	}
	payload, err := k.wait(ended)
	s.release()
	return c.plain(ended, payload, err)
}

// exactly sends the content and says that it is complete once it is known to
// end where it should. It is nil as well when the agent ended the call first.
func (s *sender) exactly(ctx context.Context, content io.Reader, size int64) error {
	for left := size; left > 0; {
		room, err := s.call.credit.Wait(int(min(left, wire.MaxChunk)), s.call.over)
		if err != nil {
			return nil //nolint:nilerr // the call is over, and says why
		}
		chunk, ok := s.chunk()
		if !ok {
			return nil
		}
		n, err := io.ReadFull(content, chunk[wire.HeaderSize:][:room])
		if err != nil {
			s.free <- chunk
			return contentError(err)
		}
		left -= int64(n)
		s.send(chunk, n)
	}
	if err := atEnd(content); err != nil {
		return err
	}
	if ctx.Err() == nil {
		s.end()
	}
	return nil
}

func contentError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the content ended early: %w", engine.ErrSize)
	}
	return fmt.Errorf("read the content: %w", err)
}

// atEnd reports whether nothing follows, as an error if something does.
func atEnd(content io.Reader) error {
	var one [1]byte
	n, err := io.ReadFull(content, one[:])
	switch {
	case n > 0:
		return fmt.Errorf("the content runs over: %w", engine.ErrSize)
	case errors.Is(err, io.EOF):
		return nil
	}
	return contentError(err)
}
