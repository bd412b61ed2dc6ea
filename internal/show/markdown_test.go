package show_test

import (
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
)

func TestCodeSpansHoldWhateverIsInThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                "",
		"a.example:443":   "`a.example:443`",
		"a`b":             "``a`b``",
		"`":               "`` ` ``",
		"``a":             "``` ``a ```",
		"a|b":             "`a\\|b`",
		" a":              "`  a `",
		" ":               "`   `",
		"a\n| b | c |":    "`a\\n\\| b \\| c \\|`",
		"[x](y) @all <b>": "`[x](y) @all <b>`",
		"\u202ea":         "`\\u202ea`",
	} {
		if got := show.Code(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
