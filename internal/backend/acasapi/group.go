package acasapi

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Group is the data plane of one group. It is a name and holds nothing; make as
// many as you like.
type Group struct {
	id    GroupID
	plane *plane
	seg   wire.Segments
}

// Group is the data plane of a group. It does not look whether the group exists.
func (c *Client) Group(id GroupID) (*Group, error) {
	if err := id.Check(); err != nil {
		return nil, err
	}
	if c.data == nil {
		return nil, refusal(sandbox.CodeMissing, id.object(), "no data-plane endpoint", "the group's location, or an endpoint", "")
	}
	return &Group{id: id, plane: c.data, seg: id.segments()}, nil
}

// ID names the group.
func (g *Group) ID() GroupID { return g.id }

func (g *Group) client() *Client { return g.plane.client }

// call is an operation on the group itself.
func (g *Group) call(op wire.Op) call {
	return call{op: op, object: g.id.object(), seg: g.seg}
}

// on is an operation on one thing in the group.
func (g *Group) on(op wire.Op, kind, segment, id string) call {
	return call{op: op, object: kind + " " + sandbox.Echo(id), seg: with(g.seg, segment, id)}
}

// filtered is a list's call with a label filter, and the check that a listed thing
// carries the labels: a service that ignored the filter must not have its strangers
// adopted or deleted.
func filtered(c call, labels wire.Labels) (call, error) {
	if len(labels) == 0 {
		return c, nil
	}
	if err := labels.Check(); err != nil {
		return c, refusal(sandbox.CodeInvalidText, "label filter", err.Error(), "labels that can be filtered by", "")
	}
	c.query = append(c.query, param{"labels", labels.Filter()})
	return c, nil
}

// do sends a call whose answer says nothing more.
func (g *Group) do(ctx context.Context, c call) error {
	_, err := g.plane.send(ctx, c)
	return err
}

// count reads an answer that is a bare number.
func (g *Group) count(ctx context.Context, op wire.Op) (int, error) {
	a, err := g.plane.send(ctx, g.call(op))
	if err != nil {
		return 0, err
	}
	return read(g.plane, a, func(n *int) error {
		if *n < 0 {
			return errors.New("a count of " + strconv.Itoa(*n))
		}
		return nil
	})
}

// ask sends a call and reads its answer.
func ask[T any](ctx context.Context, p *plane, c call, check func(*T) error) (T, error) {
	a, err := p.send(ctx, c)
	if err != nil {
		var none T
		return none, err
	}
	return read(p, a, check)
}

// gone makes the deletion of what does not exist a success.
func gone(err error) error {
	if errors.Is(err, sandbox.CodeServiceNotFound) {
		return nil
	}
	return err
}

// deleteAndWait deletes a thing and looks until it is gone: the service answers
// before it is. A thing that does not exist is success.
func (g *Group) deleteAndWait(ctx context.Context, remove call, wait Wait, look func(context.Context) (state string, err error)) error {
	if err := g.do(ctx, remove); err != nil {
		return gone(err)
	}
	p := polling{first: time.Second, most: 5 * time.Second, limit: 5 * time.Minute, object: remove.object, goal: "gone"}
	return g.client().poll(ctx, wait, p, func(ctx context.Context) (bool, string, error) {
		state, err := look(ctx)
		if errors.Is(err, sandbox.CodeServiceNotFound) {
			return true, "gone", nil
		}
		return false, state, err
	})
}

// clean removes what was just made and is no use, after ctx may have ended, and
// joins what went wrong to the error that is being returned.
func clean(ctx context.Context, err error, object string, remove func(context.Context) error) error {
	ctx, cancel := detached(ctx)
	defer cancel()
	if left := remove(ctx); left != nil {
		return errors.Join(err, refusal(sandbox.CodeServiceOutcomeUnknown, object, "it could not be removed again: "+left.Error(), "", "remove it by hand"))
	}
	return err
}
