package learn

import (
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

// mark says of new rules why to look twice. Names that are kept, and those that are
// asked for more, are what others are held against.
func mark(rules []Rule) {
	siblings := make(map[string]int)
	for _, r := range rules {
		siblings[registrable(r.Rule.Host)]++
	}
	for i := range rules {
		r := &rules[i]
		if !r.New {
			continue
		}
		r.Check = slices.Concat(r.unusualHost(siblings), r.lookAlikes(rules), r.little())
	}
}

// unusualHost is what the host itself gives to think.
func (r *Rule) unusualHost(siblings map[string]int) []string {
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
	if domain := registrable(host); domain != "" && siblings[domain] >= manySiblings {
		found = append(found, "one of "+itoa(siblings[domain])+" names below "+domain+", which may carry data out")
	}
	return found
}

func carriesData(host string) bool {
	return slices.ContainsFunc(strings.Split(host, "."), func(label string) bool { return len(label) >= longLabel })
}

// little says that nearly nobody asked.
func (r *Rule) little() []string {
	if r.total() == 1 && r.Allowed == 0 {
		return []string{"asked for once, by one program"}
	}
	return nil
}

// lookAlikes finds a name of another owner that this one could be taken for: one that
// is ruled, was let through or is asked for more.
func (r *Rule) lookAlikes(rules []Rule) []string {
	own := registrable(r.Rule.Host)
	if own == "" || r.Allowed > 0 {
		return nil
	}
	for _, other := range rules {
		domain := registrable(other.Rule.Host)
		trusted := !other.New || other.Allowed > 0 || other.total() > r.total()
		if trusted && domain != "" && domain != own && alike(own, domain) {
			return []string{"much like " + domain + ", which is another"}
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
	domain, err := publicsuffix.EffectiveTLDPlusOne(strings.TrimPrefix(host, "*."))
	if err != nil {
		return ""
	}
	return domain
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
