package unfinished

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// keyFile is the user's own key, in the folder that is given to [New].
const (
	keyFile = "creations.key"
	keySize = 32
)

var errNoKeys = errors.New("there is no folder of the user's own for a key")

// signer signs lines with the user's key, for one place.
type signer struct {
	key   []byte
	place string
}

// readKey gives the key that is there. make makes it where there is none.
func readKey(dir string, create bool) ([]byte, error) {
	if dir == "" {
		return nil, errNoKeys
	}
	name := filepath.Join(dir, keyFile)
	if create {
		if err := privateDir(dir); err != nil {
			return nil, err
		}
		if err := makeKey(name); err != nil {
			return nil, err
		}
	}
	// The folder as well: who can write there can put a key in place of this one.
	if info, err := os.Lstat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() || !private(info) {
		return nil, fmt.Errorf("%s: %w", dir, errNotPrivate)
	}
	f, err := openPrivate(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	key, err := io.ReadAll(io.LimitReader(f, keySize+1))
	if err == nil && len(key) != keySize {
		err = fmt.Errorf("%s: not a key of %d bytes", name, keySize)
	}
	return key, err
}

// makeKey puts a key there in one step, so that of two processes one is first and
// nobody reads half of one.
func makeKey(name string) error {
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), keyFile+".*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // a name too many does no harm
	key := make([]byte, keySize)
	rand.Read(key) // it never fails
	_, err = f.Write(key)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), name); errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// sign is the signature of a line. The place is in it: a line of one directory means
// nothing in another.
func (s signer) sign(line []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	fmt.Fprintf(h, "%d:%s", len(s.place), s.place)
	h.Write(line)
	return h.Sum(nil)
}
