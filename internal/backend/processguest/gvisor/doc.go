// Package gvisor describes sandboxes to gVisor, a program whose kernel is another
// program on the host, so that the guest's system calls never reach the host's
// kernel as they are; and it says which runsc on this machine will do. It starts
// nothing but that program, to ask for its version.
//
// What a sandbox may see and use is a [Bundle], which becomes an OCI runtime
// specification; what runsc may do is the list in settings.go. The package knows
// no policy, makes no cgroup and becomes no user: whoever launches does that.
//
// Read [Bundle] first, then [Lay], which makes one's file system of a view, and
// [Open].
package gvisor
