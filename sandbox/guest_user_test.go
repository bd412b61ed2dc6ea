package sandbox_test

import (
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestGuestUserIsReadAsEnginesDo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		root, other, group bool
		said               string
	}{
		"":             {said: "a user nobody knows"},
		"root":         {root: true, said: `root ("root")`},
		"0":            {root: true, said: `root ("0")`},
		"00":           {root: true, said: `root ("00")`},
		"+0":           {root: true, said: `root ("+0")`},
		"-0":           {root: true, said: `root ("-0")`},
		":0":           {root: true, group: true, said: `root (":0")`},
		"0:0":          {root: true, group: true, said: `root ("0:0")`},
		":1000":        {root: true, said: `root (":1000")`},
		"root:app":     {root: true, said: `root ("root:app")`},
		"1":            {other: true, said: "uid 1"},
		"01000":        {other: true, said: "uid 1000"},
		"65534:65534":  {other: true, said: "uid 65534"},
		"1000:0":       {other: true, group: true, said: "uid 1000"},
		"1000:+00":     {other: true, group: true, said: "uid 1000"},
		"1000:root":    {other: true, group: true, said: "uid 1000"},
		"1000:":        {other: true, said: "uid 1000"},
		"2147483647":   {other: true, said: "uid 2147483647"},
		"nobody":       {said: `user "nobody", which may or may not be root`},
		"Root":         {said: `user "Root", which may or may not be root`},
		"0x0":          {said: `user "0x0", which may or may not be root`},
		"0_0":          {said: `user "0_0", which may or may not be root`},
		"nobody:0":     {group: true, said: `user "nobody:0", which may or may not be root`},
		"app:root:x":   {said: `user "app:root:x", which may or may not be root`},
		`HOST\app`:     {said: `user "HOST\\app", which may or may not be root`},
		"root.example": {said: `user "root.example", which may or may not be root`},
	} {
		u, err := sandbox.ParseGuestUser(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if u.IsRoot() != want.root || u.IsOther() != want.other || u.RootGroup() != want.group || u.String() != want.said {
			t.Errorf("%q: root %t, other %t, root's group %t, %s", text, u.IsRoot(), u.IsOther(), u.RootGroup(), u)
		}
	}
}

func TestTextThatStartsNoProgramIsNoUser(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"-1", "2147483648", "4294967296", "99999999999999999999", "-99999999999999999999", "1000:-1", "1000:2147483648",
		" ", " 0", "0\n", "a b", "\x00", "usér", "٠", "\u202e0", strings.Repeat("a", 257),
	} {
		u, err := sandbox.ParseGuestUser(text)
		if err == nil {
			t.Errorf("%q is a user", text)
		}
		if u.IsRoot() || u.IsOther() {
			t.Errorf("%q is decided", text)
		}
	}
}

func TestMeasuredUserIsDecided(t *testing.T) {
	t.Parallel()
	if u := sandbox.MeasuredUser(0); !u.IsRoot() {
		t.Error("uid 0 is not root")
	}
	if u := sandbox.MeasuredUser(1654); !u.IsOther() || u.String() != "uid 1654" {
		t.Errorf("uid 1654 is %s", u)
	}
	if u := sandbox.MeasuredUser(-1); u.IsRoot() || u.IsOther() {
		t.Error("uid -1 is decided")
	}
}

func TestUsersAreAlikeWhenEveryRuleAnswersTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b  string
		alike bool
	}{
		{"0", "root", true},
		{"0", "00", true},
		{"0", "0:0", false},
		{"1000", "01000:1000", true},
		{"1000", "1001", false},
		{"1000", "1000:0", false},
		{"app", "app", true},
		{"app", "app2", false},
		{"app", "0", false},
		{"", "app", false},
	} {
		a, errA := sandbox.ParseGuestUser(c.a)
		b, errB := sandbox.ParseGuestUser(c.b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if a.Alike(b) != c.alike || b.Alike(a) != c.alike {
			t.Errorf("%q and %q: alike %t", c.a, c.b, a.Alike(b))
		}
	}
}

func FuzzGuestUserIsNeverTwoThings(f *testing.F) {
	for _, text := range []string{"", "0", "root", "1000:0", "-1", "app", ":0", "4294967296", "0:root"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := sandbox.ParseGuestUser(text)
		if u.IsRoot() && u.IsOther() {
			t.Errorf("%q is root and is not", text)
		}
		if (err != nil || text == "") && (u.IsRoot() || u.IsOther()) {
			t.Errorf("%q is decided", text)
		}
		if uid, decided := u.UID(); decided && (uid < 0 || uid > 1<<31-1) {
			t.Errorf("%q is uid %d", text, uid)
		}
		name, _, _ := strings.Cut(text, ":")
		if u.IsRoot() && strings.Trim(name, "+-0") != "" && name != "root" {
			t.Errorf("%q is root", text)
		}
	})
}
