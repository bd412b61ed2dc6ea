package guestpath_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
)

const base = "/srv/work"

// wantRefusal holds an error against a code and the words that must be in it.
func wantRefusal(t *testing.T, err error, code sandbox.Code, found string) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("error is %v, want code %s", err, code)
	}
	refusal := sandbox.RefusalOf(err)
	if refusal.Found != found {
		t.Errorf("found:\n  %s\nwant:\n  %s", refusal.Found, found)
	}
	if refusal.Required == "" || refusal.Remedy == "" {
		t.Errorf("refusal %q does not say what is required and what to do", err)
	}
}

// TestNoPathLeavesItsBase is the list of attacks, each with the neighbour that
// is one step away and allowed.
func TestNoPathLeavesItsBase(t *testing.T) {
	t.Parallel()
	outside, invalid := sandbox.CodePathOutside, sandbox.CodePathInvalid
	for name, c := range map[string]struct {
		attack     string
		code       sandbox.Code
		found      string
		allowed    string
		resolvesTo string
	}{
		"parent": {
			"..", outside, `path ".." that leaves "/srv/work" at character 1 and names "/srv"`,
			"...", "/srv/work/...",
		},
		"parent with trailing slash": {
			"../", outside, `path "../" that leaves "/srv/work" at character 1 and names "/srv"`,
			".../", "/srv/work/...",
		},
		"parent after descent": {
			"a/../../b", outside, `path "a/../../b" that leaves "/srv/work" at character 6 and names "/srv/b"`,
			"a/../b", "/srv/work/b",
		},
		"parent after characters of several bytes": {
			"日本/../../b", outside, `path "日本/../../b" that leaves "/srv/work" at character 7 and names "/srv/b"`,
			"日本/../b", "/srv/work/b",
		},
		"dot segments around the parent": {
			"./.././", outside, `path "./.././" that leaves "/srv/work" at character 3 and names "/srv"`,
			"././", base,
		},
		"doubled slashes around the parent": {
			"a//..//..", outside, `path "a//..//.." that leaves "/srv/work" at character 8 and names "/srv"`,
			"a//..//b", "/srv/work/b",
		},
		"sibling that starts like base": {
			"../work-outside/a", outside, `path "../work-outside/a" that leaves "/srv/work" at character 1 and names "/srv/work-outside/a"`,
			"../work/a", "/srv/work/a",
		},
		"out of the root and back": {
			strings.Repeat("../", 4) + "etc/passwd", outside,
			`path "../../../../etc/passwd" that leaves "/srv/work" at character 1 and names "/etc/passwd"`,
			strings.Repeat("../", 4) + "srv/work/passwd", "/srv/work/passwd",
		},
		"absolute elsewhere": {
			"/etc/passwd", outside, `path "/etc/passwd" that is absolute by the / at character 1 and names "/etc/passwd"`,
			"/srv/work/passwd", "/srv/work/passwd",
		},
		"absolute sibling": {
			"/srv/work2", outside, `path "/srv/work2" that is absolute by the / at character 1 and names "/srv/work2"`,
			"/srv/work/2", "/srv/work/2",
		},
		"absolute that climbs": {
			"/srv/work/../x", outside, `path "/srv/work/../x" that is absolute by the / at character 1 and names "/srv/x"`,
			"/srv/work/x/..", base,
		},
		"absolute in another case": {
			"/SRV/work/x", outside, `path "/SRV/work/x" that is absolute by the / at character 1 and names "/SRV/work/x"`,
			"/srv/work/X", "/srv/work/X",
		},
		"root": {
			"/", outside, `path "/" that is absolute by the / at character 1 and names "/"`,
			"", base,
		},
		"two leading slashes": {
			"//srv/work/a", outside, `path "//srv/work/a" that has a second / at character 2 and names "//srv/work/a"`,
			"///srv/work/a", "/srv/work/a",
		},
		"backslash parent": {
			`..\..\x`, invalid, `path "..\\..\\x" with a backslash at character 3`,
			"a/../x", "/srv/work/x",
		},
		"drive": {
			`C:\x`, invalid, `path "C:\\x" with a backslash at character 3`,
			"C:/x", "/srv/work/C:/x",
		},
		"NUL": {
			"a\x00/../../x", invalid, `path "a\x00/../../x" with the control character U+0000 at character 2`,
			"a0/../x", "/srv/work/x",
		},
		"line feed": {
			"é\nINFO all is well", invalid, `path "é\nINFO all is well" with the control character U+000A at character 2`,
			"é INFO all is well", "/srv/work/é INFO all is well",
		},
		"escape": {
			"\x1b[2J", invalid, `path "\x1b[2J" with the control character U+001B at character 1`,
			"[2J", "/srv/work/[2J",
		},
		"delete": {
			"a\x7f", invalid, `path "a\x7f" with the control character U+007F at character 2`,
			"a~", "/srv/work/a~",
		},
		"C1 control": {
			"a\u0085b", invalid, `path "a\u0085b" with the control character U+0085 at character 2`,
			"a\u00a0b", "/srv/work/a\u00a0b",
		},
		"stray byte": {
			"a/\xff", invalid, `path "a/\xff" with the byte 0xFF, which is not UTF-8, at character 3`,
			"a/\ufffd", "/srv/work/a/\ufffd",
		},
		"overlong slash": {
			"..\xc0\xafx", invalid, `path "..\xc0\xafx" with the byte 0xC0, which is not UTF-8, at character 3`,
			"..\u00afx", "/srv/work/..\u00afx",
		},
		"surrogate": {
			"\xed\xa0\x80", invalid, `path "\xed\xa0\x80" with the byte 0xED, which is not UTF-8, at character 1`,
			"\xed\x9f\xbf", "/srv/work/\ud7ff",
		},
		"long name": {
			"ab/" + strings.Repeat("é", 128), invalid,
			`path "ab/` + strings.Repeat("é", 58) + `"… (259 bytes) with a name of 256 bytes at character 4`,
			"ab/" + strings.Repeat("é", 127), "/srv/work/ab/" + strings.Repeat("é", 127),
		},
		"long path that comes back": {
			strings.Repeat("a/../", 819) + "b", invalid,
			`path "` + strings.Repeat("a/../", 24) + `"… (4096 bytes) of 4096 bytes`,
			strings.Repeat("a/../", 818) + "b", "/srv/work/b",
		},
		"long only after joining": {
			strings.Repeat("a/", 2043) + "b", invalid,
			`path "` + strings.Repeat("a/", 60) + `"… (4087 bytes) of 4087 bytes below "/srv/work"`,
			strings.Repeat("a/", 2042) + "b", "/srv/work/" + strings.Repeat("a/", 2042) + "b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := guestpath.Resolve(base, c.attack)
			if got != "" {
				t.Errorf("a refusal comes with the path %q", got)
			}
			wantRefusal(t, err, c.code, c.found)
			if got, err := guestpath.Resolve(base, c.allowed); err != nil || got != c.resolvesTo {
				t.Errorf("Resolve(%q) = %q, %v; want %q", c.allowed, got, err, c.resolvesTo)
			}
		})
	}
}

func TestWhatOnlyLooksLikeAnAttackIsAName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"%2e%2e", "%2e%2e%2fx", "..%00", "．．", "‥", "․․", "a∕b", "a⁄b", "a／b", "a＼b", "\u202etxt.exe", "\u200b", "\ufeff",
		"~", "~root", "$HOME", "${IFS}", "`id`", "-rf", "--", "*", "?", "a;b", "a|b", "'", `"`, " ", "CON", "c:x", "..a", "a..", "....",
	} {
		if got, err := guestpath.Resolve(base, name); err != nil || got != base+"/"+name {
			t.Errorf("Resolve(%q) = %q, %v", name, got, err)
		}
	}
}

func TestDeepPathResolves(t *testing.T) {
	t.Parallel()
	deep := strings.TrimSuffix(strings.Repeat("d/", 2000), "/")
	if got, err := guestpath.Resolve("/", deep); err != nil || got != "/"+deep {
		t.Errorf("a path of 2000 levels: %d bytes, %v", len(got), err)
	}
	if n := len(guestpath.Ancestors("/", "/"+deep)); n != 2000 {
		t.Errorf("%d ancestors, want 2000", n)
	}
}

func TestRootConfinesEveryPathButTwoSlashes(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"": "/", "a": "/a", "/a": "/a", "..": "/", "../../a/": "/a", "///a": "/a"} {
		if got, err := guestpath.Resolve("/", path); err != nil || got != want {
			t.Errorf("Resolve(/, %q) = %q, %v; want %q", path, got, err, want)
		}
	}
	_, err := guestpath.Resolve("/", "//a")
	wantRefusal(t, err, sandbox.CodePathOutside, `path "//a" that has a second / at character 2 and names "//a"`)
}

func TestWritingAndRemovingNeverNameBaseItself(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", ".", "./", "a/..", "/srv/work", "/srv/work/", "../work"} {
		if got, err := guestpath.Resolve(base, path); err != nil || got != base {
			t.Errorf("Resolve(%q) = %q, %v; want base", path, got, err)
		}
		got, err := guestpath.ResolveBelow(base, path)
		if got != "" || !errors.Is(err, sandbox.CodePathOutside) {
			t.Errorf("ResolveBelow(%q) = %q, %v; want a refusal", path, got, err)
		}
	}
	_, err := guestpath.ResolveBelow("/srv/work/", "a/..")
	wantRefusal(t, err, sandbox.CodePathOutside, `path "a/.." that names the directory itself`)
	if got, err := guestpath.ResolveBelow(base, "a"); err != nil || got != "/srv/work/a" {
		t.Errorf("ResolveBelow(a) = %q, %v", got, err)
	}
	if _, err := guestpath.ResolveBelow(base, "../a"); !errors.Is(err, sandbox.CodePathOutside) {
		t.Errorf("ResolveBelow(../a): %v", err)
	}
}

func TestWorkingDirectoryStaysAtOrBelowTheStorageBase(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{".": base, "": base, "a/b/": "/srv/work/a/b", "/srv/work/a": "/srv/work/a"} {
		if got, err := guestpath.WorkDir(base, dir); err != nil || got != want {
			t.Errorf("WorkDir(%q) = %q, %v; want %q", dir, got, err, want)
		}
	}
	_, err := guestpath.WorkDir(base, "/abs")
	wantRefusal(t, err, sandbox.CodePathOutside, `working directory "/abs" that is absolute by the / at character 1 and names "/abs"`)
	_, err = guestpath.WorkDir(base, "a/../..")
	wantRefusal(t, err, sandbox.CodePathOutside, `working directory "a/../.." that leaves "/srv/work" at character 6 and names "/srv"`)
	_, err = guestpath.WorkDir(base, `/srv/work\a`)
	wantRefusal(t, err, sandbox.CodePathInvalid, `working directory "/srv/work\\a" with a backslash at character 10`)
}

func TestBaseIsAbsoluteAndWrittenInOneWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ bad, found, allowed string }{
		{"", `base directory "" without a / at character 1`, "/"},
		{".", `base directory "." without a / at character 1`, "/..."},
		{"work", `base directory "work" without a / at character 1`, "/work"},
		{"C:/work", `base directory "C:/work" without a / at character 1`, "/C:/work"},
		{"/work/", `base directory "/work/" with a needless slash at character 6`, "/work"},
		{"//work", `base directory "//work" with a needless slash at character 2`, "/work"},
		{"//", `base directory "//" with a needless slash at character 2`, "/"},
		{"/a//b", `base directory "/a//b" with a needless slash at character 4`, "/a/b"},
		{"/a/./b", `base directory "/a/./b" with a . segment at character 4`, "/a/.b"},
		{"/é/../b", `base directory "/é/../b" with a .. segment at character 4`, "/é/..b"},
		{"/a\x00", `base directory "/a\x00" with the control character U+0000 at character 3`, "/a0"},
		{`/a\b`, `base directory "/a\\b" with a backslash at character 3`, "/a:b"},
		{"/\xff", `base directory "/\xff" with the byte 0xFF, which is not UTF-8, at character 2`, "/ÿ"},
		{
			"/" + strings.Repeat("a", 256),
			`base directory "/` + strings.Repeat("a", 119) + `"… (257 bytes) with a name of 256 bytes at character 2`,
			"/" + strings.Repeat("a", 255),
		},
	} {
		wantRefusal(t, guestpath.ValidateBase(c.bad), sandbox.CodePathInvalid, c.found)
		if err := guestpath.ValidateBase(c.allowed); err != nil {
			t.Errorf("ValidateBase(%q): %v", c.allowed, err)
		}
	}
}

func TestResolveRefusesABaseThatConfinesNothing(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", ".", "..", "work", `C:\work`, "/a\x00b", "/\xff", strings.Repeat("/a", 2048)} {
		if got, err := guestpath.Resolve(bad, "a"); !errors.Is(err, sandbox.CodePathInvalid) || got != "" {
			t.Errorf("Resolve(%q, a) = %q, %v", bad, got, err)
		}
	}
	// A base in another spelling still confines to the directory it names.
	if got, err := guestpath.Resolve("/srv/x/../work/", "a"); err != nil || got != "/srv/work/a" {
		t.Errorf("unclean base: %q, %v", got, err)
	}
}

func TestRelativeComparesWholeSegments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, base, rel string
		ok              bool
	}{
		{"/a/b", "/a", "b", true},
		{"/a", "/a/", "", true},
		{"/ab", "/a", "", false},
		{"/x", "/", "x", true},
		{"/", "/", "", true},
		{"//x", "/", "", false},
		{"//x", "//", "x", true},
		{"//a/b", "/a", "", false},
		{"/a/b", "//a", "", false},
		{"a", "/", "", false},
		{"a", ".", "a", true},
		{"/a", ".", "", false},
		{"..", ".", "", false},
		{"../a", "", "", false},
		{"..a", "", "..a", true},
		{"../a", "..", "a", true},
		{"../..", "..", "", false},
		{"../../a", "..", "", false},
	} {
		if rel, ok := guestpath.Relative(c.path, c.base); rel != c.rel || ok != c.ok {
			t.Errorf("Relative(%q, %q) = %q, %v; want %q, %v", c.path, c.base, rel, ok, c.rel, c.ok)
		}
	}
}

func TestAncestorsStartAboveBase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		base, path string
		want       []string
	}{
		{base, "/srv/work/a/b", []string{"/srv", "/srv/work", "/srv/work/a", "/srv/work/a/b"}},
		{base, base, []string{"/srv", "/srv/work"}},
		{"/srv/work/", "/srv/./work//a/", []string{"/srv", "/srv/work", "/srv/work/a"}},
		{"/", "/a/b", []string{"/a", "/a/b"}},
		{"/", "/", nil},
		{base, "/etc/passwd", []string{"/srv", "/srv/work"}},
		{base, "/srv/work-outside", []string{"/srv", "/srv/work"}},
	} {
		if got := guestpath.Ancestors(c.base, c.path); !slices.Equal(got, c.want) {
			t.Errorf("Ancestors(%q, %q) = %q, want %q", c.base, c.path, got, c.want)
		}
	}
}

func TestCleanKeepsExactlyTwoLeadingSlashes(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"": ".", "/": "/", "//": "//", "///": "/", "////a": "/a", "//a": "//a", "//a/../..": "//", "//../a": "//a",
		"/a//b/./c/..": "/a/b", "a/..": ".", "../a": "../a", "a//": "a",
	} {
		if got := guestpath.Clean(path); got != want {
			t.Errorf("Clean(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestLongHostilePathIsEchoedShort(t *testing.T) {
	t.Parallel()
	for _, path := range []string{strings.Repeat("../", 1<<20), strings.Repeat("\x00", 1<<20), "../" + strings.Repeat("x\u202e/", 800)} {
		_, err := guestpath.Resolve(base, path)
		if err == nil {
			t.Fatal("accepted")
		}
		if n := len(err.Error()); n > 1500 {
			t.Errorf("the refusal of %d bytes has %d", len(path), n)
		}
		if strings.ContainsAny(err.Error(), "\x00\u202e") {
			t.Errorf("the refusal repeats invisible characters: %q", err)
		}
	}
}
