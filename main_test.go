package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestVersionIsPrintedAndNothingIsServed(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-version"}, &out); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(out.String()); got != buildVersion() || got == "" {
		t.Errorf("printed %q, want %q", got, buildVersion())
	}
}

func TestUnknownFlagIsRefused(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), []string{"-serve"}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "-serve") {
		t.Errorf("got %v, want an error that names the flag", err)
	}
}

func TestAProviderEndsWithTheTerraformThatStartedIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parents []int
		ends    bool
	}{
		"it is there": {[]int{7, 7, 7}, false},
		"it is gone":  {[]int{7, 7, 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			ticks, asked, ended := make(chan time.Time, len(c.parents)), 0, false
			for range len(c.parents) - 1 {
				ticks <- time.Time{}
			}
			outlived(ctx, func() int {
				if asked++; asked == len(c.parents) {
					cancel()
				}
				return c.parents[asked-1]
			}, ticks, func() { ended = true })
			if ended != c.ends {
				t.Errorf("ended: %v", ended)
			}
		})
	}
}

// Terraform expands a source without a host to this host; an address with
// another one would not match what -debug prints for TF_REATTACH_PROVIDERS.
func TestAddressIsWhatTerraformMakesOfTheSource(t *testing.T) {
	t.Parallel()
	terraform, err := exec.LookPath("terraform")
	if err != nil || os.Getenv("TF_ACC") == "" {
		t.Skip("TF_ACC is not set, or there is no Terraform to ask")
	}
	dir := t.TempDir()
	const config = `
terraform {
  required_providers { sandbox = { source = "sandbox-iac/sandbox" } }
}
`
	if err := os.WriteFile(dir+"/main.tf", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), terraform, "providers")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(string(out), "provider["+address()+"]") {
		t.Errorf("the provider calls itself %s, Terraform says:\n%s", address(), out)
	}
}
