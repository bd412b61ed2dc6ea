package learn

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

const (
	// longLabel is how long a label is that can carry data out in a lookup or a server
	// name, in characters; manySiblings is how many names below one domain can.
	longLabel    = 30
	manySiblings = 20
)

// domain is what somebody registered, as the rules have it.
type domain struct {
	names int // how many rules are about it
	// known: the workload names it, or something of it was let through.
	known bool
}

// mark says of new rules why to look twice.
func mark(rules []Rule) {
	domains := make(map[string]*domain)
	for _, r := range rules {
		name := registrable(r.Rule.Host)
		if domains[name] == nil {
			domains[name] = &domain{}
		}
		d := domains[name]
		d.names++
		d.known = d.known || !r.New || r.Allowed > 0
	}
	like, names := make(map[string][]string), slices.Sorted(maps.Keys(domains))
	for i := range rules {
		r := &rules[i]
		if !r.New {
			continue
		}
		own := registrable(r.Rule.Host)
		if _, ok := like[own]; !ok {
			like[own] = lookAlikes(own, names, domains)
		}
		r.Check = slices.Concat(r.unusualHost(domains), like[own], r.everyPath(), r.little())
	}
}

// unusualHost is what the host itself gives to think.
func (r *Rule) unusualHost(domains map[string]*domain) []string {
	host := r.Rule.Host
	if addr, err := netip.ParseAddr(host); err == nil {
		if why, special := egress.SpecialAddress(addr); special {
			return []string{"an address, and no public one: " + why}
		}
		return []string{"an address, which another host may have tomorrow"}
	}
	var found []string
	if inScript, err := idna.Display.ToUnicode(host); strings.Contains("."+host, ".xn--") {
		if err != nil {
			inScript = host
		}
		found = append(found, "a name in another script: "+sandbox.Echo(inScript))
	}
	if carriesData(host) {
		found = append(found, "a name that is long enough to carry data out")
	}
	if own := registrable(host); own != "" && domains[own].names >= manySiblings {
		found = append(found, "one of "+itoa(domains[own].names)+" rules about "+own+", whose names may carry data out")
	}
	return found
}

func carriesData(host string) bool {
	return slices.ContainsFunc(strings.Split(host, "."), func(label string) bool { return len(label) >= longLabel })
}

// everyPath says that a request for the root alone brought all that is below it.
func (r *Rule) everyPath() []string {
	if slices.Equal(r.Rule.Paths, anything) && !slices.Equal(r.Rule.Methods, anything) {
		return []string{"any path, since \"/\" was asked for, which no rule names more narrowly"}
	}
	return nil
}

// little says that nearly nobody asked.
func (r *Rule) little() []string {
	if r.total() == 1 && r.Allowed == 0 {
		return []string{"asked for once, by one program"}
	}
	return nil
}

// lookAlikes finds a domain of another owner that this one could be taken for. Where
// neither is known, each is marked: how often one was asked for is the guest's choice.
func lookAlikes(own string, names []string, domains map[string]*domain) []string {
	if own == "" || domains[own].known {
		return nil
	}
	for _, name := range names {
		if name != "" && name != own && alike(own, name) {
			return []string{"much like " + name + ", which is another"}
		}
	}
	return nil
}

// registrable is the domain that somebody registered, as far as that is known; it is
// empty for what is no name, and for a public suffix itself. It only serves to say
// what is near: nothing is decided by it.
func registrable(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	own, err := publicsuffix.EffectiveTLDPlusOne(strings.TrimPrefix(host, "*."))
	if err != nil {
		return ""
	}
	return own
}

// alike reports whether two names are one slip or one look apart.
func alike(a, b string) bool { return looks.Replace(a) == looks.Replace(b) || oneSlip(a, b) }

// looks are what readers take for one another.
var looks = strings.NewReplacer("rn", "m", "vv", "w", "0", "o", "1", "l", "i", "l", "-", "")

// oneSlip reports whether one character was changed, left out or put in, or two
// neighbours were swapped.
func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch len(b) - len(a) {
	case 1:
		return a[i:] == b[i+1:]
	case 0:
		return i == len(a) || a[i+1:] == b[i+1:] ||
			i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	default:
		return false
	}
}
