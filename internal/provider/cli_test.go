package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	tfaddr "github.com/hashicorp/terraform-registry-address"
)

// cliDeadline bounds one command of the command line.
const cliDeadline = 2 * time.Minute

// cli is the real terraform, or tofu, in a directory of its own, talking to a
// provider that runs in the test's process.
type cli struct {
	binary string
	dir    string
	env    []string
}

// address is the provider's whole address, so that terraform and tofu, which
// expand a short one differently, mean the same.
const address = string(tfaddr.DefaultProviderRegistryHost) + "/sandbox-iac/" + TypeName

// requirements says where the provider comes from.
const requirements = `terraform {
  required_providers {
    sandbox = { source = "` + address + `" }
  }
}
`

// newCLI writes files into an empty directory and initialises it.
func newCLI(t *testing.T, p *sandboxProvider, files map[string]string) *cli {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("set TF_ACC=1 to run tests through the real command line")
	}
	binary := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if binary == "" {
		binary = "terraform"
	}
	c := &cli{binary: binary, dir: t.TempDir()}
	c.serve(t, p)
	c.write(t, map[string]string{"requirements.tf": requirements})
	c.write(t, files)
	if out, code := c.run(t, "init", "-input=false"); code != 0 {
		t.Fatalf("init: %s", out)
	}
	return c
}

// serve puts a provider that was never configured behind the commands to come, and
// others by their addresses.
func (c *cli) serve(t *testing.T, p provider.Provider, others ...map[string]provider.Provider) {
	t.Helper()
	all := map[string]any{address: reattach(t, address, p)}
	for _, served := range others {
		for at, other := range served {
			all[at] = reattach(t, at, other)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	c.env = []string{"TF_REATTACH_PROVIDERS=" + string(text), "TF_IN_AUTOMATION=1"}
}

func (c *cli) write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// run returns what the command printed, without colours, and its exit code.
func (c *cli) run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cliDeadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.binary, args...)
	cmd.Dir = c.dir
	cmd.Env = append(cmd.Environ(), c.env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatalf("%s %s: %v", c.binary, strings.Join(args, " "), err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// plan runs a plan and wants it to be refused or not.
func (c *cli) plan(t *testing.T, args ...string) (string, int) {
	t.Helper()
	return c.run(t, append([]string{"plan", "-no-color", "-input=false", "-detailed-exitcode"}, args...)...)
}

// reattach serves the provider over a socket until the test ends, and returns
// what the command line needs to find it.
func reattach(t *testing.T, at string, p provider.Provider) map[string]any {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	configs, closed := make(chan *plugin.ReattachConfig), make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		failed <- tf6server.Serve(at,
			func() tfprotov6.ProviderServer { return providerserver.NewProtocol6(p)() },
			tf6server.WithDebug(ctx, configs, closed), tf6server.WithGoPluginLogger(hclog.NewNullLogger()),
			tf6server.WithLoggingSink(t), tf6server.WithoutLogStderrOverride())
	}()
	t.Cleanup(func() {
		cancel()
		<-closed
	})
	var config *plugin.ReattachConfig
	select {
	case config = <-configs:
	case err := <-failed:
		t.Fatalf("serve the provider: %v", err)
	}
	return map[string]any{
		"Protocol": string(config.Protocol), "ProtocolVersion": config.ProtocolVersion, "Pid": config.Pid, "Test": config.Test,
		"Addr": map[string]string{"Network": config.Addr.Network(), "String": config.Addr.String()},
	}
}

// offline is a provider of a machine without imposed policies or files.
func offline() *sandboxProvider {
	return &sandboxProvider{
		version:  "test",
		getenv:   func(string) string { return "" },
		readFile: func(string) ([]byte, error) { return nil, os.ErrNotExist },
	}
}
