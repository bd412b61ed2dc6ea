package guestpath_test

import (
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
)

func TestArtifactNameRefusalsHaveAllowedNeighbours(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ bad, found, allowed string }{
		{"", "an empty name", " "},
		{`a\b`, `name "a\\b" with a backslash at character 2`, "a＼b"},
		{`é\..\b`, `name "é\\..\\b" with a backslash at character 2`, "é..b"},
		{"/a", `name "/a" with a slash at character 1`, "a"},
		{"//a", `name "//a" with a slash at character 1`, "-/a"},
		{"../a", `name "../a" with a .. segment at character 1`, ".../a"},
		{"日/b/..", `name "日/b/.." with a .. segment at character 5`, "日/b/..c"},
		{"a/", `name "a/" with an empty or . segment at character 3`, "a/b"},
		{"a//b", `name "a//b" with an empty or . segment at character 3`, "a/ /b"},
		{"./a", `name "./a" with an empty or . segment at character 1`, ".a"},
		{"a/.", `name "a/." with an empty or . segment at character 3`, "a/.b"},
		{"a\x00", `name "a\x00" with the control character U+0000 at character 2`, "a0"},
		{"é\x1f\n\x1f", `name "é\x1f\n\x1f" with the control characters U+000A, U+001F, the first at character 2`, "é\x7f"},
		{"a/\xed\xa0\x80", `name "a/\xed\xa0\x80" with the byte 0xED, which is not UTF-8, at character 3`, "a/\ufffd"},
		{strings.Repeat("é", 128), `name "` + strings.Repeat("é", 60) + `"… (256 bytes) of 256 bytes`, strings.Repeat("é", 127) + "e"},
	} {
		wantRefusal(t, guestpath.ValidateArtifactName(c.bad), sandbox.CodeArtifactNameInvalid, c.found)
		if err := guestpath.ValidateArtifactName(c.allowed); err != nil {
			t.Errorf("ValidateArtifactName(%q): %v", c.allowed, err)
		}
	}
}

// TestFirstBrokenRuleIsTheOneReported breaks every rule and mends them one by
// one, in the order in which they are judged.
func TestFirstBrokenRuleIsTheOneReported(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", guestpath.MaxArtifactName)
	for _, c := range []struct{ name, rule string }{
		{`/../` + "/\x00\xff\\" + long, "backslash"},
		{"/../" + "/\x00\xff" + long, "absolute"},
		{"a/../" + "/\x00\xff" + long, "traversal"},
		{"a/" + "/\x00\xff" + long, "segment"},
		{"a/" + "\x00\xff" + long, "control"},
		{"a/" + "\xff" + long, "utf8"},
		{"a/" + long, "length"},
		{long, ""},
	} {
		if got := ruleOf(guestpath.ValidateArtifactName(c.name)); got != c.rule {
			t.Errorf("%.20q is refused for %q, want %q", c.name, got, c.rule)
		}
	}
}

func TestNormalisingCanLengthenANameOverTheLimit(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("\u0958", 43)
	if err := guestpath.ValidateArtifactName(name); err != nil {
		t.Fatal(err)
	}
	normal := guestpath.NormalizeArtifactName(name)
	if len(name) != 129 || len(normal) != 258 {
		t.Fatalf("%d bytes became %d", len(name), len(normal))
	}
	if ruleOf(guestpath.ValidateArtifactName(normal)) != "length" {
		t.Error("the delivered spelling is accepted")
	}
	if err := guestpath.ValidateArtifactName(guestpath.NormalizeArtifactName(name[3:])); err != nil {
		t.Errorf("one character less: %v", err)
	}
}

func TestNamesCollideByCaseAndUnicodeForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b    string
		collide bool
	}{
		{"a/b", "A/b", true},
		{"a/b", "a/c", false},
		{"\u00e9", "e\u0301", true},
		{"\u00e9", "e", false},
		{"\u1e9e", "\u00df", true},
		{"\u00df", "ss", false},
		{"\ufb01", "fi", false},
		{"\u0130", "i\u0307", true},
		{"\u0130", "i", false},
		{"\u0131", "I", false},
		{"\u212a", "k", true},
		{"\u017f", "s", false},
		{"ΑΣ", "ας", true},
		{"ΑΣ", "ασ", false},
		{"ΑΣ.txt", "ασ.txt", true},
		{"ΑΣ.txt", "ας.txt", false},
		{"ΑΣ/x", "ας/x", true},
		{"J\u030c", "\u01f0", true},
		{"J\u030d", "\u01f0", false},
		{"I\u0323\u0307", "i\u0307\u0323", true},
		{"a.", "a", false},
		{"a ", "a", false},
	} {
		if got := guestpath.CollisionKey(c.a) == guestpath.CollisionKey(c.b); got != c.collide {
			t.Errorf("%+q and %+q collide: %v, want %v", c.a, c.b, got, c.collide)
		}
	}
}

func TestPortableNameAvoidsWhatWindowsReadsOtherwise(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":                   "_",
		"a/b.txt":            "a/b.txt",
		`a\b`:                "a_b",
		"a<b>c:d\"e|f?g*h":   "a_b_c_d_e_f_g_h",
		"a\x00\x1fb\x7f":     "a__b\x7f",
		"a\xff\xfeb\ufffd":   "a_b\ufffd",
		"a. . /b.":           "a/b",
		"/a":                 "_/a",
		"../..":              "_/_",
		"con":                "con_",
		"CON.tar.gz":         "CON_.tar.gz",
		"con .txt":           "con _.txt",
		"con. .txt":          "con_. .txt",
		"NUL:":               "NUL_",
		"CONOUT$":            "CONOUT$_",
		"conin$.log":         "conin$_.log",
		"CONFIG$":            "CONFIG$",
		"x/com1/LPT¹.a":      "x/com1_/LPT¹_.a",
		"COM0/COM10/COM⁴":    "COM0/COM10/COM⁴",
		"console/.con/a.con": "console/.con/a.con",
		" con":               " con",
	} {
		got := guestpath.PortableName(name)
		if got != want {
			t.Errorf("PortableName(%q) = %q, want %q", name, got, want)
		}
		if err := guestpath.ValidateArtifactName(got); err != nil {
			t.Errorf("PortableName(%q): %v", name, err)
		}
	}
}

func TestPortableNameNeverCuts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", guestpath.MaxArtifactName+1) + ".txt"
	if got := guestpath.PortableName(long); got != long {
		t.Errorf("a long name became %q", got)
	}
}

// ruleOf recognises the rule of a refused name by what it requires.
func ruleOf(err error) string {
	refusal := sandbox.RefusalOf(err)
	if refusal == nil {
		return ""
	}
	for rule, required := range map[string]string{
		"empty": "a name", "backslash": "segments separated by /", "absolute": "a relative name",
		"traversal": "no .. segment", "segment": "a name between any two slashes and at the end",
		"control": "no control characters", "utf8": "UTF-8",
		"length": "at most 255 bytes of UTF-8, slashes included",
	} {
		if refusal.Required == required {
			return rule
		}
	}
	return refusal.Required
}
