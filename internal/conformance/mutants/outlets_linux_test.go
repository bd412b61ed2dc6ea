package mutants_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/prober"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// outletMutants are real sandboxes with sound proxies, put together wrongly.
func outletMutants() []mutant {
	wrong := func(name, by string, make func(t *testing.T) conformance.Subject) mutant {
		probes := strings.Fields(by)
		return mutant{name: name, by: probes[0], also: probes[1:], make: make}
	}
	return []mutant{
		wrong("the network is the machine's beside the proxy", "EGRESS_SOCKETS/no-connection-goes-past-the-proxy EGRESS_SOCKETS/no-datagram-leaves EGRESS_SOCKETS/the-proxy-speaks-for-its-own-sandbox-alone "+
			"EGRESS_NAMES/no-name-server-is-asked-directly EGRESS_WITHOUT/without-the-variables-nothing-is-reachable", func(t *testing.T) conformance.Subject {
			t.Helper()
			needOwnNetwork(t)
			return egressStandIn(t, "shared-network")
		}),
		wrong("two sandboxes share a socket", "EGRESS_HOSTS/what-one-sandbox-may-another-may-not", func(t *testing.T) conformance.Subject {
			t.Helper()
			return egressStandIn(t, "shared-socket")
		}),
		wrong("sockets are of any family", "EGRESS_SOCKETS/no-other-family-of-sockets", func(t *testing.T) conformance.Subject {
			t.Helper()
			return egressStandIn(t, "no-seccomp")
		}),
		wrong("a sandbox has the rules of another", "EGRESS_HOSTS/what-one-sandbox-may-another-may-not", func(t *testing.T) conformance.Subject {
			t.Helper()
			var first sync.Map
			return restarted(t, func(req *engine.StartRequest) {
				if req.Egress.Mode == sandbox.EgressAllowlist {
					kept, _ := first.LoadOrStore("rules", req.Egress)
					req.Egress, _ = kept.(sandbox.Egress)
				}
			})
		}),
		wrong("closed is an allowlist of all", "EGRESS_SOCKETS/the-proxy-speaks-for-its-own-sandbox-alone", func(t *testing.T) conformance.Subject {
			t.Helper()
			return restarted(t, func(req *engine.StartRequest) {
				if req.Egress.Mode == sandbox.EgressClosed {
					req.Egress = sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{
						"all": {Host: "*.com", Ports: []string{"*"}, Methods: []string{"*"}, Paths: []string{"*"}},
					}}
				}
			})
		}),
		wrong("programs find the authority of another sandbox", "EGRESS_OPENED/another-sandboxs-authority-is-worth-nothing-here", func(t *testing.T) conformance.Subject {
			t.Helper()
			return egressStandIn(t, "shared-trust")
		}),
		wrong("datagrams leave the machine's way", "EGRESS_SOCKETS/no-datagram-leaves "+shown("udp-denied"), func(t *testing.T) conformance.Subject {
			t.Helper()
			needOwnNetwork(t)
			return withEgress(t, config(t), func(e *process.Engine) *wraps { return &wraps{Engine: e, exec: datagramsOutside} })
		}),
		wrong("a proxy outlives its end", "EGRESS_WITHOUT/without-the-proxy-nothing-is-reachable", func(t *testing.T) conformance.Subject {
			t.Helper()
			subject := withEgress(t, config(t), nil)
			subject.Egress.EndProxy = func(context.Context, string) error { return nil }
			return subject
		}),
	}
}

// egressStandIn is [overStandIn] in a world of its own.
func egressStandIn(t *testing.T, change string) conformance.Subject {
	t.Helper()
	c := config(t)
	c.Bubblewrap = standInFor(t, change)
	dir := filepath.Dir(c.Bubblewrap)
	if change == "shared-socket" || change == "shared-trust" {
		// What the first sandbox was given is kept where the next one finds it; users
		// of their own could not even get to each other's socket.
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		c.Users.Count = min(c.Users.Count, 1)
	}
	subject := withEgress(t, c, nil)
	if err := os.WriteFile(filepath.Join(dir, armed), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return subject
}

// restarted is a process backend whose engine is asked for something else.
func restarted(t *testing.T, change func(*engine.StartRequest)) conformance.Subject {
	t.Helper()
	return withEgress(t, config(t), func(e *process.Engine) *wraps { return &wraps{Engine: e, ask: change} })
}

// datagramsOutside runs what sends datagrams as a program of this machine.
func datagramsOutside(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
	sends := slices.ContainsFunc(req.Args, func(arg string) bool { return strings.HasPrefix(arg, "udp ") })
	if !sends {
		return run.Exec(ctx, req)
	}
	program, err := prober.Program(runtime.GOARCH)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "outside")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "prober")
	if err := os.WriteFile(path, program, 0o700); err != nil {
		return 0, err
	}
	// Datagrams alone: that is what is wrong.
	args := slices.DeleteFunc(slices.Clone(req.Args[1:]), func(arg string) bool { return strings.HasPrefix(arg, "tcp ") })
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = req.Stdout, req.Stderr
	return 0, cmd.Run()
}
