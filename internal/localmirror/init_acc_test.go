package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The whole promise, with the real command line: whatever was installed since,
// a lock file keeps working, a new folder gets the newest build, and -upgrade
// moves on.
func TestAccInitWorksWithAndWithoutALockFile(t *testing.T) {
	t.Parallel()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("TF_ACC is not set: no Terraform to try this with")
	}
	terraform := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if terraform == "" {
		terraform = "terraform"
	}
	home := t.TempDir()
	mirrorDir, err := impliedDir(runtime.GOOS, func(string) string { return home }, func() (string, error) { return home, nil })
	if err != nil {
		t.Fatal(err)
	}
	locked, unlocked := newcomersFolder(t), newcomersFolder(t)
	c := cli{terraform, home}

	install := func(binary string) string {
		var out bytes.Buffer
		if err := run(t.Context(), []string{"-dir", mirrorDir, "-cli", terraform, binary}, &out); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(out.String(), "installed ")
		version, _, _ := strings.Cut(rest, " ")
		return version
	}
	// init reads a provider without running it, so the old build need not be one.
	first := install(program(t, "an older build"))
	c.want(t, locked, first, "init")
	second := install(buildProvider(t))
	if first == second {
		t.Fatalf("both installs became %s", first)
	}
	c.want(t, locked, first, "init")
	c.want(t, unlocked, second, "init")
	c.want(t, locked, second, "init", "-upgrade")
	c.run(t, locked, "validate")
}

type cli struct{ terraform, home string }

func (c cli) want(t *testing.T, dir, version string, args ...string) {
	t.Helper()
	if out := c.run(t, dir, args...); !strings.Contains(out, "v"+version) {
		t.Errorf("terraform %v took another version than %s:\n%s", args, version, out)
	}
}

func (c cli) run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.terraform, append(args, "-no-color")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+c.home, "APPDATA="+c.home, "TF_CLI_CONFIG_FILE="+os.DevNull, "CHECKPOINT_DISABLE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("terraform %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func newcomersFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const config = `terraform {
  required_providers { sandbox = { source = "sandbox-iac/sandbox" } }
}

provider "sandbox" {}
`
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func buildProvider(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	binary := filepath.Join(t.TempDir(), executable("provider"))
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, ".")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the provider: %v\n%s", err, out)
	}
	return binary
}
