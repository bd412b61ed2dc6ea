// Package killapply kills a provider, or Terraform itself, in the middle of an apply
// of everything that the provider makes, and wants the next apply to end where the
// first should have: with one of each.
//
// The service is the emulator, in the test's process, so it outlives whoever is
// killed. A kill happens at a request, counted as it arrives: before the service has
// seen it, when it has acted and not answered, or right after its answer.
//
// It has no code of its own. `make kill-apply POINTS=20` kills at twenty points, and
// KILL_SEED chooses them again.
package killapply
