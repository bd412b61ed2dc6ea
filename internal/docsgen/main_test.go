package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestTheDecisionPageNamesEveryCheckAndEveryCode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "decision.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for _, c := range sandbox.Codes() {
		if !strings.Contains(text, "| `"+string(c)+"` | "+c.Summary()+" | "+c.Meaning()+" |") {
			t.Errorf("no row for %s", c)
		}
	}
	for _, check := range policy.CheckNames() {
		if !strings.Contains(text, ". "+check+"\n") {
			t.Errorf("no line for check %q", check)
		}
	}
}
