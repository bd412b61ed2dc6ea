package objectsink

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

// ledger is what the landings under way in one scope have reserved. What stands is
// not in it but counted from a listing, so the two cannot drift apart.
type ledger struct {
	Reservations []reservation `json:"reservations"`

	version string
}

type reservation struct {
	Landing string `json:"landing"`
	output.Usage
	Until time.Time `json:"until"`
}

const maxLedger = 4 << 20

// readLedger answers an empty ledger where there is none. Reservations that have
// ended are left out of it.
func (d *delivery) readLedger(ctx context.Context) (*ledger, error) {
	content, version, err := d.sink.store.Read(ctx, d.keys.ledger(), maxLedger)
	if errors.Is(err, ErrAbsent) {
		return &ledger{}, nil
	}
	if err != nil {
		return nil, failed("reading what is reserved", err)
	}
	l := &ledger{version: version}
	if err := json.Unmarshal(content, l); err != nil {
		return nil, failed("reading what is reserved", errors.New("it is not JSON of the expected form"))
	}
	now := d.sink.options.Now()
	l.Reservations = slices.DeleteFunc(l.Reservations, func(r reservation) bool { return !now.Before(r.Until) })
	return l, nil
}

func (d *delivery) swapLedger(ctx context.Context, l *ledger) error {
	content, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return d.sink.store.Swap(ctx, d.keys.ledger(), content, l.version)
}

// without takes the landing's own reservation out, and reports what it was.
func (l *ledger) without(landing string) (own output.Usage, found bool) {
	l.Reservations = slices.DeleteFunc(l.Reservations, func(r reservation) bool {
		if r.Landing == landing {
			own, found = r.Usage, true
		}
		return r.Landing == landing
	})
	return own, found
}

// reserve admits the landing to the quota. Two that do so at once meet in the
// ledger's version, and the slower one counts again.
func (d *delivery) reserve(ctx context.Context, asked output.Usage, replaced []Entry) error {
	if !d.sink.quota.Bounds() {
		return nil
	}
	err := retried(ctx, func() error {
		l, err := d.readLedger(ctx)
		if err != nil {
			return err
		}
		if own, found := l.without(d.landing); found && own == asked {
			return nil // an attempt before had arrived
		}
		stands, err := d.count(ctx, l)
		if err != nil {
			return err
		}
		var underWay, freed output.Usage
		for _, r := range l.Reservations {
			underWay = underWay.Add(r.Usage)
		}
		for _, e := range replaced {
			freed = freed.Add(output.Usage{Bytes: e.Bytes, Files: 1})
		}
		if err := d.sink.quota.Admit(d.scope, stands.Take(freed), underWay, asked); err != nil {
			return err
		}
		d.reserved = asked // it may arrive although no answer does
		l.Reservations = append(l.Reservations, reservation{Landing: d.landing, Usage: asked, Until: d.until})
		return d.swapLedger(ctx, l)
	})
	return failed("reserving room", err)
}

// count sums the objects of a scope that are not of a landing under way: those count
// as what their landing reserved.
func (d *delivery) count(ctx context.Context, l *ledger) (output.Usage, error) {
	underWay := map[string]bool{d.landing: true}
	for _, r := range l.Reservations {
		underWay[r.Landing] = true
	}
	var stands output.Usage
	err := d.sink.store.List(ctx, d.keys.scope, func(o Object) error {
		if landing := landingOf(d.keys.scope, o.Key); landing != "" && !underWay[landing] {
			stands = stands.Add(output.Usage{Bytes: o.Size, Files: 1})
		}
		return nil
	})
	if err != nil {
		return stands, failed("counting what stands there", err)
	}
	return stands, nil
}

// release takes the landing out of the ledger: what it landed counts by standing
// there.
func (d *delivery) release(ctx context.Context) error {
	if d.reserved == (output.Usage{}) {
		return nil
	}
	d.reserved = output.Usage{}
	err := retried(ctx, func() error {
		l, err := d.readLedger(ctx)
		if err != nil {
			return err
		}
		if _, found := l.without(d.landing); !found {
			return nil
		}
		return d.swapLedger(ctx, l)
	})
	return failed("letting go of reserved room", err)
}
