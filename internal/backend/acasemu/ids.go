package acasemu

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// newID is a random UUID.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // ends the process rather than fail
	return uuidOf(b)
}

// idOf is a UUID that the same text always has.
func idOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return uuidOf([16]byte(sum[:16]))
}

func uuidOf(b [16]byte) string {
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// newTrace is a trace context as the service writes it.
func newTrace() string {
	var b [24]byte
	rand.Read(b[:]) // ends the process rather than fail
	return "00-" + hex.EncodeToString(b[:16]) + "-" + hex.EncodeToString(b[16:]) + "-00"
}
