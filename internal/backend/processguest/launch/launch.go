// Package launch makes one running sandbox: process 1 behind two pipes, in the
// namespaces, the cgroup, the seccomp filter and the file system that it was
// given, and the sight of its end.
//
// It knows nothing of names, of who may have a sandbox or of what is said over
// the pipes. [Sandbox] is what callers hold; there is one way of launching for
// each program that builds namespaces.
package launch
