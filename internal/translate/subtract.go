package translate

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// maxPieces bounds into how many rules one grant may fall. What would need more is
// left out.
const maxPieces = 512

// subtract takes a denial out of a rule: what is left, as rules, and whether it is
// all that is left.
//
// A rule is a product of hosts, ports, methods and paths. What is left of a product
// without another one is, for each of the four, the rule with only what the other
// does not have of it. Names below a wildcard but for some, any method but for some,
// and a path's children but for some cannot be written.
func subtract(rule egress.Rule, d *denial) (rest []egress.Rule, whole bool) {
	hosts := withoutHost(rule.Host(), d)
	if hosts.apart {
		return []egress.Rule{rule}, true // most often
	}
	ports := withoutPorts(rule.Ports(), d.rule.Ports())
	methods := withoutMethods(rule.Methods(), d.rule.Methods())
	paths := withoutPaths(rule.Paths(), d.rule.Paths())
	if ports.apart || methods.apart || paths.apart {
		return []egress.Rule{rule}, true
	}
	whole = hosts.whole && ports.whole && methods.whole && paths.whole
	text := rule.Normal()
	add := func(text sandbox.EgressRule) {
		piece, findings := egress.ParseRule(rule.Name(), text, nil)
		if len(findings) > 0 {
			whole = false // more ports than one rule has
			return
		}
		rest = append(rest, piece)
	}
	for _, host := range hosts.rest {
		piece := text
		piece.Host = host
		add(piece)
	}
	if piece := text; len(ports.rest) > 0 {
		piece.Ports = ports.rest
		add(piece)
	}
	if piece := text; len(methods.rest) > 0 {
		piece.Methods = methods.rest
		add(piece)
	}
	if piece := text; len(paths.rest) > 0 {
		piece.Paths = paths.rest
		add(piece)
	}
	return rest, whole
}

// remains is one part of a rule without that of a denial.
type remains struct {
	// apart: the two have nothing in common.
	apart bool
	// rest is what is left, and whole whether it is all of it.
	rest  []string
	whole bool
}

var (
	apart   = remains{apart: true, whole: true}
	nothing = remains{whole: true}
	unsaid  = remains{}
)

// touches reports whether the denial is about any of the host's names or addresses.
func (d *denial) touches(host egress.Host) bool {
	denied := d.rule.Host()
	switch {
	case d.everywhere:
		return true
	case host.IsAddress() != denied.IsAddress():
		return false
	case host.IsAddress():
		return host.Prefix().Overlaps(denied.Prefix())
	default:
		return covers(denied, host) || covers(host, denied)
	}
}

func withoutHost(host egress.Host, d *denial) remains {
	denied := d.rule.Host()
	switch {
	case !d.touches(host):
		return apart
	case d.everywhere:
		return nothing
	case host.IsAddress():
		return withoutPrefix(host.Prefix(), denied.Prefix())
	case covers(denied, host):
		return nothing
	default:
		return unsaid
	}
}

// covers reports whether one name pattern covers all of another.
func covers(wide, narrow egress.Host) bool {
	if wide == narrow {
		return true
	}
	if !wide.IsWildcard() {
		return false
	}
	return strings.HasSuffix(narrow.Name(), "."+wide.Name()) || narrow.IsWildcard() && narrow.Name() == wide.Name()
}

func withoutPrefix(from, take netip.Prefix) remains {
	if take.Bits() <= from.Bits() {
		return nothing
	}
	left := nothing
	for bits := from.Bits() + 1; bits <= take.Bits(); bits++ {
		left.rest = append(left.rest, prefixText(sibling(netip.PrefixFrom(take.Addr(), bits).Masked())))
	}
	return left
}

// sibling is the other half of the range that is one bit wider.
func sibling(p netip.Prefix) netip.Prefix {
	b := p.Addr().AsSlice()
	at := p.Bits() - 1
	b[at/8] ^= 1 << (7 - at%8)
	addr, _ := netip.AddrFromSlice(b)
	return netip.PrefixFrom(addr, p.Bits())
}

func prefixText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

func withoutPorts(from, take []egress.PortRange) remains {
	left := apart
	for _, f := range from {
		next := int(f.First)
		for _, t := range take {
			first, last := max(int(t.First), next), min(int(t.Last), int(f.Last))
			if first > last {
				continue
			}
			left.apart = false
			if next < first {
				left.rest = append(left.rest, portRange(next, first-1))
			}
			next = last + 1
		}
		if next <= int(f.Last) {
			left.rest = append(left.rest, portRange(next, int(f.Last)))
		}
	}
	return left
}

func portRange(first, last int) string {
	return egress.PortRange{First: uint16(first), Last: uint16(last)}.String()
}

// withoutMethods takes methods away; nil is any.
func withoutMethods(from, take []string) remains {
	switch {
	case take == nil:
		return nothing
	case from == nil:
		return unsaid
	}
	left := apart
	for _, m := range from {
		if slices.Contains(take, m) {
			left.apart = false
		} else {
			left.rest = append(left.rest, m)
		}
	}
	return left
}

// withoutPaths takes path prefixes away; nil is any.
func withoutPaths(from, take []string) remains {
	switch {
	case take == nil:
		return nothing
	case from == nil:
		return unsaid
	}
	left := apart
	for _, prefix := range from {
		switch {
		case slices.ContainsFunc(take, func(t string) bool { return below(prefix, t) }):
			left.apart = false
		case slices.ContainsFunc(take, func(t string) bool { return below(t, prefix) }):
			left.apart, left.whole = false, false
		default:
			left.rest = append(left.rest, prefix)
		}
	}
	return left
}

// below reports whether a path is a prefix or lies below it.
func below(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix) && path[len(prefix)] == '/'
}
