package egress

import (
	"net/netip"
	"strconv"
	"strings"
)

// naive is the matcher as one would write it on a board: every rule in turn, from
// its text. The real one is held against it.
func naive(rules []Rule, r Request) bool {
	for i := range rules {
		if naiveRule(rules[i], r) {
			return true
		}
	}
	return false
}

func naiveRule(rule Rule, r Request) bool {
	t := rule.Normal()
	return naiveHost(t.Host, r) && naivePort(t.Ports, r.Port) &&
		naiveMethod(t.Methods, r.Method) && naivePath(t.Paths, r.Path)
}

func naiveHost(pattern string, r Request) bool {
	if r.Host != "" && r.Addr.IsValid() {
		return false
	}
	if r.Addr.IsValid() {
		if r.Addr.Is4In6() {
			return false
		}
		if p, err := netip.ParsePrefix(pattern); err == nil {
			return p.Contains(r.Addr)
		}
		a, err := netip.ParseAddr(pattern)
		return err == nil && a == r.Addr
	}
	if h, err := ParseHost(r.Host); err != nil || h.String() != r.Host || h.IsAddress() || h.IsWildcard() {
		return false
	}
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(r.Host, suffix)
	}
	return pattern == r.Host
}

func naivePort(ports []string, port uint16) bool {
	if port == 0 {
		return false
	}
	for _, p := range ports {
		if p == "*" {
			return true
		}
		first, last, ok := strings.Cut(p, "-")
		if !ok {
			last = first
		}
		a, _ := strconv.Atoi(first)
		b, _ := strconv.Atoi(last)
		if a <= int(port) && int(port) <= b {
			return true
		}
	}
	return false
}

func naiveMethod(methods []string, method string) bool {
	for _, m := range methods {
		if m == "*" || m == method && method != "" {
			return true
		}
	}
	return false
}

// naivePath compares segments, after refusing what two readers could read in two
// ways by decoding the path as such a reader would.
func naivePath(prefixes []string, path string) bool {
	if len(prefixes) == 1 && prefixes[0] == "*" {
		return true
	}
	if naiveHostile(path) {
		return false
	}
	segments := strings.Split(path, "/")
	for _, p := range prefixes {
		want := strings.Split(p, "/")
		if len(want) > len(segments) {
			continue
		}
		same := true
		for i := range want {
			same = same && want[i] == segments[i]
		}
		if same {
			return true
		}
	}
	return false
}

func naiveHostile(path string) bool {
	if !strings.HasPrefix(path, "/") || strings.Contains(path, "//") {
		return true
	}
	for _, c := range []byte(path) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`\;?#`, c) >= 0 {
			return true
		}
	}
	decode := func(s string) (string, bool) {
		var b strings.Builder
		for i := 0; i < len(s); i++ {
			if s[i] != '%' {
				b.WriteByte(s[i])
				continue
			}
			if i+3 > len(s) {
				return "", false
			}
			n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				return "", false
			}
			b.WriteByte(byte(n))
			i += 2
		}
		return b.String(), true
	}
	for segment := range strings.SplitSeq(path, "/") {
		plain, ok := decode(segment)
		if !ok || plain == "." || plain == ".." || strings.ToValidUTF8(plain, "\uFFFD") != plain || strings.ContainsRune(plain, '\uFFFD') {
			return true
		}
		for i, r := range plain {
			if r < ' ' || r >= 0x7f && r < 0xa0 || strings.ContainsRune(`/\;`, r) {
				return true
			}
			if r == '%' && len(plain) >= i+3 {
				if _, err := strconv.ParseUint(plain[i+1:i+3], 16, 8); err == nil {
					return true
				}
			}
		}
	}
	return false
}
