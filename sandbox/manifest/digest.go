package manifest

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Digest is the SHA-256 of a document's exact bytes, as sha256:<64 lower-case
// hex digits>.
type Digest string

// DigestOf is the digest of b.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest("sha256:" + hex.EncodeToString(sum[:]))
}

// ParseDigest reads a digest exactly.
func ParseDigest(text string) (Digest, error) {
	if sandbox.IsDigest(text) {
		return Digest(text), nil
	}
	return "", sandbox.Finding{
		Code: sandbox.CodeInvalidText, Found: sandbox.Echo(text),
		Required: "sha256:<64 lower-case hex digits>", Remedy: "copy the digest whole",
	}.Refusal(nil)
}
