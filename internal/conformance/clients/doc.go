// Package clients is the programs that people run in sandboxes, and a world for
// them to talk to: package managers, version control and HTTP libraries, each
// with what it fetches, what it would change, and how it learns of the proxy and
// of the authority. Its test runs each of them in a sandbox of the process
// backend, under a rule for a host and under a rule for methods, and keeps the
// table in docs/egress-clients.md true.
//
// No product uses it. Start with [All] and [NewWorld].
package clients
