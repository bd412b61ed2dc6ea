package store

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// Sealed is a document that only this file's key opens. Empty is no document.
type Sealed []byte

// What was sealed cannot be read: the key beside the file is gone, or another file's.
var (
	ErrKeyGone  = errors.New("the key beside the state file is gone")
	ErrWrongKey = errors.New("the key beside the state file is not the one that sealed it")
)

const keySuffix = ".key"

// Seal hides a document. purpose says what it is, such as "secret"; it has to be
// given again for opening, so that nothing sealed passes for something else. The
// key is made with the first document that is sealed.
func (t *Tx) Seal(purpose string, doc any) (Sealed, error) {
	plain, err := wire.Encode(doc)
	if err != nil {
		return nil, err
	}
	aead, err := t.aead(true)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce) // ends the process rather than fail
	return aead.Seal(nonce, nonce, plain, []byte(purpose)), nil
}

// Unseal reads a document that [Tx.Seal] hid into v. An empty one leaves v alone.
func (t *Tx) Unseal(purpose string, sealed Sealed, v any) error {
	if len(sealed) == 0 {
		return nil
	}
	aead, err := t.aead(false)
	if err != nil {
		return err
	}
	if len(sealed) < aead.NonceSize() {
		return fmt.Errorf("%w: a sealed %s is cut short", ErrDamaged, purpose)
	}
	nonce, body := sealed[:aead.NonceSize()], sealed[aead.NonceSize():]
	plain, err := aead.Open(nil, nonce, body, []byte(purpose))
	if err != nil {
		return fmt.Errorf("reading a %s: %w", purpose, ErrWrongKey)
	}
	return wire.Decode(plain, v)
}

func (t *Tx) aead(create bool) (cipher.AEAD, error) {
	if t.key == nil {
		var err error
		if t.key, err = readKey(t.store.path+keySuffix, create); err != nil {
			return nil, err
		}
	}
	block, err := aes.NewCipher(t.key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrWrongKey, err)
	}
	return cipher.NewGCM(block)
}

// readKey reads the key, or makes it. Only one process makes it: sealing happens
// in a transaction that changes the file, and those exclude each other.
func readKey(path string, create bool) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && create {
		key := make([]byte, 32)
		rand.Read(key) // ends the process rather than fail
		if err := writeWhole(path, hex.EncodeToString(key)+"\n"); err != nil {
			return nil, fmt.Errorf("keeping the key of the state file: %w", err)
		}
		return key, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrKeyGone, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("%w: it is not 32 bytes in hexadecimal", ErrWrongKey)
	}
	return key, nil
}

// writeWhole puts a file in its place at once: a process that dies leaves no half
// of a key behind.
func writeWhole(path, text string) error {
	half := path + ".new"
	if err := os.WriteFile(half, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(half, path)
}
