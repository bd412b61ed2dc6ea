package store

import (
	"bytes"
	"fmt"
	"iter"
	"strings"

	"go.etcd.io/bbolt"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// Kind is one kind of document; documents of different kinds never meet.
type Kind string

// Key names a document within its kind, from the general to the particular: what
// [Each] and [DeleteBelow] call "below" begins with all of another key's parts.
// No part may hold a NUL.
type Key []string

const separator = "\x00"

func (k Key) bytes() []byte { return []byte(strings.Join(k, separator)) }

// prefix is what the keys below k begin with.
func (k Key) prefix() []byte {
	if len(k) == 0 {
		return nil
	}
	return append(k.bytes(), separator...)
}

// Tx is one transaction. It is good until the function that was given it returns.
type Tx struct {
	tx    *bbolt.Tx
	store *Store
	wrote bool
	key   []byte
}

// Get reads the document of a key. It reports false where there is none.
func Get[T any](t *Tx, kind Kind, key Key) (doc T, ok bool, err error) {
	bucket := t.tx.Bucket([]byte(kind))
	if bucket == nil {
		return doc, false, nil
	}
	raw := bucket.Get(key.bytes())
	if raw == nil {
		return doc, false, nil
	}
	if err := wire.Decode(raw, &doc); err != nil {
		return doc, false, fmt.Errorf("%w: a %s: %w", ErrDamaged, kind, err)
	}
	return doc, true, nil
}

// Put writes the document of a key, in place of the one that was there.
func Put[T any](t *Tx, kind Kind, key Key, doc T) error {
	raw, err := wire.Encode(doc)
	if err != nil {
		return err
	}
	t.wrote = true
	bucket, err := t.tx.CreateBucketIfNotExists([]byte(kind))
	if err != nil {
		return fmt.Errorf("writing a %s: %w", kind, err)
	}
	if err := bucket.Put(key.bytes(), raw); err != nil {
		return fmt.Errorf("writing a %s: %w", kind, err)
	}
	return nil
}

// Delete removes the document of a key; one that is not there is success.
func (t *Tx) Delete(kind Kind, key Key) error {
	bucket := t.tx.Bucket([]byte(kind))
	if bucket == nil {
		return nil
	}
	t.wrote = true
	if err := bucket.Delete(key.bytes()); err != nil {
		return fmt.Errorf("removing a %s: %w", kind, err)
	}
	return nil
}

// DeleteBelow removes every document whose key lies below key.
func (t *Tx) DeleteBelow(kind Kind, key Key) error {
	bucket := t.tx.Bucket([]byte(kind))
	if bucket == nil {
		return nil
	}
	t.wrote = true
	prefix := key.prefix()
	// Deleting while a cursor walks skips entries, so they are named first.
	var doomed [][]byte
	for k := range below(bucket, prefix) {
		doomed = append(doomed, bytes.Clone(k))
	}
	for _, k := range doomed {
		if err := bucket.Delete(k); err != nil {
			return fmt.Errorf("removing a %s: %w", kind, err)
		}
	}
	return nil
}

// Each reads the documents whose key lies below key, in the order of their keys.
// It ends at the first that cannot be read.
func Each[T any](t *Tx, kind Kind, key Key) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		bucket := t.tx.Bucket([]byte(kind))
		if bucket == nil {
			return
		}
		for _, raw := range below(bucket, key.prefix()) {
			var doc T
			if err := wire.Decode(raw, &doc); err != nil {
				yield(doc, fmt.Errorf("%w: a %s: %w", ErrDamaged, kind, err))
				return
			}
			if !yield(doc, nil) {
				return
			}
		}
	}
}

// Count is how many documents lie below key.
func (t *Tx) Count(kind Kind, key Key) int {
	bucket := t.tx.Bucket([]byte(kind))
	if bucket == nil {
		return 0
	}
	n := 0
	for range below(bucket, key.prefix()) {
		n++
	}
	return n
}

// Next is a number that this file never gave before, for putting things into the
// order in which they were made.
func (t *Tx) Next() (uint64, error) {
	t.wrote = true
	bucket, err := t.tx.CreateBucketIfNotExists([]byte("order"))
	if err != nil {
		return 0, fmt.Errorf("numbering: %w", err)
	}
	return bucket.NextSequence()
}

func below(bucket *bbolt.Bucket, prefix []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		c := bucket.Cursor()
		for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
			if !yield(k, v) {
				return
			}
		}
	}
}
