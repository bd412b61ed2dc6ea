package wire_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// Names of members are the server's, and errors are shown on terminals.
func TestAnErrorShowsNoControlCharacterOfTheServers(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a name stated twice":     `{"labels":{"NAME":{"x":1,"x":2}}}`,
		"a value of another kind": `{"labels":{"NAME":1}}`,
	} {
		for what, member := range map[string]struct{ sent, shown string }{
			"plain": {"team", "team"}, "control characters": {`\u001b[2J\r\n\u009b`, `\x1b[2J`}, "without end": {strings.Repeat("x", 1<<16), "bytes)"},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				var doc struct {
					Labels map[string]string `json:"labels"`
				}
				err := wire.Decode([]byte(strings.Replace(text, "NAME", member.sent, 1)), &doc)
				if err == nil || strings.ContainsFunc(err.Error(), unicode.IsControl) || len(err.Error()) > 1000 {
					t.Fatalf("%q", err)
				}
				if !strings.Contains(err.Error(), member.shown) {
					t.Errorf("%q does not show %q", err, member.shown)
				}
			})
		}
	}
}
