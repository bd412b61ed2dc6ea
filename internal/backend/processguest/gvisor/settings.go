package gvisor

// Settings are runsc's own flags: how the sandbox is confined, beside what the
// bundle says. Each is stated although some are the default today, since another
// version of runsc may have another default. notes is the directory for what
// runsc keeps about the sandbox, which is the only one in it; socket lets the
// guest connect to a Unix socket of the host that it is shown.
func Settings(notes string, socket bool) []string {
	hostSockets := "none"
	if socket {
		hostSockets = "open"
	}
	return []string{
		"--root=" + notes,
		// Systrap needs nothing of the machine. KVM is never chosen, not even
		// where /dev/kvm exists: on a machine that is itself virtual it hangs.
		"--platform=systrap",
		// The sentry and the gofer are confined as an ordinary user can do it.
		"--rootless",
		// A loopback device in gVisor's own network stack and nothing else.
		"--network=none",
		"--gofer-network-namespace=new",
		// The sentry has no access to the host's files. Those that are shown come
		// through the gofer, which can read nothing else.
		"--directfs=false",
		"--file-access=exclusive",
		"--file-access-mounts=shared",
		"--overlay2=none",
		"--host-uds=" + hostSockets,
		"--host-fifo=none",
		"--character-device-policy=emulated-only",
		// The bundle's own filter, in gVisor's kernel.
		"--oci-seccomp",
		"--net-raw=false",
		"--allow-suid=false",
		"--allow-flag-override=false",
		// The caller's cgroup holds all of it already.
		"--ignore-cgroups",
		// Nothing of a guest is written to the host.
		"--debug=false",
		"--strace=false",
		"--host-settings=ignore",
	}
}
