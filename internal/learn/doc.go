// Package learn reads what sandboxes asked for and proposes the allowlist that would
// let exactly that through.
//
// A [Tally] takes events in, and [Propose] makes a [Proposal] of it: rules, each
// with who asked and how often; what is not offered, and why; patterns that a person
// may choose in place of many rules, each with something else that it would open;
// and, where the workload is known, what it would become and whether the policies
// admit that. internal/policy decides all of the latter.
//
// Events are a guest's own words. A guest that wants its master's host on the
// allowlist only has to ask for it and wait for somebody to paste. So no rule is
// wider than what was seen, except where rules cannot say it more narrowly; nothing
// is offered that could never take effect; how much is kept and shown is bounded;
// what looks like bait is marked; and nothing is ever written or changed here.
package learn
