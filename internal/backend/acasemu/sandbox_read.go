package acasemu

import (
	"cmp"
	"context"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

// answerSandbox answers a sandbox as it stands.
func (e *Emulator) answerSandbox(ctx context.Context, c *call, f *found) (answer, error) {
	var doc wire.Sandbox
	err := e.store.View(ctx, func(tx *store.Tx) (err error) {
		doc, err = e.show(tx, c, &f.group, &f.sandbox, false)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	return ok(doc)
}

func (e *Emulator) sandboxGet(ctx context.Context, c *call) (answer, error) {
	var doc wire.Sandbox
	_, err := e.read(ctx, c, true, func(tx *store.Tx, f *found) (err error) {
		doc, err = e.show(tx, c, &f.group, &f.sandbox, false)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	return ok(doc)
}

func (e *Emulator) sandboxList(ctx context.Context, c *call) (answer, error) {
	want, err := c.wanted()
	if err != nil {
		return answer{}, err
	}
	if err := e.sweepGroup(ctx, c.groupKey()); err != nil {
		return answer{}, err
	}
	var all []wire.Sandbox
	err = e.store.View(ctx, func(tx *store.Tx) error {
		all = nil
		g, err := e.dataGroup(tx, c)
		if err != nil {
			return err
		}
		var kept []*sandboxRecord
		for s, err := range store.Each[sandboxRecord](tx, kindSandbox, c.groupKey()) {
			if err != nil {
				return err
			}
			if s.Doc.Labels.Has(want) {
				kept = append(kept, &s)
			}
		}
		slices.SortFunc(kept, func(a, b *sandboxRecord) int { return cmp.Compare(a.Seq, b.Seq) })
		for _, s := range kept {
			doc, err := e.show(tx, c, &g, s, false)
			if err != nil {
				return err
			}
			all = append(all, doc)
		}
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	return dataPage(e, c, all)
}

func (e *Emulator) sandboxCount(ctx context.Context, c *call) (answer, error) {
	if err := e.sweepGroup(ctx, c.groupKey()); err != nil {
		return answer{}, err
	}
	return e.count(ctx, c, kindSandbox)
}

// count answers a bare number.
func (e *Emulator) count(ctx context.Context, c *call, kind store.Kind) (answer, error) {
	n := 0
	err := e.store.View(ctx, func(tx *store.Tx) error {
		if _, err := e.dataGroup(tx, c); err != nil {
			return err
		}
		n = tx.Count(kind, c.groupKey())
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	return ok(n)
}
