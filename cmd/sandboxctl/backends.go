package main

import (
	"context"
	"os"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/acas"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/wasm"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// backends are those that need nothing installed, and those that say on each
// machine what they need.
func backends() map[string]cli.Backend {
	return map[string]cli.Backend{
		acas.Name:    {Declarations: acas.Declarations, Reach: inGroup},
		process.Name: onLinux(process.RuntimeBubblewrap),
		wasm.Name: {
			Declarations: wasm.Declarations, Start: startWASM, Programs: conformance.JavaScript(),
			FirstStart: "; the first start on a machine compiles the guest, which takes a while",
		},
	}
}

// inGroup is the acas backend over that group.
func inGroup(r cli.Remote) cli.Backend {
	config := acas.Config{
		Subscription: r.Group.Subscription, ResourceGroup: r.Group.ResourceGroup, Group: r.Group.Name,
		Location: r.Service.Location, Endpoint: r.Service.DataEndpoint, ARMEndpoint: r.Service.ARMEndpoint,
		RootCAs: r.Service.RootCAs, Credential: r.Service.Credential, GroupHasNoIdentity: r.NoIdentity,
	}
	return cli.Backend{
		Declarations: acas.Declarations,
		Probe: func(ctx context.Context) (sandbox.Declarations, error) {
			b, err := acas.New(config) //nolint:contextcheck // it sends nothing
			if err != nil {
				return sandbox.Declarations{}, err
			}
			return b.Declarations(), b.Close(ctx)
		},
		Except: notInGroup(),
		Start: func(context.Context, func(string)) (router.Backend, func(context.Context) error, error) {
			b, err := acas.New(config) //nolint:contextcheck // it sends nothing yet
			if err != nil {
				return nil, nil, err
			}
			return b, b.Close, nil
		},
	}
}

// sandboxUsers are whom sandboxes run as under a command that root runs: the end
// of the range that systemd's table of user ids leaves unused.
var sandboxUsers = process.Users{First: 2147400000, Count: 1000}

// onLinux is the process backend with that runtime and, on its default one, the
// others beside it.
func onLinux(runtime process.Runtime) cli.Backend {
	b := cli.Backend{
		Declarations: process.Declarations,
		Probe: func(ctx context.Context) (sandbox.Declarations, error) {
			report, err := process.Probe(ctx, processConfig(runtime, nil))
			return report.Declarations, err
		},
		Start: func(ctx context.Context, notice func(string)) (router.Backend, func(context.Context) error, error) {
			return startProcess(ctx, processConfig(runtime, notice))
		},
		Watch: func(
			ctx context.Context, notice func(string), observer func(string) egress.Observer,
		) (router.Backend, func(context.Context) error, error) {
			config := processConfig(runtime, notice)
			config.Egress.Observer = observer
			return startProcess(ctx, config)
		},
		StartIn: func(ctx context.Context, notice func(string), e *conformance.Egress) (router.Backend, func(context.Context) error, error) {
			config := processConfig(runtime, notice)
			config.Egress = process.EgressConfig{
				Resolver: e.World, RootsPEM: e.World.RootPEM(), Connect: e.World.Connect, Observer: e.Observed.Of,
			}
			e.EndProxy = conformance.EndSockets("sandbox-egress-")
			return startProcess(ctx, config)
		},
		Bounds: processBounds(), Holds: "sandbox-host-",
	}
	if runtime == process.RuntimeBubblewrap {
		b.Runtimes = map[string]cli.Backend{
			string(process.RuntimeBubblewrap): b, string(process.RuntimeGVisor): onLinux(process.RuntimeGVisor),
		}
	}
	return b
}

func startProcess(ctx context.Context, config process.Config) (router.Backend, func(context.Context) error, error) {
	b, err := process.New(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	return b, b.Close, nil
}

func processConfig(runtime process.Runtime, notice func(string)) process.Config {
	config := process.Config{Runtime: runtime, Notice: notice}
	if os.Geteuid() == 0 {
		config.Users = sandboxUsers
	}
	return config
}

// processBounds are those of processConfig. How many files there may be is bounded
// by the memory that they take, which is some hundred bytes each at least.
func processBounds() conformance.Bounds {
	bounds := process.DefaultBounds()
	return conformance.Bounds{
		MemoryBytes: bounds.MemoryBytes, Processes: bounds.Processes, StorageBytes: bounds.WorkBytes,
		Files: bounds.MemoryBytes / 512,
	}
}

func startWASM(_ context.Context, notice func(string)) (router.Backend, func(context.Context) error, error) {
	b, err := wasm.New(wasm.Config{Notice: notice}) //nolint:contextcheck // it starts nothing that a context could end
	if err != nil {
		return nil, nil, err
	}
	return b, b.Close, nil
}

// guests are the digests of the guests in this binary, unpacked.
func guests() map[string]string {
	return map[string]string{"javascript": "sha256:" + wasmguest.RawSHA256}
}
