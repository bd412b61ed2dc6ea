package cgroup

import (
	"os"
	"path/filepath"
	"testing"
)

// A group of version 2 as its files look; the kernel's own rule, that controllers
// are not handed on from a group with processes, is not played.
func fakeGroup(t *testing.T, procs string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(procs), 0o600); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(dir, leaf)
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(below, "cgroup.procs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAHostAloneInItsGroupStepsAside(t *testing.T) {
	t.Parallel()
	dir := fakeGroup(t, "4711\n")
	if err := stepAside(dir, 4711); err != nil {
		t.Fatal(err)
	}
	if moved, err := os.ReadFile(filepath.Join(dir, leaf, "cgroup.procs")); err != nil || string(moved) != "4711" {
		t.Errorf("the leaf was given %q, %v", moved, err)
	}
}

func TestOthersProcessesAreNotMoved(t *testing.T) {
	t.Parallel()
	for name, procs := range map[string]string{"another beside": "4711\n4712\n", "another alone": "4712\n", "nobody": ""} {
		dir := fakeGroup(t, procs)
		if err := stepAside(dir, 4711); err == nil {
			t.Errorf("%s: it stepped aside", name)
		}
		if moved, err := os.ReadFile(filepath.Join(dir, leaf, "cgroup.procs")); err != nil || len(moved) > 0 {
			t.Errorf("%s: the leaf was given %q, %v", name, moved, err)
		}
	}
}

func TestAHostThatSteppedAsideKeepsItsPlace(t *testing.T) {
	t.Parallel()
	for group, want := range map[string]string{
		"/user.slice/run-1.scope":         "/user.slice/run-1.scope",
		"/user.slice/run-1.scope/" + leaf: "/user.slice/run-1.scope",
		"/" + leaf + "/below":             "/" + leaf + "/below",
	} {
		if got := besideLeaf(group); got != want {
			t.Errorf("%s stands beside %s, want %s", group, got, want)
		}
	}
}
