package acasapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func armPolling(object, goal string) polling {
	return polling{first: time.Second, most: 10 * time.Second, limit: 30 * time.Minute, object: object, goal: goal}
}

// settle waits until a change is over. What ARM answers decides how: an operation
// to watch when it names one, and else the resource itself; a 200 alone does not
// mean that the work is done. The resource has the last word, and resource reads it.
func (c *Client) settle(ctx context.Context, a *answer, wait Wait, resource func(context.Context) (state string, err error)) error {
	if err := c.watchOperation(ctx, a, wait); err != nil {
		return err
	}
	missing := 0
	return c.poll(ctx, wait, armPolling(a.object, wire.ARMSucceeded), func(ctx context.Context) (bool, string, error) {
		state, err := resource(ctx)
		if errors.Is(err, sandbox.CodeServiceNotFound) && missing < 5 {
			missing++ // just made, and not to be seen everywhere yet
			return false, "not visible yet", nil
		}
		if err != nil {
			return false, "", err
		}
		return c.ended(a, state, nil)
	})
}

// ended judges one of ARM's states. No state at all is a resource that has none, and
// so is done.
func (c *Client) ended(a *answer, state string, said *wire.ARMErrorBody) (bool, string, error) {
	switch {
	case state == "" || wire.SameState(state, wire.ARMSucceeded):
		return true, state, nil
	case wire.SameState(state, wire.ARMFailed, wire.ARMCanceled):
		e := a.ids
		e.Op, e.Object, e.Class, e.Status = a.op, a.object, sandbox.CodeServiceFailed, a.status
		e.Text = "it ended " + word(state)
		if said != nil {
			e.Code, e.Text = word(said.Code), e.Text+": "+sandbox.Echo(said.Message)
		}
		return false, state, e.refuse()
	default:
		return false, state, nil
	}
}

// watchOperation polls the operation that an answer names, if it names one.
func (c *Client) watchOperation(ctx context.Context, a *answer, wait Wait) error {
	header := a.header.Get("Azure-AsyncOperation")
	op := wire.OperationStatus
	if header == "" && a.status == http.StatusAccepted {
		header, op = a.header.Get("Location"), wire.OperationResult
	}
	if header == "" {
		return nil
	}
	link, err := c.arm.follow(header)
	if err != nil {
		return a.unusable(err, nil)
	}
	return c.poll(ctx, wait, armPolling(a.object, wire.ARMSucceeded), func(ctx context.Context) (bool, string, error) {
		now, err := c.arm.send(ctx, call{op: op, object: a.object, link: link})
		if err != nil {
			return false, "", err
		}
		if op == wire.OperationResult {
			return now.status != http.StatusAccepted, http.StatusText(now.status), nil
		}
		return c.judgeOperation(a, now)
	})
}

func (c *Client) judgeOperation(a, now *answer) (bool, string, error) {
	status, err := read(c.arm, now, func(s *wire.Status) error {
		if s.Status == "" {
			return errors.New("an operation without status")
		}
		return nil
	})
	if err != nil {
		return false, "", err
	}
	return c.ended(a, status.Status, status.Error)
}

// removeAndWait deletes a resource and looks until it is gone: an operation that
// says Succeeded is a claim, a 404 is an observation.
func (c *Client) removeAndWait(ctx context.Context, remove call, wait Wait, look func(context.Context) error) error {
	a, err := c.arm.send(ctx, remove)
	if errors.Is(err, sandbox.CodeServiceNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if a.status == http.StatusNoContent && !a.repeated {
		return nil // ARM's word for: there is none
	}
	// An operation that is gone went with its resource.
	if err := c.watchOperation(ctx, a, wait); err != nil && !errors.Is(err, sandbox.CodeServiceNotFound) {
		return err
	}
	return c.poll(ctx, wait, armPolling(a.object, "gone"), func(ctx context.Context) (bool, string, error) {
		err := look(ctx)
		if errors.Is(err, sandbox.CodeServiceNotFound) {
			return true, "gone", nil
		}
		return false, wire.ARMDeleting, err
	})
}
