package plaintext_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
)

// sequences is the list of what was tried against the door, each with what comes
// out of it. Neighbours that must pass untouched stand beside them.
var sequences = []struct{ name, in, value string }{
	{"plain text", "hello, world", "hello, world"},
	{"text in any script", "naïve 東京 עברית 🙂", "naïve 東京 עברית 🙂"},
	{"a combining mark", "e\u0301", "e\u0301"},
	{"a backslash", `C:\new`, `C:\new`},

	{"colour", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
	{"clear the screen", "\x1b[2J\x1b[H", `\x1b[2J\x1b[H`},
	{"set the title", "\x1b]0;pwned\x07", `\x1b]0;pwned\x07`},
	{"a hyperlink", "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\", `\x1b]8;;http://evil.example\x1b\click\x1b]8;;\x1b\`},
	{"write the clipboard", "\x1b]52;c;ZXZpbA==\x07", `\x1b]52;c;ZXZpbA==\x07`},
	{"C1 control sequence introducer", "\u009b31m", `\x9b31m`},
	{"C1 as a bare byte", "\x9b31m", `\x9b31m`},
	{"overwrite the line", "allowed\rrefused", `allowed\rrefused`},
	{"backspace", "deny\b\b\b\ballow", `deny\x08\x08\x08\x08allow`},
	{"NUL and DEL", "a\x00b\x7f", `a\x00b\x7f`},
	{"line break", "one\ntwo", `one\ntwo`},
	{"vertical tab and form feed", "a\vb\f", `a\x0bb\x0c`},
	{"Unicode line breaks", "a\u2028b\u2029c\u0085d", `a\u2028b\u2029c\x85d`},

	{"bidi override", "\u202etxt.exe\u202c", `\u202etxt.exe\u202c`},
	{"bidi isolates", "\u2066\u2067\u2068\u2069", `\u2066\u2067\u2068\u2069`},
	{"bidi marks", "\u200e\u200f\u061c", `\u200e\u200f\u061c`},
	{"zero width", "ad\u200bmin\u200c\u200d\ufeff", `ad\u200bmin\u200c\u200d\ufeff`},
	{"soft hyphen", "ad\u00admin", `ad\xadmin`},
	{"other spaces", "a\u00a0b\u3000c\u2003", `a\xa0b\u3000c\u2003`},
	{"tag characters", "\U000e0041\U000e0042", `\U000e0041\U000e0042`},
	{"variation selectors", "a\ufe0fb\U000e0100", `a\ufe0fb\U000e0100`},
	{"Hangul fillers", "\u115f\u1160\u3164\uffa0", `\u115f\u1160\u3164\uffa0`},
	{"combining grapheme joiner", "a\u034fb", `a\u034fb`},
	{"blank braille", "\u2800", `\u2800`},
	{"private use", "\ue000", `\ue000`},
	{"invalid UTF-8", "a\xff\xc3(", `a\xff\xc3(`},
	{"a replacement character of its own", "a\ufffd", "a\ufffd"},

	{"GitHub command", "::error::pwned", `:\x3aerror::pwned`},
	{"GitHub command after spaces", "  ::set-output name=x::y", `  :\x3aset-output name=x::y`},
	{"GitHub command after a tab", "\t::add-mask::x", `\t::add-mask::x`},
	{"GitHub command after another space", "\u00a0::error::x", `\xa0::error::x`},
	{"two colons further on", "std::vector", "std::vector"},
	{"older GitHub command", "x ##[error]pwned", `x #\x23[error]pwned`},
	{"Azure command", "x ##vso[task.setvariable variable=a]b", `x #\x23vso[task.setvariable variable=a]b`},
	{"TeamCity command", "##teamcity[buildStatus status='SUCCESS']", `#\x23teamcity[buildStatus status='SUCCESS']`},
	{"three signs", "###vso[x]", `##\x23vso[x]`},
	{"a command inside a command", "##v##vso[x]", `##v#\x23vso[x]`},
	{"a heading", "## Results [1]", "## Results [1]"},
	{"a command spelt with an escape", "#\x1b#vso[x]", `#\x1b#vso[x]`},
	{"GitLab section", "\x1b[0Ksection_start:1:x\r\x1b[0K", `\x1b[0Ksection_start:1:x\r\x1b[0K`},
}

func TestEverySequenceComesOutVisible(t *testing.T) {
	t.Parallel()
	for _, s := range sequences {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if got := plaintext.Value(s.in); got != s.value {
				t.Errorf("Value(%q)\n got %s\nwant %s", s.in, got, s.value)
			}
		})
	}
}

func TestAWriterLeavesNothingToAValueThatWasForgotten(t *testing.T) {
	t.Parallel()
	for _, s := range sequences {
		for _, size := range []int{1, 3, 1 << 10} {
			var out bytes.Buffer
			w := plaintext.NewWriter(&out)
			in := s.in + "\n"
			for len(in) > 0 {
				n := min(size, len(in))
				if _, err := w.Write([]byte(in[:n])); err != nil {
					t.Fatal(err)
				}
				in = in[n:]
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			want := ""
			for text := range strings.Lines(s.in + "\n") {
				want += plaintext.Value(strings.TrimSuffix(text, "\n")) + "\n"
			}
			if out.String() != want {
				t.Errorf("%s in pieces of %d:\n got %q\nwant %q", s.name, size, out.String(), want)
			}
		}
	}
}

func TestGuestLinesAreMarkedAndEnded(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                         "",
		"one":                      "| one\n",
		"one\ntwo\n":               "| one\n| two\n",
		"a\tb\n\n":                 "| a\tb\n| \n",
		"\x1b[31m\n::error::x\n":   "| \\x1b[31m\n| :\\x3aerror::x\n",
		"exit code 0\r\n":          "| exit code 0\\r\n",
		"\t::add-mask::x":          "| \t:\\x3aadd-mask::x\n",
		"\u202egnp.trahc\n##vso[]": "| \\u202egnp.trahc\n| #\\x23vso[]\n",
	} {
		var out bytes.Buffer
		if err := plaintext.Guest(&out, "| ", []byte(in)); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("Guest(%q)\n got %q\nwant %q", in, out.String(), want)
		}
	}
}

func TestJSONDecodesToTheSameValue(t *testing.T) {
	t.Parallel()
	for _, s := range sequences {
		in, err := json.MarshalIndent(map[string]string{s.in: s.in}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		out := plaintext.JSON(in)
		var before, after map[string]string
		if err := json.Unmarshal(in, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatalf("%s: %v\n%s", s.name, err, out)
		}
		for k, v := range before {
			if after[k] != v {
				t.Errorf("%s: %q became %q", s.name, v, after[k])
			}
		}
		for text := range strings.Lines(string(out)) {
			text = strings.TrimSuffix(text, "\n")
			if plaintext.Value(text) != text {
				t.Errorf("%s: %q is not safe to print", s.name, text)
			}
		}
	}
}

func FuzzNothingHiddenPasses(f *testing.F) {
	for _, s := range sequences {
		f.Add(s.in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out := plaintext.Value(in)
		if again := plaintext.Value(out); again != out {
			t.Errorf("escaping %q twice gives %q", out, again)
		}
		if !utf8.ValidString(out) || strings.ContainsAny(out, "\n\r\t\x1b\x00") {
			t.Errorf("%q came out as %q", in, out)
		}
		if strings.HasPrefix(strings.TrimSpace(out), "::") {
			t.Errorf("%q came out as the command %q", in, out)
		}
	})
}
