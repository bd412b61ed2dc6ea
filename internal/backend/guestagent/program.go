package guestagent

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

//go:generate go run ./build/cmd

//go:embed agent-amd64.zst
var packedAMD64 []byte

//go:embed agent-arm64.zst
var packedARM64 []byte

// Program is the agent's executable for Linux: static, needing nothing of the
// guest but the kernel.
type Program struct {
	// Bytes is the whole file.
	Bytes []byte
	// Digest is its SHA-256, as "sha256:" and lower-case hexadecimal.
	Digest string
}

// ProgramFor unpacks the agent for a processor that Go calls goarch, "amd64" or
// "arm64", and checks it against the digest it was built with.
func ProgramFor(goarch string) (Program, error) {
	var packed []byte
	switch goarch {
	case "amd64":
		packed = packedAMD64
	case "arm64":
		packed = packedARM64
	}
	want, known := digests[goarch]
	if !known || packed == nil {
		return Program{}, fmt.Errorf("there is no guest agent for %q", goarch)
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(8<<20))
	if err != nil {
		return Program{}, fmt.Errorf("unpack the guest agent: %w", err)
	}
	defer r.Close()
	raw, err := r.DecodeAll(packed, make([]byte, 0, want.size))
	if err != nil {
		return Program{}, fmt.Errorf("unpack the guest agent: %w", err)
	}
	sum := sha256.Sum256(raw)
	if digest := hex.EncodeToString(sum[:]); digest != want.sha256 {
		return Program{}, fmt.Errorf("the guest agent has SHA-256 %s, not the %s it was built with", digest, want.sha256)
	}
	return Program{Bytes: raw, Digest: "sha256:" + want.sha256}, nil
}

// digest is what an embedded agent must be.
type digest struct {
	sha256 string
	size   int
}
