// Package gvisor starts and ends sandboxes of gVisor: a program whose kernel is
// another program on the host, so that the guest's system calls never reach the
// host's kernel as they are.
//
// It runs the `runsc` command itself, with no daemon, no container manager and
// no root: a host that is root becomes an ordinary user of the host before runsc
// starts, in a user namespace of the sandbox's own, and an ordinary user stays
// who they are. What a sandbox may see and use is a [Bundle], which becomes an
// OCI runtime specification; what runsc may do is the list in settings.go.
//
// It knows no policy, speaks to no guest (process 1's standard streams are the
// caller's) and makes no cgroup: the caller says where processes are born.
//
// Read [Bundle] first, then [Launch] and [Sandbox.End].
package gvisor
