package acasemu

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

// begun is a new operation on the group of a request.
func (e *Emulator) begun(c *call, id string, deletes bool) operationRecord {
	goal := wire.ARMSucceeded
	if c.fault.ARM == "fail" {
		goal = wire.ARMFailed
	}
	p := &pending{Goal: goal, Looks: e.cfg.Pace.ARM.Looks, Until: c.now.Add(e.cfg.Pace.ARM.Time), Never: c.fault.ARM == "stuck"}
	return operationRecord{ID: id, Started: c.now, Status: wire.ARMInProgress, Pending: p, Group: c.groupKey(), Deletes: deletes}
}

// operationURL is where an operation is looked at. Locations come with spaces, and
// a URL has none.
func (c *call) operationURL(location, kind, id string) string {
	return "https://" + c.request.Host + "/subscriptions/" + url.PathEscape(c.seg[wire.SegSubscription]) +
		"/providers/Microsoft.App/locations/" + url.PathEscape(location) + "/" + kind + "/" + id + "?api-version=" + url.QueryEscape(string(c.version))
}

// keepOperations is how long an operation that ended can be looked at.
const keepOperations = 24 * time.Hour

// putOperation keeps a new operation, and forgets those that are long over.
func putOperation(tx *store.Tx, op operationRecord) error {
	var old []string
	for o, err := range store.Each[operationRecord](tx, kindOperation, nil) {
		if err != nil {
			return err
		}
		if !o.Ended.IsZero() && op.Started.Sub(o.Ended) > keepOperations {
			old = append(old, o.ID)
		}
	}
	for _, id := range old {
		if err := tx.Delete(kindOperation, store.Key{id}); err != nil {
			return err
		}
	}
	return store.Put(tx, kindOperation, store.Key{op.ID}, op)
}

// step is a client's look at an operation, which may be the one that finds it
// ended; then what it was for is done.
func (e *Emulator) step(ctx context.Context, c *call, id string) (operationRecord, error) {
	var op operationRecord
	var doomed doomed
	err := e.store.Update(ctx, func(tx *store.Tx) error {
		var exists bool
		var err error
		if op, exists, err = store.Get[operationRecord](tx, kindOperation, store.Key{id}); err != nil {
			return err
		}
		if !exists {
			return refuse(http.StatusNotFound, "OperationNotFound", "there is no such operation")
		}
		if op.Pending == nil || op.Pending.Never {
			return nil
		}
		if op.Pending.over(c.now) {
			if doomed, err = e.finish(tx, c.now, &op); err != nil {
				return err
			}
		} else if !op.Pending.look() {
			return nil
		}
		return store.Put(tx, kindOperation, store.Key{id}, op)
	})
	if err != nil {
		return op, err
	}
	return op, e.bury(ctx, doomed)
}

// finish does what an operation was for, and names what outside the state goes with
// it.
func (e *Emulator) finish(tx *store.Tx, now time.Time, op *operationRecord) (doomed, error) {
	op.Status, op.Ended, op.Pending = op.Pending.Goal, now, nil
	g, exists, err := store.Get[groupRecord](tx, kindGroup, op.Group)
	if err != nil || !exists || g.Operation != op.ID {
		return doomed{}, err
	}
	if op.Deletes && op.Status == wire.ARMSucceeded {
		return dropGroup(tx, op.Group)
	}
	g.Operation = ""
	g.Group.Properties.ProvisioningState = op.Status
	return doomed{}, store.Put(tx, kindGroup, op.Group, g)
}

func (e *Emulator) operationStatus(ctx context.Context, c *call) (answer, error) {
	op, err := e.step(ctx, c, c.seg[wire.SegOperation])
	if err != nil {
		return answer{}, err
	}
	doc := wire.Status{ID: c.request.URL.Path, Name: op.ID, Status: op.Status, StartTime: stamp(op.Started)}
	if !op.Ended.IsZero() {
		doc.EndTime = stamp(op.Ended)
	}
	if op.Status == wire.ARMFailed {
		doc.Error = &wire.ARMErrorBody{Code: "InjectedFault", Message: "a fault that was switched on"}
	}
	return ok(doc)
}

func (e *Emulator) operationResult(ctx context.Context, c *call) (answer, error) {
	op, err := e.step(ctx, c, c.seg[wire.SegOperation])
	switch {
	case err != nil:
		return answer{}, err
	case op.Status == wire.ARMInProgress:
		a := answer{status: http.StatusAccepted}
		a.set("Location", "https://"+c.request.Host+c.request.URL.RequestURI())
		return a, nil
	case op.Status == wire.ARMFailed:
		return answer{}, refuse(http.StatusConflict, "InjectedFault", "a fault that was switched on")
	}
	return nothing()
}

// stamp writes a time as the service does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
