package sandbox_test

import (
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestADigestHasOneSpelling(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("0123456789abcdef", 4)
	for text, is := range map[string]bool{
		"sha256:" + digits:                  true,
		"":                                  false,
		"sha256:":                           false,
		digits:                              false,
		"sha256:" + digits[1:]:              false,
		"sha256:" + digits + "0":            false,
		"sha256:" + strings.ToUpper(digits): false,
		"SHA256:" + digits:                  false,
		"sha512:" + digits:                  false,
		"sha256:" + digits[:63] + "g":       false,
		"sha256:" + digits[:62] + "é":       false,
		" sha256:" + digits:                 false,
		"sha256:" + digits + "\n":           false,
		"sha256:sha256:" + digits[len("sha256:"):]: false,
	} {
		if sandbox.IsDigest(text) != is {
			t.Errorf("IsDigest(%q) is %t", text, !is)
		}
	}
}
