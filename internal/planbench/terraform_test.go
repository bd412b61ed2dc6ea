package planbench_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	tfaddr "github.com/hashicorp/terraform-registry-address"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/provider"
)

const (
	module  = "github.com/sandbox-iac/terraform-provider-sandbox"
	address = string(tfaddr.DefaultProviderRegistryHost) + "/sandbox-iac/" + provider.TypeName
	// deadline bounds one command.
	deadline = 10 * time.Minute
)

// terraform is the real command line with one provider.
type terraform struct {
	binary string
	env    []string
}

// command finds the command line that the acceptance tests use as well.
func command(tb testing.TB) string {
	tb.Helper()
	binary, err := exec.LookPath(cmp.Or(os.Getenv("TF_ACC_TERRAFORM_PATH"), "terraform"))
	if err != nil {
		tb.Skip("no terraform on PATH")
	}
	return binary
}

// withBinary is terraform with the provider that pkg builds. It needs no init,
// since it is told where the provider is.
func withBinary(tb testing.TB, pkg string) terraform {
	tb.Helper()
	command := command(tb)
	dir := tb.TempDir()
	run(tb, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-ldflags", "-s -w",
		"-o", filepath.Join(dir, "terraform-provider-"+provider.TypeName), pkg)
	settings := filepath.Join(dir, "cli.tfrc")
	text := "provider_installation {\n  dev_overrides {\n    \"" + address + "\" = \"" + filepath.ToSlash(dir) + "\"\n  }\n  direct {}\n}\n"
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return terraform{command, []string{"TF_CLI_CONFIG_FILE=" + settings}}
}

// silenced is t with a provider that logs nothing.
func (t terraform) silenced() terraform {
	return terraform{t.binary, append(slices.Clip(t.env),
		"TF_LOG_SDK=off", "TF_LOG_SDK_PROTO=off", "TF_LOG_SDK_FRAMEWORK=off", "TF_LOG_PROVIDER_SANDBOX=off")}
}

// withServed is terraform with the provider served by this process, for its
// profile.
func withServed(tb testing.TB) terraform {
	tb.Helper()
	command := command(tb)
	ctx, cancel := context.WithCancel(context.Background())
	configs, closed, failed := make(chan *plugin.ReattachConfig), make(chan struct{}), make(chan error, 1)
	go func() {
		failed <- tf6server.Serve(address,
			func() tfprotov6.ProviderServer { return providerserver.NewProtocol6(provider.New("bench")())() },
			tf6server.WithDebug(ctx, configs, closed), tf6server.WithGoPluginLogger(hclog.NewNullLogger()),
			tf6server.WithoutLogStderrOverride())
	}()
	tb.Cleanup(func() {
		cancel()
		<-closed
	})
	var config *plugin.ReattachConfig
	select {
	case config = <-configs:
	case err := <-failed:
		tb.Fatalf("serve the provider: %v", err)
	}
	text, err := json.Marshal(map[string]any{address: map[string]any{
		"Protocol": string(config.Protocol), "ProtocolVersion": config.ProtocolVersion, "Pid": config.Pid, "Test": config.Test,
		"Addr": map[string]string{"Network": config.Addr.Network(), "String": config.Addr.String()},
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return terraform{command, []string{"TF_CLI_CONFIG_FILE=" + os.DevNull, "TF_REATTACH_PROVIDERS=" + string(text)}}
}

// cost is what commands took.
type cost struct {
	wall time.Duration
	cpu  time.Duration // of terraform and the providers that it started
}

// measure runs one command in dir.
func (t terraform) measure(tb testing.TB, dir string, args ...string) cost {
	tb.Helper()
	began := time.Now()
	state := run(tb, append(slices.Clip(t.env), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1"),
		t.binary, append([]string{"-chdir=" + dir}, args...)...)
	return cost{time.Since(began), state.UserTime() + state.SystemTime()}
}

// run runs a command to a good end. What it prints is dropped but for what went
// wrong.
func run(tb testing.TB, env []string, name string, args ...string) *os.ProcessState {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(cmd.Environ(), env...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%v: %v\n%s", cmd.Args, err, complaints.Bytes()[:min(complaints.Len(), 2000)])
	}
	return cmd.ProcessState
}
