package sandbox

import "strings"

const digestPrefix = "sha256:"

// IsDigest reports whether text is a SHA-256 digest as this module writes and
// reads it everywhere: sha256:<64 lower-case hex digits>, and nothing around it.
func IsDigest(text string) bool {
	digits, ok := strings.CutPrefix(text, digestPrefix)
	if !ok || len(digits) != 64 {
		return false
	}
	for i := range len(digits) {
		if b := digits[i]; (b < '0' || b > '9') && (b < 'a' || b > 'f') {
			return false
		}
	}
	return true
}
