package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
)

// endsOnceItSpoke is an output that ends the command with its first line.
type endsOnceItSpoke struct{ end context.CancelFunc }

func (w endsOnceItSpoke) Write(b []byte) (int, error) { w.end(); return len(b), nil }

// Whoever puts a link there does not choose which file is written.
func TestTheCertificateReplacesALinkAndNotWhatItLeadsTo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	precious, link, old := filepath.Join(dir, "precious"), filepath.Join(dir, "link.pem"), filepath.Join(dir, "old.pem")
	for _, name := range []string{precious, old} {
		if err := os.WriteFile(name, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(precious, link); err != nil && runtime.GOOS == "windows" {
		t.Skip("no right to make links:", err)
	} else if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{link, old} {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		var errs strings.Builder
		env := cli.Env{Stdin: strings.NewReader(""), Stdout: endsOnceItSpoke{end}, Stderr: &errs}
		if code := cli.Main(ctx, env, []string{"emulate", "--ca-out", name}); code != cli.ExitAllowed {
			t.Fatalf("%d: %s", code, errs.String())
		}
		if text, err := os.ReadFile(name); err != nil || !strings.Contains(string(text), "BEGIN CERTIFICATE") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
		t.Errorf("what the link led to is %q, %v", text, err)
	}
}
