package acas_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

func TestNamesThatAreNoTextAreTheGuestsToTell(t *testing.T) {
	t.Parallel()
	all := []string{"plain", "a\xffb", "a\xfeb", "\xc3", "two\n\xfflines", "text-\ufffd", "-\xff", ".\xff", "..\xff"}
	for name, c := range map[string]struct {
		there, told []string // what the service lists, and what the guest tells of it
		want        error
	}{
		"all are told":             {there: all, told: all},
		"text needs nobody":        {there: []string{"plain", "ü"}},
		"one is not told":          {there: []string{"a\xffb", "c\xff"}, told: []string{"a\xffb"}, want: engine.ErrRefused},
		"one is told twice as odd": {there: []string{"a\xffb", "a\xfeb"}, told: []string{"a\xffb"}, want: engine.ErrRefused},
		"another is told":          {there: []string{"a\xffb"}, told: []string{"b\xffa"}, want: engine.ErrRefused},
		"another kind is told":     {there: []string{"a\xffb"}, told: []string{"a\xffb/"}, want: engine.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			g := w.start(t, w.engine(t), request()).Guest
			behind, err := w.behind(t)(g.ID())
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir() // which programs have from this machine, and the service from the guest
			for _, name := range c.there {
				if err := behind.WriteFile(dir+"/"+name, []byte("x")); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range c.told {
				tell(t, dir, name)
			}
			var got []string
			err = g.List(t.Context(), engine.FileRef{Path: dir}, func(info engine.Info) bool {
				got = append(got, info.Name)
				if info.Kind != sandbox.EntryFile {
					t.Errorf("%q is %v", info.Name, info.Kind)
				}
				return true
			})
			if !errors.Is(err, c.want) || c.want != nil && len(got) > 0 {
				t.Fatalf("%q, %v", got, err)
			}
			want := slices.Sorted(slices.Values(c.there))
			if slices.Sort(got); c.want == nil && !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// tell makes a file of that name, or a directory where it ends with a slash.
func tell(t *testing.T, dir, name string) {
	t.Helper()
	var err error
	if filepath.Clean(name) != name {
		err = os.Mkdir(filepath.Join(dir, name), 0o700)
	} else {
		err = os.WriteFile(filepath.Join(dir, name), nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
