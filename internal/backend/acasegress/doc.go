// Package acasegress puts egress rules into the form of Azure Container Apps
// Sandboxes and reads that form back into the algebra, so that what was declared,
// what was compiled and what the service shows can be held against each other.
//
// It sends nothing and decides about no workload. It never compiles a rule to a
// wider one, with the one exception that is stated below and reported each time,
// and it never reads a policy as less than it may let out.
//
// Read [Compile], [Read] and [Compare].
//
// # What the service's rules mean
//
// A rule is about HTTP requests, as the service's proxy sees them: on port 80 in
// the clear, and on port 443 inside TLS that it opens. Nothing leaves on other
// ports. [wire.V0901] tells the two apart by scheme. [wire.V0201] does not, so that
// there a host that is declared on port 443 may be asked on port 80 as well;
// [Compile] says so in a finding that refuses nothing.
//
// "*.example.com" is taken for the names of any depth below example.com, without
// example.com, as in package egress. The service's documentation has the form and
// not its meaning. A star that covers one label only makes the service narrower than
// declared; nothing else has been seen.
//
// The members of rules are asked in order, and the first that matches answers. How
// hostRules are ordered among themselves and against rules is documented nowhere.
// What is compiled here has no denials, and means the same in any order. A policy of
// other hands is read as the most and as the least that any order admits, and is
// unclear where the two differ.
//
// # What is never taken for granted
//
// Any of these makes a reading unclear: a member that is not known, an enforcement
// that only writes down, an inspection that is not Full, no default, a rule that
// changes requests or sends them elsewhere, rules of other protocols, hooks, and a
// second copy under http that says something else.
package acasegress
