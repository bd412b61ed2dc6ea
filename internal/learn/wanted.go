package learn

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// wanted is a request that some rule could admit, with what its events counted.
type wanted struct {
	request egress.Request
	// host is the name or address in normal form; method and path are as a rule says
	// them, "*" where only any admits the request.
	host, method, path string
	// open: another rule about the destination is enough. So it is for a connection
	// that was refused as a whole: where some rule is about its host and port, the
	// proxy opens it and judges what is inside.
	open  bool
	stats stats
}

// connection reports whether the connection as a whole was judged.
func (w *wanted) connection() bool { return w.request.Method == "" && w.request.Path == "" }

// admittedBy are the positions of the rules that let the request through.
func (w *wanted) admittedBy(set *egress.Set) []int {
	all := set.MatchAll(w.request)
	if len(all) > 0 || !w.open || !set.Opens(w.request) {
		return all
	}
	return slices.DeleteFunc(set.AtHost(w.request), func(i int) bool {
		return !egress.NewSet([]egress.Rule{set.Rule(i)}).Opens(w.request)
	})
}

// stats are how often, by whom and when something was asked for.
type stats struct {
	allowed, refused int64
	programs         []string // sorted
	first, last      time.Time
}

func (s *stats) total() int64 { return saturated(s.allowed, s.refused) }

func (s *stats) add(other stats) {
	s.allowed, s.refused = saturated(s.allowed, other.allowed), saturated(s.refused, other.refused)
	s.programs = slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.programs, other.programs))))
	if s.first.IsZero() || !other.first.IsZero() && other.first.Before(s.first) {
		s.first = other.first
	}
	if other.last.After(s.last) {
		s.last = other.last
	}
}

// declined is a request that is not offered.
type declined struct {
	request egress.Request // its zero value where the host is none
	text    string
	why     string
	stats   stats
}

// sorted divides what was seen into what rules could admit and what is not offered.
// Both are in a fixed order.
func (t *Tally) sorted() (could []*wanted, not []declined) {
	merged := make(map[egress.Request]*wanted)
	for _, s := range t.inOrder() {
		counted := stats{allowed: s.allowed, refused: saturated(s.ruled, s.failed), programs: s.programs, first: s.first, last: s.last}
		r, why := readable(s)
		if why == "" {
			why = closedToRules(r)
		}
		w := &wanted{request: r}
		if why == "" {
			why = w.name(s)
		}
		if why == "" && s.allowed+s.ruled == 0 {
			why = "the rules are not why: " + summaryOf(s.code)
		}
		if why != "" {
			not = append(not, declined{r, s.text(), why, counted})
			continue
		}
		if have := merged[r]; have != nil {
			have.open = have.open && s.allowed == 0
			have.stats.add(counted)
			continue
		}
		w.open, w.stats = w.connection() && s.allowed == 0, counted
		merged[r] = w
		could = append(could, w)
	}
	return could, not
}

func (t *Tally) inOrder() []*seen {
	all := make([]*seen, 0, len(t.asks))
	for _, s := range t.asks {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *seen) int {
		return cmp.Or(cmp.Compare(b.total(), a.total()), strings.Compare(a.host, b.host), cmp.Compare(a.port, b.port),
			strings.Compare(a.method, b.method), strings.Compare(a.path, b.path))
	})
	return all
}

func summaryOf(code sandbox.Code) string {
	if !code.Known() {
		return sandbox.Echo(string(code))
	}
	return code.Summary() + " (" + string(code) + ")"
}

// text is the request as it can be shown.
func (s *seen) text() string {
	r, why := readable(s)
	if why != "" {
		return sandbox.Echo(s.host)
	}
	return requestText(r)
}

func requestText(r egress.Request) string {
	return egress.Witness{Host: r.Host, Addr: r.Addr, Port: r.Port, Method: r.Method, Path: r.Path}.String()
}

// readable is the request, or why it is none.
func readable(s *seen) (egress.Request, string) {
	name, addr, err := egress.ParseRequestHost(s.host)
	if refused := sandbox.RefusalOf(err); refused != nil {
		return egress.Request{}, "it is no host: " + strings.TrimPrefix(refused.Found, "host "+sandbox.Echo(s.host)+": ")
	}
	if s.port == 0 {
		return egress.Request{}, "it has no port"
	}
	return egress.Request{Host: name, Addr: addr, Port: s.port, Method: s.method, Path: s.path}, ""
}

// privateDomains are those whose names lead nowhere in public, beside what is always
// refused: RFC 6762 and 8375, and what ICANN keeps for private use. A name never opens
// a private address, so that a rule for one of them would open nothing. The metadata
// service of a cloud is among them.
var privateDomains = []string{"internal", "local", "home.arpa"}

// closedToRules says why no rule could ever let a request through.
func closedToRules(r egress.Request) string {
	const always = "it is refused when dialled, whatever the rules say: "
	if r.Addr.IsValid() {
		if why, blocked := egress.BlockedAddress(r.Addr); blocked {
			return always + why
		}
		return ""
	}
	host, err := egress.ParseHost(r.Host)
	if err != nil {
		return "it is no host"
	}
	if why, blocked := host.AlwaysBlocked(); blocked {
		return always + why
	}
	if !strings.Contains(r.Host, ".") {
		return "it is one label, which is no host of the public DNS"
	}
	for _, domain := range privateDomains {
		if strings.HasSuffix(r.Host, "."+domain) {
			return "names below ." + domain + " lead to no public address, and only a rule that names the address opens a private one"
		}
	}
	return ""
}

// name says the request as a rule would, or why no rule can. A rule with any method
// or any path is no answer to a request that chose to be unspeakable.
func (w *wanted) name(s *seen) string {
	add := egress.AdditionFor(w.request)
	w.host, w.method, w.path = add.Rule.Host, add.Rule.Methods[0], add.Rule.Paths[0]
	switch {
	case w.connection():
		return ""
	case w.method == "*":
		return "no rule can name the method " + sandbox.Echo(s.method) + ", and one for any method is not learnt from it"
	case add.Unnamed != "" || s.path == "":
		return "no rule can name its path, which is long or could be read as another, and one for any path is not learnt from it"
	default:
		return ""
	}
}
