package acasemu

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

var secretID = regexp.MustCompile(`^[A-Za-z0-9-]{3,64}$`)

const (
	purposeSecret = "secret"
	absentSecret  = "SecretNotFound"
)

func (c *call) secretKey() store.Key { return append(c.groupKey(), c.seg[wire.SegSecret]) }

// secretPut replaces the whole of a secret. Its values are sealed before they reach
// the state file.
func (e *Emulator) secretPut(ctx context.Context, c *call) (answer, error) {
	var body wire.SecretValues
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	if !secretID.MatchString(c.seg[wire.SegSecret]) {
		return answer{}, refuse(http.StatusBadRequest, "InvalidSecretId", "a secret's id is 3 to 64 letters, digits and hyphens")
	}
	values := map[string]string{}
	if body.Values != nil {
		values = *body.Values
	}
	var r secretRecord
	status := http.StatusOK
	err := e.store.Update(ctx, func(tx *store.Tx) error {
		if _, err := e.dataGroup(tx, c); err != nil {
			return err
		}
		var exists bool
		var err error
		if r, exists, err = store.Get[secretRecord](tx, kindSecret, c.secretKey()); err != nil {
			return err
		}
		if status = http.StatusOK; !exists {
			status = http.StatusCreated
			r = secretRecord{Secret: wire.Secret{ID: c.seg[wire.SegSecret], CreatedAt: stamp(c.now)}}
			if r.Seq, err = tx.Next(); err != nil {
				return err
			}
		}
		r.Secret.UpdatedAt = stamp(c.now)
		if r.Values, err = tx.Seal(purposeSecret, values); err != nil {
			return err
		}
		return store.Put(tx, kindSecret, c.secretKey(), r)
	})
	if err != nil {
		return answer{}, err
	}
	return answer{status: status, doc: r.Secret}, nil
}

func secretValues(tx *store.Tx, r *secretRecord) (map[string]string, error) {
	values := map[string]string{}
	return values, tx.Unseal(purposeSecret, r.Values, &values)
}

func (e *Emulator) secretList(ctx context.Context, c *call) (answer, error) {
	all, err := every(ctx, e, c, kindSecret, func(r *secretRecord) uint64 { return r.Seq },
		func(_ *store.Tx, r *secretRecord) (wire.Secret, error) { return r.Secret, nil })
	if err != nil {
		return answer{}, err
	}
	return ok(wire.SecretDocument{Secrets: all})
}

func (e *Emulator) secretKeys(ctx context.Context, c *call) (answer, error) {
	return one(ctx, e, c, kindSecret, c.secretKey(), absentSecret, func(tx *store.Tx, r *secretRecord) (wire.SecretKeyList, error) {
		values, err := secretValues(tx, r)
		keys := slices.Sorted(maps.Keys(values))
		return wire.SecretKeyList{Keys: &keys}, err
	})
}

func (e *Emulator) secretPeek(ctx context.Context, c *call) (answer, error) {
	return one(ctx, e, c, kindSecret, c.secretKey(), absentSecret, func(tx *store.Tx, r *secretRecord) (wire.SecretValues, error) {
		values, err := secretValues(tx, r)
		return wire.SecretValues{ID: r.Secret.ID, Values: &values}, err
	})
}

func (e *Emulator) secretDelete(ctx context.Context, c *call) (answer, error) {
	return e.removeOne(ctx, c, kindSecret, c.secretKey(), absentSecret)
}
