package acasemu

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

// What a group holds by name or id, and nothing special about it.

// one answers a thing of the group, or 404 with the code.
func one[R, D any](
	ctx context.Context, e *Emulator, c *call, kind store.Kind, key store.Key, code string, show func(*store.Tx, *R) (D, error),
) (answer, error) {
	var doc D
	err := e.store.View(ctx, func(tx *store.Tx) error {
		if _, err := e.dataGroup(tx, c); err != nil {
			return err
		}
		r, exists, err := store.Get[R](tx, kind, key)
		if err != nil {
			return err
		}
		if !exists {
			return absent(code)
		}
		doc, err = show(tx, &r)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	return ok(doc)
}

func absent(code string) error {
	return refuse(http.StatusNotFound, code, "the group has nothing of that name")
}

// every is all things of a kind in the group, in the order in which they were made.
func every[R, D any](
	ctx context.Context, e *Emulator, c *call, kind store.Kind, seq func(*R) uint64, show func(*store.Tx, *R) (D, error),
) ([]D, error) {
	var docs []D
	err := e.store.View(ctx, func(tx *store.Tx) error {
		docs = nil
		if _, err := e.dataGroup(tx, c); err != nil {
			return err
		}
		var all []*R
		for r, err := range store.Each[R](tx, kind, c.groupKey()) {
			if err != nil {
				return err
			}
			all = append(all, &r)
		}
		slices.SortFunc(all, func(a, b *R) int { return cmp.Compare(seq(a), seq(b)) })
		for _, r := range all {
			doc, err := show(tx, r)
			if err != nil {
				return err
			}
			docs = append(docs, doc)
		}
		return nil
	})
	return docs, err
}

// removeOne removes a thing of the group: 204, or 404 with the code.
func (e *Emulator) removeOne(ctx context.Context, c *call, kind store.Kind, key store.Key, code string) (answer, error) {
	err := e.store.Update(ctx, func(tx *store.Tx) error {
		if _, err := e.dataGroup(tx, c); err != nil {
			return err
		}
		_, exists, err := store.Get[struct{}](tx, kind, key)
		if err != nil {
			return err
		}
		if !exists {
			return absent(code)
		}
		return tx.Delete(kind, key)
	})
	if err != nil {
		return answer{}, err
	}
	return nothing()
}
