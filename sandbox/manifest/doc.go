// Package manifest reads and writes the documents: the manifest that a host is
// given, and a policy, a workload or a backend's facts on their own.
//
// A document has exactly one spelling, the canonical JSON of RFC 8785, and its
// digest is the SHA-256 of exactly those bytes. [Parse] therefore accepts what
// [Manifest.Encode] writes and nothing else: an unknown field could be a
// restriction, a name stated twice could be read twice differently, and an
// integer beyond 2^53-1 would share its digest with another.
//
// The form of version 1 is published as a JSON Schema ([Schema]) and complete
// from the start. Documents hold nothing secret: hosts and rules are meant to be
// read.
//
// The package decides nothing about workloads; it hands what it read to package
// internal/policy through [Manifest.Layers] and the specs. It never opens files
// and never computes which digest to accept: that comes from the host's own
// configuration.
package manifest
