package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEachDifferentBuildBecomesAHigherVersion(t *testing.T) {
	t.Parallel()
	m := testMirror(t)
	first, fresh, err := m.install(program(t, "one"))
	if err != nil || !fresh || first != "0.1.1000" {
		t.Fatalf("first install: %q, %t, %v", first, fresh, err)
	}
	// The clock has not moved on, and still the version grows.
	second, fresh, err := m.install(program(t, "two"))
	if err != nil || !fresh || second != "0.1.1001" {
		t.Fatalf("second install: %q, %t, %v", second, fresh, err)
	}
	for version, want := range map[string]string{first: "one", second: "two"} {
		got, err := os.ReadFile(filepath.Join(m.dir, version, m.target, executable("terraform-provider-sandbox_v"+version)))
		if err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", version, got, err, want)
		}
	}
}

func TestTheSameBuildIsNotInstalledTwice(t *testing.T) {
	t.Parallel()
	m := testMirror(t)
	first, _, err := m.install(program(t, "one"))
	if err != nil {
		t.Fatal(err)
	}
	again, fresh, err := m.install(program(t, "one"))
	if err != nil || fresh || again != first {
		t.Errorf("got %q, %t, %v; want %q and nothing new", again, fresh, err, first)
	}
}

func TestFailedInstallLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	m := testMirror(t)
	if _, _, err := m.install(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Fatal("a binary that is not there was installed")
	}
	if entries, err := os.ReadDir(m.dir); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestPruneKeepsTheNewestAndWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	m := testMirror(t)
	for _, content := range []string{"one", "two", "three"} {
		if _, _, err := m.install(program(t, content)); err != nil {
			t.Fatal(err)
		}
	}
	others := []string{"0.2.0", "0.1.07", "0.1.x", "notes"}
	for _, name := range others {
		if err := os.Mkdir(filepath.Join(m.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := m.prune(1)
	if err != nil || !slices.Equal(removed, []string{"0.1.1000", "0.1.1001"}) {
		t.Fatalf("removed %v, %v", removed, err)
	}
	for _, name := range append(others, "0.1.1002") {
		if _, err := os.Stat(filepath.Join(m.dir, name)); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
}

func TestAddressIsReadFromWhatTheCommandPrints(t *testing.T) {
	t.Parallel()
	const printed = "\nProviders required by configuration:\n.\n└── provider[example.org/sandbox-iac/sandbox]\n"
	if got, err := parseAddress(printed); err != nil || got != "example.org/sandbox-iac/sandbox" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []string{"", "provider[", "provider[sandbox]", "provider[../../x]", "provider[/a/b]"} {
		if got, err := parseAddress(bad); err == nil {
			t.Errorf("%q was read as %q", bad, got)
		}
	}
}

func TestImpliedFolderFollowsTheSystem(t *testing.T) {
	t.Parallel()
	home := func() (string, error) { return "h", nil }
	env := func(string) string { return "appdata" }
	for goos, want := range map[string]string{
		"linux":   filepath.Join("h", ".terraform.d", "plugins"),
		"darwin":  filepath.Join("h", ".terraform.d", "plugins"),
		"windows": filepath.Join("appdata", "terraform.d", "plugins"),
	} {
		if got, err := impliedDir(goos, env, home); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", goos, got, err, want)
		}
	}
	if _, err := impliedDir("windows", func(string) string { return "" }, home); err == nil || !strings.Contains(err.Error(), "-dir") {
		t.Errorf("without APPDATA: %v", err)
	}
}

func testMirror(t *testing.T) mirror {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "example.org", "sandbox-iac", "sandbox")
	return mirror{dir: dir, target: "plan9_mips", now: func() time.Time { return time.Unix(1000, 0) }}
}

func program(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
