package gvisor

// settings are runsc's own flags: how the sandbox is confined, beside what the
// bundle says. Each is stated although some are the default today, since another
// version of runsc may have another default.
func settings(state string) []string {
	return []string{
		"--root=" + state,
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
		"--host-uds=none",
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
