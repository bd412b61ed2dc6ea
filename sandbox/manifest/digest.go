package manifest

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Digest is the SHA-256 of a document's exact bytes, as sha256:<64 lower-case
// hex digits>.
type Digest string

const digestPrefix = "sha256:"

// DigestOf is the digest of b.
func DigestOf(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest(digestPrefix + hex.EncodeToString(sum[:]))
}

// ParseDigest reads a digest exactly.
func ParseDigest(text string) (Digest, error) {
	if isDigest(text) {
		return Digest(text), nil
	}
	return "", sandbox.Finding{
		Code: sandbox.CodeInvalidText, Found: sandbox.Echo(text),
		Required: "sha256:<64 lower-case hex digits>", Remedy: "copy the digest whole",
	}.Refusal(nil)
}

func isDigest(text string) bool {
	if len(text) != len(digestPrefix)+2*sha256.Size || text[:len(digestPrefix)] != digestPrefix {
		return false
	}
	for _, b := range []byte(text[len(digestPrefix):]) {
		if (b < '0' || b > '9') && (b < 'a' || b > 'f') {
			return false
		}
	}
	return true
}
