package acasemu

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

// doomed is what stands outside the state of a group that is gone: guests, the
// files that were saved of some, and those of volumes and packages.
type doomed struct{ guests, saved, files []string }

// dropGroup removes a group and everything in it from the state.
func dropGroup(tx *store.Tx, key store.Key) (doomed, error) {
	d, err := doomedOf(tx, key)
	if err != nil {
		return d, err
	}
	for _, kind := range ofGroups {
		if err := tx.DeleteBelow(kind, key); err != nil {
			return d, err
		}
	}
	return d, tx.Delete(kindGroup, key)
}

func doomedOf(tx *store.Tx, key store.Key) (d doomed, err error) {
	note := func(to *[]string, name string) {
		if name != "" {
			*to = append(*to, name)
		}
	}
	err = errors.Join(
		visit(tx, kindSandbox, key, func(r sandboxRecord) { note(&d.guests, r.Doc.ID) }),
		visit(tx, kindImage, key, func(r imageRecord) { note(&d.saved, r.Saved) }),
		visit(tx, kindSnapshot, key, func(r snapshotRecord) { note(&d.saved, r.Saved) }),
		visit(tx, kindVolume, key, func(r volumeRecord) { note(&d.files, r.Dir) }),
		visit(tx, kindPackage, key, func(r packageRecord) { note(&d.files, r.File) }),
	)
	return d, err
}

func visit[R any](tx *store.Tx, kind store.Kind, key store.Key, f func(R)) error {
	for r, err := range store.Each[R](tx, kind, key) {
		if err != nil {
			return err
		}
		f(r)
	}
	return nil
}

// bury removes what a group left outside the state.
func (e *Emulator) bury(ctx context.Context, d doomed) error {
	ctx, cancel := e.detached(ctx)
	defer cancel()
	for _, id := range d.guests {
		e.endGuest(ctx, id)
	}
	var errs []error
	for _, name := range d.saved {
		errs = append(errs, e.cfg.Guests.Discard(ctx, name))
	}
	for _, name := range d.files {
		if err := os.RemoveAll(name); err != nil {
			errs = append(errs, fmt.Errorf("removing the files of a group: %w", err))
		}
	}
	return errors.Join(errs...)
}
