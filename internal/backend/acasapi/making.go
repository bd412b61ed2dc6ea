package acasapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// MarkerLabel is the label that a creation is found again by when its answer is
// lost. Its value is new for every creation unless the caller chooses it.
const MarkerLabel = sandbox.ReservedLabelPrefix + "creation"

// making makes one thing at most once. The service has no idempotency key, and the
// official client's repeated create left two billable sandboxes: here a lost answer
// is looked up by the marker, and only what is not there is asked for again.
type making[T any] struct {
	client *Client
	object string
	// send asks once.
	send func(context.Context) (T, error)
	// find lists what carries the marker; it is asked only after a loss.
	find func(context.Context) ([]T, error)
	// discard removes something that was made and is not wanted; nil where what is
	// found can only be the one thing that was asked for.
	discard func(context.Context, T) error
	id      func(T) string
}

const (
	// maxMakings is how often something is asked for.
	maxMakings = 3
	// settling is how long a creation whose answer was lost may take to show.
	settling = 30 * time.Second
)

func (m making[T]) run(ctx context.Context) (T, error) {
	var none T
	for try := 1; ; try++ {
		made, err := m.send(ctx)
		if err == nil {
			if try > 1 {
				err = m.sweep(ctx, made)
			}
			return made, err
		}
		lost := ErrorOf(err)
		switch {
		case try > 1 && lost != nil && lost.outcome == turnedAway && lost.Status != http.StatusTooManyRequests:
			return none, &laterError{err} // an earlier request may be slow rather than lost
		case lost == nil || (lost.outcome != mayHaveRun && lost.Status != http.StatusTooManyRequests):
			return none, err
		case ctx.Err() != nil:
			return none, errors.Join(err, m.abandon(ctx))
		}
		found, err := m.look(ctx, lost)
		switch {
		case ctx.Err() != nil:
			return none, errors.Join(m.unknown(lost, err), m.abandon(ctx))
		case err != nil:
			return none, m.unknown(lost, err)
		case len(found) > 1:
			return found[0], m.sweep(ctx, found[0])
		case len(found) == 1:
			return found[0], nil
		case try == maxMakings:
			return none, lost.refuse()
		}
	}
}

// look waits for what may have been made to show. After an answer that says nothing
// was done one look is enough.
func (m making[T]) look(ctx context.Context, lost *Error) ([]T, error) {
	clock := m.client.cfg.Clock
	pace := pace{first: time.Second, most: 8 * time.Second, jitter: m.client.cfg.Jitter}
	until := clock.Now().Add(settling)
	for try := 1; ; try++ {
		wait := pace.wait(try)
		if try == 1 && lost.RetryAfter > 0 && lost.RetryAfter <= maxWait {
			wait = lost.RetryAfter
		}
		if try > 1 || lost.RetryAfter > 0 {
			if err := clock.Sleep(ctx, wait); err != nil {
				return nil, err
			}
		}
		found, err := m.find(ctx)
		if err != nil || len(found) > 0 || lost.outcome == turnedAway || !clock.Now().Before(until) {
			return found, err
		}
	}
}

// sweep runs after something was asked for twice: an earlier request that was slow
// rather than lost may have made one too.
func (m making[T]) sweep(ctx context.Context, keep T) error {
	if m.discard == nil {
		return nil
	}
	found, err := m.find(ctx)
	if err != nil {
		return fmt.Errorf("%s was made after a lost answer, and looking for a second one failed: %w", m.object, err)
	}
	for _, other := range found {
		if m.id(other) != m.id(keep) {
			if err := m.discard(ctx, other); err != nil {
				return fmt.Errorf("%s was made twice, and removing the second failed: %w", m.object, err)
			}
		}
	}
	return nil
}

// abandon removes what a creation left whose caller went away before its answer.
func (m making[T]) abandon(ctx context.Context) error {
	if m.discard == nil {
		return nil
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	for try := range 3 {
		found, err := m.find(ctx)
		if err != nil {
			return fmt.Errorf("looking for what the abandoned creation of %s left: %w", m.object, err)
		}
		for _, left := range found {
			if err := m.discard(ctx, left); err != nil {
				return fmt.Errorf("removing what the abandoned creation of %s left: %w", m.object, err)
			}
		}
		if len(found) > 0 || try == 2 {
			break
		}
		if err := m.client.cfg.Clock.Sleep(ctx, time.Duration(2+3*try)*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// unknown is the refusal when neither the creation nor the look for it was
// answered.
func (m making[T]) unknown(lost *Error, err error) error {
	e := *lost
	e.Class, e.Err = sandbox.CodeServiceOutcomeUnknown, errors.Join(lost.Err, err)
	r := refusal(e.Class, m.object, e.found(), "", e.remedy())
	r.Err = &e
	return r
}

// marked gives labels the marker of this creation, and the marker alone to find it
// by. The caller's map is not changed.
func marked(labels wire.Labels, value string) (with, marker wire.Labels, err error) {
	if value == "" {
		if value, err = runtime.NewUUID(); err != nil {
			return nil, nil, fmt.Errorf("a marker for the creation: %w", err)
		}
	}
	with = make(wire.Labels, len(labels)+1)
	maps.Copy(with, labels)
	with[MarkerLabel] = value
	if err := with.Check(); err != nil {
		return nil, nil, refusal(sandbox.CodeInvalidText, "labels", err.Error(), "labels that the service takes and a filter finds", "")
	}
	return with, wire.Labels{MarkerLabel: value}, nil
}

// once turns a lost answer into the refusal that says so, for what cannot be looked
// up: a command that ran.
func once(err error) error {
	lost := ErrorOf(err)
	if lost == nil || lost.outcome != mayHaveRun || sandbox.RefusalOf(err) == nil {
		return err
	}
	e := *lost
	e.Class = sandbox.CodeServiceOutcomeUnknown
	return e.refuse()
}
