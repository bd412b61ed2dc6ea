// Package prober holds the program that the conformance suites run inside a
// sandbox: static, for Linux, embedded compressed so that a user of sandboxctl
// needs no Go toolchain. Its source is in guest/, `go generate` makes the bytes,
// digest.go states them, and a test rebuilds and compares them.
//
// Read [Program]; guest/main.go lists what the program can be asked.
package prober

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

//go:generate go run ./build/cmd

//go:embed prober-amd64.zst
var amd64 []byte

//go:embed prober-arm64.zst
var arm64 []byte

// Architectures lists those that there is a program for, as Go calls them.
func Architectures() []string { return []string{"amd64", "arm64"} }

// Program unpacks the program for an architecture and checks it against its
// digest.
func Program(architecture string) ([]byte, error) {
	packed := map[string][]byte{"amd64": amd64, "arm64": arm64}[architecture]
	want, ok := digests[architecture]
	if !ok || packed == nil {
		return nil, fmt.Errorf("there is no prober for %q", architecture)
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return nil, fmt.Errorf("unpack the prober: %w", err)
	}
	defer r.Close()
	program, err := r.DecodeAll(packed, make([]byte, 0, want.size))
	if err != nil {
		return nil, fmt.Errorf("unpack the prober: %w", err)
	}
	if sum := sha256.Sum256(program); hex.EncodeToString(sum[:]) != want.sha256 {
		return nil, fmt.Errorf("the prober has SHA-256 %x, not the %s it was built with", sum, want.sha256)
	}
	return program, nil
}

// digest is what one program must be.
type digest struct {
	sha256 string
	size   int
}
