package guestpath_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
)

// FuzzResolve holds every answer to what file operations rely on, by means other
// than the ones that Resolve uses itself.
func FuzzResolve(f *testing.F) {
	for _, base := range []string{"/", "/srv/work", "/srv/work/", "//srv/w", "/a/../b", "work", ""} {
		for _, path := range []string{
			"", ".", "..", "a", "a/../..", "/srv/work/x", "//srv/w/x", "../work/a", "a//b/", `a\b`, "a\x00", "\xff", "%2e%2e/x", "．．/x",
		} {
			f.Add(base, path)
		}
	}
	f.Fuzz(func(t *testing.T, base, path string) {
		got, err := guestpath.Resolve(base, path)
		if err != nil {
			if got != "" || (!errors.Is(err, sandbox.CodePathInvalid) && !errors.Is(err, sandbox.CodePathOutside)) {
				t.Fatalf("Resolve(%q, %q) = %q, %v", base, path, got, err)
			}
			if refusal := sandbox.RefusalOf(err); strings.ContainsFunc(refusal.Error(), unicode.IsControl) {
				t.Fatalf("refusal repeats a control character: %q", err)
			}
			return
		}
		root := strings.TrimSuffix(guestpath.Clean(base), "/")
		if got != root && root != "" && !strings.HasPrefix(got, root+"/") {
			t.Fatalf("Resolve(%q, %q) = %q leaves its base", base, path, got)
		}
		if len(got) > guestpath.MaxPath || !utf8.ValidString(got) || !strings.HasPrefix(got, "/") || strings.ContainsAny(got, "\\\x00") {
			t.Fatalf("Resolve(%q, %q) = %q is no guest path", base, path, got)
		}
		if segments := strings.Split(strings.TrimLeft(got, "/"), "/"); got != "/" && got != "//" {
			for _, s := range segments {
				if s == "" || s == "." || s == ".." || len(s) > guestpath.MaxSegment {
					t.Fatalf("Resolve(%q, %q) = %q has the segment %q", base, path, got, s)
				}
			}
		}
		if again, err := guestpath.Resolve(base, got); err != nil || again != got {
			t.Fatalf("Resolve(%q, %q) = %q, and again %q, %v", base, path, got, again, err)
		}
		below, err := guestpath.ResolveBelow(base, path)
		if isBase := got == guestpath.Clean(base); isBase != (err != nil) || (!isBase && below != got) {
			t.Fatalf("ResolveBelow(%q, %q) = %q, %v beside %q", base, path, below, err, got)
		}
		chain := guestpath.Ancestors(base, got)
		if !slices.IsSortedFunc(chain, func(a, b string) int { return len(a) - len(b) }) {
			t.Fatalf("Ancestors(%q, %q) = %q", base, got, chain)
		}
		if whole := "/" + strings.TrimLeft(got, "/"); whole != "/" && (len(chain) == 0 || chain[len(chain)-1] != whole) {
			t.Fatalf("Ancestors(%q, %q) = %q does not end in the path", base, got, chain)
		}
	})
}

func FuzzArtifactName(f *testing.F) {
	for _, name := range []string{
		"", "a", "a/b", "../a", "/a", `a\b`, "con .txt", "CONIN$", "lpt².x", "a. .", "\x00", "\xed\xa0\x80", "ΑΣ.txt", "İ", "\u0958", "J\u030c",
		strings.Repeat("x", 256), "I\u0323\u0307",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		portable := guestpath.PortableName(name)
		if again := guestpath.PortableName(portable); again != portable {
			t.Fatalf("PortableName(%q) = %q, and again %q", name, portable, again)
		}
		for _, candidate := range []string{portable, guestpath.NormalizeArtifactName(portable)} {
			if err := guestpath.ValidateArtifactName(candidate); (err != nil) != (len(candidate) > guestpath.MaxArtifactName) {
				t.Fatalf("portable name %q: %v", candidate, err)
			}
		}
		err := guestpath.ValidateArtifactName(name)
		if err != nil {
			if strings.ContainsFunc(err.Error(), unicode.IsControl) {
				t.Fatalf("refusal repeats a control character: %q", err)
			}
			return
		}
		normal := guestpath.NormalizeArtifactName(name)
		if guestpath.CollisionKey(name) != guestpath.CollisionKey(normal) {
			t.Fatalf("%q and its normal form do not collide", name)
		}
		// A valid name lands below any directory, unless guests refuse a character
		// that sinks accept (U+007F to U+009F).
		if strings.ContainsFunc(name, unicode.IsControl) {
			return
		}
		if got, err := guestpath.ResolveBelow("/sink", name); err != nil || got != "/sink/"+name {
			t.Fatalf("ResolveBelow(/sink, %q) = %q, %v", name, got, err)
		}
	})
}

// FuzzCollisionKey holds the key to what its callers rely on: names that a file system
// takes for one have one key, and a key has no other.
func FuzzCollisionKey(f *testing.F) {
	for _, name := range []string{
		"a/B", "\u00e9", "e\u0301", "stra\u00dfe", "STRA\u1e9eE", "\u0130", "i\u0307", "\u0131", "ΑΣ", "ΑΣ.txt", "Σ/Σ", "ά\u0345", "\ufb01",
		"I\u0323\u0307", "J\u030c", "\u212a", "con ", "a.", "x//y", "./x", "\u0958", "\u1f80", "ǅ", "\U00010400",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if !utf8.ValidString(name) {
			return
		}
		key := guestpath.CollisionKey(name)
		for form, other := range map[string]string{
			"NFC": norm.NFC.String(name), "NFD": norm.NFD.String(name), "itself": key, "its decomposed key": norm.NFD.String(key),
		} {
			if got := guestpath.CollisionKey(other); got != key {
				t.Errorf("%+q has the key %+q, and its %s %+q has %+q", name, key, form, other, got)
			}
		}
		if !norm.NFC.IsNormalString(key) || !utf8.ValidString(key) {
			t.Errorf("the key %+q of %+q is not in NFC", key, name)
		}
		for _, r := range key {
			if lower := unicode.ToLower(r); lower != r && r != 'Σ' && !unicode.Is(unicode.Mn, r) {
				t.Errorf("the key %+q of %+q has the capital %+q", key, name, r)
			}
		}
		portable := guestpath.PortableName(name)
		if again := guestpath.PortableName(portable); again != portable {
			t.Errorf("%+q is portable as %+q, and that as %+q", name, portable, again)
		}
	})
}
