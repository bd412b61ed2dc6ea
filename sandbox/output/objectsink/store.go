package objectsink

import (
	"context"
	"errors"
	"io"
	"time"
)

// Store is what is asked of an object store. Keys are of lower case letters, digits
// and -._/ and at most 400 bytes, so no store reads one otherwise. Every method can
// be called at any time by many. An error says what was attempted, and holds no
// credential, signature or unbounded answer of the server.
type Store interface {
	// Stage sends content of exactly size bytes, a piece at a time. Nothing stands
	// under the key before Commit.
	Stage(ctx context.Context, key string, content io.Reader, size int64, mediaType string) (Staged, error)
	// Read answers a small object and its version, [ErrAbsent] where there is none,
	// and an error for one of more than most bytes.
	Read(ctx context.Context, key string, most int64) (content []byte, version string, err error)
	// Swap writes a small object in place of exactly that version, or where there is
	// none for an empty version. [ErrConflict] says that something else stands there:
	// also what an attempt before wrote, when its answer was lost.
	Swap(ctx context.Context, key string, content []byte, version string) error
	// List tells of every object whose key begins with the prefix, in no order. A
	// listing shows all that was written before it began.
	List(ctx context.Context, prefix string, each func(Object) error) error
	// Delete removes an object. That there is none is no error.
	Delete(ctx context.Context, key string) error
	// Locate is the object's address for the host, without any credential.
	Locate(key string) string
}

// Staged is an object that was sent and does not stand yet.
type Staged interface {
	// Commit lets the object stand, whole, where nothing does: [ErrConflict] says that
	// something else stands there. Once it stands, committing again is no error.
	Commit(ctx context.Context) error
	// Discard drops what was sent, or leaves that to the store's own housekeeping.
	Discard(ctx context.Context) error
}

// Object is one line of a listing.
type Object struct {
	Key      string
	Size     int64
	Modified time.Time
}

var (
	// ErrAbsent says that no object stands under the key.
	ErrAbsent = errors.New("no such object")
	// ErrConflict says that another version stands under the key.
	ErrConflict = errors.New("another version of the object stands there")
)
