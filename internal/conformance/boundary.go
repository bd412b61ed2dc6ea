package conformance

import (
	"context"
	"fmt"
	"os"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// boundary attacks the guest's walls from within.
func boundary() Suite {
	attack := func(name string, args ...string) Probe {
		return Probe{Name: name, Run: func(ctx context.Context, s *Scene) error { return s.attack(ctx, args...) }}
	}
	// Others' processes are left alone where the guest is found to share this
	// machine's: that it does is what is reported.
	own := processNamespace()
	return Suite{Name: "BOUNDARY", Gate: sandbox.CapabilityExec, Probes: fromWithin([]Probe{
		// The agent, and other processes.
		attack("init-environ-unreadable", "environ", own),
		attack("agent-channel-unreachable", "descriptors", own),
		attack("agent-memory-unreachable", "memory", own),
		attack("no-other-process-is-visible", "processes", own),
		{Name: "the-agent-survives-every-signal", Run: func(ctx context.Context, s *Scene) error {
			return s.unharmed(ctx, "signals", processNamespace())
		}},
		{Name: "the-agents-limits-and-scheduling-cannot-be-changed", Run: func(ctx context.Context, s *Scene) error {
			return s.unharmed(ctx, "tamper", processNamespace())
		}},
		// Who the program is.
		attack("no-capabilities", "capabilities"),
		attack("no-way-to-gain-privileges", "privileges"),
		attack("setuid-programs-give-nothing", "setuid"),
		attack("files-of-root-are-unreadable", "root-only"),
		{Name: "a-root-host-is-no-root-inside", Run: rootCanary},
		// The kernel.
		attack("socket-families-are-an-allowlist", "sockets"),
		attack("calls-that-no-program-needs-are-refused", "calls"),
		attack("calls-of-other-abis-are-refused", "compat"),
		attack("no-new-namespaces", "namespaces"),
		attack("nothing-can-be-mounted", "mounts"),
		attack("the-kernel-shows-and-takes-nothing", "kernel"),
		attack("no-devices-beyond-the-harmless", "devices", own),
		// The machine.
		attack("the-system-is-read-only", "system"),
		{Name: "host-files-are-out-of-sight", Run: hostFiles},
		{Name: "host-sockets-are-out-of-reach", Run: hostSockets},
		{Name: "nothing-answers-on-a-network", Missing: closed, Run: hostNetwork},
	})}
}

// closed says what a subject lacks whose network is not closed.
func closed(s Subject) string {
	if mode := s.Spec.Egress.Mode; mode != 0 && mode != sandbox.EgressClosed {
		return "without egress " + sandbox.EgressClosed.String()
	}
	return ""
}

// processNamespace names this process' own process namespace, where there is such a
// thing: attacks that would hurt it are not made there.
func processNamespace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return name
}

// unharmed makes an attack on what holds the sandbox together and checks that this
// very sandbox still does its part, streams and all.
func (s *Scene) unharmed(ctx context.Context, args ...string) error {
	if _, err := s.enter(ctx); err != nil {
		return err
	}
	if err := s.attack(ctx, args...); err != nil {
		return err
	}
	if err := s.bothStreams(ctx, everyByte()); err != nil {
		return fmt.Errorf("afterwards: %w", err)
	}
	return alive(ctx, s)
}
