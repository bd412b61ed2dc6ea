package guestagent

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Open streams a regular file as it is at each read. ctx bounds the stream, too.
func (c *Client) Open(ctx context.Context, ref engine.FileRef) (io.ReadCloser, engine.Info, error) {
	r, info, err := c.open(ctx, ref)
	if err != nil {
		return nil, engine.Info{}, on("open", ref, err)
	}
	return r, info, nil
}

func (c *Client) open(ctx context.Context, ref engine.FileRef) (io.ReadCloser, engine.Info, error) {
	if err := c.checkRef(ref); err != nil {
		return nil, engine.Info{}, err
	}
	k, err := c.begin(ctx, wire.File{Path: ref.Path, Follow: ref.Access.Links == engine.Follow, Window: fileWindow}.Request(wire.OpOpen), shape{out: fileWindow, replies: true})
	if err != nil {
		return nil, engine.Info{}, err
	}
	content := &stream{ctx: ctx, call: k}
	select {
	case payload := <-k.reply:
		info, err := c.info(ctx, ref, payload)
		if err != nil {
			_ = content.Close()
			return nil, engine.Info{}, err
		}
		return content, info, nil
	case <-k.over:
	case <-ctx.Done():
		_ = content.Close()
		return nil, engine.Info{}, context.Cause(ctx)
	}
	// A file without content may be over before its reply is looked at.
	select {
	case payload := <-k.reply:
		info, err := c.info(ctx, ref, payload)
		return content, info, err
	default:
	}
	payload, err := k.answer()
	if err := c.plain(ctx, payload, err); err != nil {
		return nil, engine.Info{}, err
	}
	c.lose(errNoReply)
	return nil, engine.Info{}, c.Err()
}

var errStreamClosed = errors.New("the stream is closed")

var errNoReply = errors.New("a file that was opened without being described")

// stream reads what a call sends. It is for one reader at a time; Close may be
// called beside it.
type stream struct {
	ctx    context.Context
	call   *call
	err    error
	closed sync.Once
}

// Read answers io.EOF only when the agent said that all went well.
func (s *stream) Read(p []byte) (int, error) {
	if s.err != nil || len(p) == 0 {
		return 0, s.err
	}
	if s.ctx.Err() != nil {
		s.err = context.Cause(s.ctx)
		return 0, s.err
	}
	part, err := s.call.in[wire.StreamOut].Next(s.ctx.Done())
	if err != nil {
		s.err = s.ended()
		return 0, s.err
	}
	n := copy(p, part)
	s.call.took(wire.StreamOut, n)
	return n, nil
}

// ended says why nothing more comes.
func (s *stream) ended() error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	select {
	case <-s.call.over:
	default:
		return errStreamClosed
	}
	payload, err := s.call.answer()
	if err := s.call.client.plain(s.ctx, payload, err); err != nil {
		return err
	}
	return io.EOF
}

// Close lets go of the rest. It does not wait for the agent, which holds nothing
// but a descriptor for it.
func (s *stream) Close() error {
	s.closed.Do(func() {
		s.call.abandon()
		select {
		case <-s.call.over:
		default:
			s.call.client.out.post(item{frame: wire.Frame(wire.KindCancel, 0, s.call.id, nil)})
		}
	})
	return nil
}
