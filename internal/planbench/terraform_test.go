package planbench_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/provider"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/terraformtest"
)

const (
	module  = terraformtest.Module
	address = terraformtest.Address
)

// terraform is the real command line with one provider.
type terraform struct {
	binary string
	env    []string
}

// withBinary is terraform with the provider that pkg builds. It needs no init,
// since it is told where the provider is.
func withBinary(tb testing.TB, pkg string) terraform {
	tb.Helper()
	command := terraformtest.Command(tb)
	return terraform{command, terraformtest.Overrides(tb, terraformtest.Build(tb, pkg))}
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
	command := terraformtest.Command(tb)
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
	state := terraformtest.Run(tb, append(slices.Clip(t.env), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1"),
		t.binary, append([]string{"-chdir=" + dir}, args...)...)
	return cost{time.Since(began), state.UserTime() + state.SystemTime()}
}
