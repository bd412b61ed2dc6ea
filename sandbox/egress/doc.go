// Package egress holds the rules about where a sandbox may connect: their
// grammar, their normal form, the matcher, and the comparison of two sets of
// rules. There is one parser and one matcher, and plan, router and proxy all use
// them.
//
// It resolves no names, opens no connections and knows no policy: what a backend
// can enforce and who may ask for what is decided elsewhere.
//
// Read [ParseHost] for the grammar of a host, [ParseRule] for a whole rule, and
// [Set] for matching and comparison.
//
// # What a pattern covers
//
//	pattern            covers                              does not cover
//	example.com        example.com                         api.example.com
//	*.example.com      api.example.com, a.b.example.com    example.com
//	*.com              every name below com                com
//	10.1.2.3           that address                        a name that resolves to it
//	10.0.0.0/8         every address of the range          ::ffff:10.0.0.1
//	2001:db8::/32      every address of the range          any IPv4 address
//
// Names and addresses are two kinds: a rule of one kind never admits a request
// of the other. A wildcard directly below a public suffix, such as *.com or
// *.github.io, is accepted, since no list of public suffixes is ever complete or
// current; it means what it says, and the policy's upper bound is what keeps a
// workload from writing it.
//
// # Two levels of judgement
//
// A request is judged with its method and path, or, where these cannot be seen
// (a CONNECT tunnel), at connection level, with both empty. A connection admits
// every method and every path, so only a rule that restricts neither admits it.
//
// # Union
//
// A set is the union of its rules. There are no denials and no order, so adding
// a rule never takes anything away, and the comparison can be exact: see
// [Set.Within].
//
// # Algebra
//
// [Union] and [Set.Intersect] of sets are sets of rules again. A difference is not:
// it is a [Region], which combines freely, tells whether it is empty with a
// [Witness], and can be taken apart into boxes to be shown. [Set.Redundant] and
// [Set.Minimise] find the rules that nothing depends on. All work is bounded; see
// [ErrTooComplex].
package egress
