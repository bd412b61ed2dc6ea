package acasemu

import (
	"context"
	"net/http"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

// Connections and credentials: objects of which the contract says little more than
// that they exist. They may hold secrets, so they are sealed whole.

const (
	purposeDocument  = "document"
	absentConnection = "ConnectionNotFound"
	absentCredential = "CredentialNotFound"
)

func (c *call) connectionKey() store.Key { return append(c.groupKey(), c.seg[wire.SegConnection]) }
func (c *call) credentialKey() store.Key { return append(c.groupKey(), c.seg[wire.SegCredential]) }

// readDocument opens a document under its own id.
func readDocument(tx *store.Tx, r *documentRecord) (wire.Document, error) {
	doc := wire.Document{}
	if err := tx.Unseal(purposeDocument, r.Doc, &doc); err != nil {
		return nil, err
	}
	id, err := wire.Encode(r.ID)
	doc["id"] = id
	return doc, err
}

// putDocument keeps the body of a request under a key, and answers it.
func (e *Emulator) putDocument(ctx context.Context, c *call, kind store.Kind, id string) (answer, error) {
	doc := wire.Document{}
	if err := c.document(&doc, false); err != nil {
		return answer{}, err
	}
	delete(doc, "id")
	var shown wire.Document
	status := http.StatusOK
	err := e.store.Update(ctx, func(tx *store.Tx) error {
		if _, err := e.dataGroup(tx, c); err != nil {
			return err
		}
		key := append(c.groupKey(), id)
		r, exists, err := store.Get[documentRecord](tx, kind, key)
		if err != nil {
			return err
		}
		if status = http.StatusOK; !exists {
			status = http.StatusCreated
			r = documentRecord{ID: id}
			if r.Seq, err = tx.Next(); err != nil {
				return err
			}
		}
		if r.Doc, err = tx.Seal(purposeDocument, doc); err != nil {
			return err
		}
		if shown, err = readDocument(tx, &r); err != nil {
			return err
		}
		return store.Put(tx, kind, key, r)
	})
	if err != nil {
		return answer{}, err
	}
	return answer{status: status, doc: shown}, nil
}

func (e *Emulator) listDocuments(ctx context.Context, c *call, kind store.Kind) (answer, error) {
	all, err := every(ctx, e, c, kind, func(r *documentRecord) uint64 { return r.Seq }, readDocument)
	if err != nil {
		return answer{}, err
	}
	return dataPage(e, c, all)
}

func (e *Emulator) connectionList(ctx context.Context, c *call) (answer, error) {
	return e.listDocuments(ctx, c, kindConnection)
}

func (e *Emulator) connectionCreate(ctx context.Context, c *call) (answer, error) {
	return e.putDocument(ctx, c, kindConnection, newID())
}

func (e *Emulator) connectionDelete(ctx context.Context, c *call) (answer, error) {
	return e.removeOne(ctx, c, kindConnection, c.connectionKey(), absentConnection)
}

// connectionAttach takes any id: connections are made elsewhere too.
func (e *Emulator) connectionAttach(ctx context.Context, c *call) (answer, error) {
	var body wire.ConnectionRef
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	if body.ConnectionID == "" {
		return answer{}, invalid("connectionId is required")
	}
	f, err := e.change(ctx, c, false, func(_ *store.Tx, f *found) error {
		if ids := f.sandbox.Doc.Connections; !slices.Contains(ids, body.ConnectionID) {
			f.sandbox.Doc.Connections = append(ids, body.ConnectionID)
		}
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	return ok(wire.ConnectionIDs{ConnectionIDs: f.sandbox.Doc.Connections})
}

func (e *Emulator) credentialPut(ctx context.Context, c *call) (answer, error) {
	return e.putDocument(ctx, c, kindCredential, c.seg[wire.SegCredential])
}

func (e *Emulator) credentialGet(ctx context.Context, c *call) (answer, error) {
	return one(ctx, e, c, kindCredential, c.credentialKey(), absentCredential, readDocument)
}

func (e *Emulator) credentialList(ctx context.Context, c *call) (answer, error) {
	return e.listDocuments(ctx, c, kindCredential)
}

func (e *Emulator) credentialDelete(ctx context.Context, c *call) (answer, error) {
	return e.removeOne(ctx, c, kindCredential, c.credentialKey(), absentCredential)
}
