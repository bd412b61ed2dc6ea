package egressproxy

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/clienthello"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/httphead"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/leafca"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// mutation is a proxy that is broken in one way, and the probes that have to
// notice.
type mutation struct {
	name    string
	broken  func(*Proxy)
	noticed []string
}

type lookup func(ctx context.Context, network, rooted string) ([]netip.Addr, error)

func (l lookup) LookupNetIP(ctx context.Context, network, rooted string) ([]netip.Addr, error) {
	return l(ctx, network, rooted)
}

// matching changes what the rules are asked.
func matching(change func(*egress.Set, egress.Request) (*egress.Set, egress.Request)) func(*Proxy) {
	return func(p *Proxy) {
		p.checks.match = func(s *egress.Set, r egress.Request) (*egress.Rule, bool) {
			s, r = change(s, r)
			return s.Match(r)
		}
	}
}

func mutations() []mutation {
	return append(destinationMutations(), append(tlsMutations(), requestMutations()...)...)
}

func destinationMutations() []mutation {
	return []mutation{
		{"the port is not compared", matching(func(s *egress.Set, r egress.Request) (*egress.Set, egress.Request) {
			for _, port := range []uint16{80, 443} {
				r.Port = port
				if s.Opens(r) {
					break
				}
			}
			return s, r
		}), []string{"another port"}},
		{"a host is compared by its end", func(p *Proxy) {
			p.checks.match = func(s *egress.Set, r egress.Request) (*egress.Rule, bool) {
				for _, rule := range s.Rules() {
					if strings.HasSuffix(r.Host, rule.Host().Name()) {
						r.Host = rule.Host().Name()
					}
				}
				return s.Match(r)
			}
		}, []string{"a host that no rule names"}},
		{"a host is compared by its beginning", func(p *Proxy) {
			p.checks.match = func(s *egress.Set, r egress.Request) (*egress.Rule, bool) {
				for _, rule := range s.Rules() {
					if strings.HasPrefix(r.Host, rule.Host().Name()) {
						r.Host = rule.Host().Name()
					}
				}
				return s.Match(r)
			}
		}, []string{"a host that no rule names"}},
		{"names are looked up before they are decided", func(p *Proxy) {
			p.checks.match = func(s *egress.Set, r egress.Request) (*egress.Rule, bool) {
				p.config.Resolver.LookupNetIP(context.Background(), "ip", r.Host+".") //nolint:errcheck // it is the lookup that tells
				return s.Match(r)
			}
		}, []string{"names that no rule admits are never looked up"}},
		{"names are not rooted", func(p *Proxy) {
			p.dialler.resolver = lookup(func(ctx context.Context, network, rooted string) ([]netip.Addr, error) {
				return p.config.Resolver.LookupNetIP(ctx, network, strings.TrimSuffix(rooted, "."))
			})
		}, []string{"names that no rule admits are never looked up", "a name that changes its address"}},
		{"names are looked up twice, once to judge and once to dial", func(p *Proxy) {
			var name string
			p.dialler.resolver = lookup(func(ctx context.Context, network, rooted string) ([]netip.Addr, error) {
				name = rooted
				return p.config.Resolver.LookupNetIP(ctx, network, rooted)
			})
			p.dialler.connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
				addrs, err := p.config.Resolver.LookupNetIP(ctx, "ip", name)
				if err != nil {
					return nil, err
				}
				return p.config.Connect(ctx, netip.AddrPortFrom(addrs[0], to.Port()))
			}
		}, []string{"a name that changes its address"}},
		{"only the first answer is judged", func(p *Proxy) {
			p.checks.answers = func(addrs, own []netip.Addr) string { return refusedAnswer(addrs[:1], own) }
		}, []string{"a name that leads to a special address"}},
		{"only private and loopback answers are refused", func(p *Proxy) {
			p.checks.answers = func(addrs, _ []netip.Addr) string {
				for _, a := range addrs {
					if a.IsPrivate() || a.IsLoopback() {
						return "private"
					}
				}
				return ""
			}
		}, []string{"a name that leads to a special address"}},
		{"answers are not judged", func(p *Proxy) {
			p.checks.answers = func([]netip.Addr, []netip.Addr) string { return "" }
		}, []string{"a name that leads to a special address", "a name that changes its address"}},
		{"the host's own addresses are not known", func(p *Proxy) {
			p.dialler.own = func() ([]netip.Addr, error) { return nil, nil }
		}, []string{"the host's own public address"}},
		{"rules open metadata and loopback", func(p *Proxy) {
			p.checks.blocked = func(destination) string { return "" }
		}, []string{"an address that no rule opens, by a rule for all addresses"}},
	}
}

func tlsMutations() []mutation {
	return []mutation{
		{"the server name is not compared", func(p *Proxy) {
			p.checks.hello = func(destination, clienthello.Hello) string { return "" }
		}, []string{"TLS for another host than the tunnel's", "TLS without a server name", "a tunnel to an address has no server name"}},
		{"a missing server name is good", func(p *Proxy) {
			p.checks.hello = func(d destination, h clienthello.Hello) string {
				if h.ServerName == "" {
					return ""
				}
				return helloDiffers(d, h)
			}
		}, []string{"TLS without a server name"}},
		{"the server name is held against the rules, not the tunnel", func(p *Proxy) {
			p.checks.hello = func(d destination, h clienthello.Hello) string {
				if h.ServerName != "" {
					return ""
				}
				return helloDiffers(d, h)
			}
		}, []string{"TLS for another host than the tunnel's"}},
		{"a tunnel is passed through where rules restrict requests", func(p *Proxy) {
			p.checks.match = func(s *egress.Set, r egress.Request) (*egress.Rule, bool) {
				if r.Method == "" && s.Opens(r) {
					return s.Near(r), true
				}
				return s.Match(r)
			}
		}, []string{"a tunnel that hides what rules restrict"}},
		{"servers of opened connections are not verified", func(p *Proxy) {
			p.transport.TLSClientConfig.InsecureSkipVerify = true
		}, []string{"a server that nobody vouches for"}},
		{"the authority may speak for everybody", func(p *Proxy) {
			if p.authority != nil {
				p.authority, _ = leafca.New(leafca.Scope{Names: []string{"com", "net"}}, time.Now(), time.Hour, 1)
			}
		}, []string{"the sandbox's authority speaks for its hosts only"}},
		{"new rules are for new proxies", func(p *Proxy) {
			rules := p.rules.Load().set
			p.checks.match = func(_ *egress.Set, r egress.Request) (*egress.Rule, bool) { return rules.Match(r) }
			p.checks.opens = func(_ *egress.Set, r egress.Request) bool { return rules.Opens(r) }
		}, []string{"rules that are narrowed end what they no longer admit"}},
	}
}

func requestMutations() []mutation {
	return []mutation{
		{"heads are not judged", func(p *Proxy) {
			p.checks.head = func([]byte) httphead.Flaw { return httphead.FlawNone }
		}, []string{"requests that two readers take for two"}},
		{"line ends are not judged", func(p *Proxy) {
			p.checks.head = func(head []byte) httphead.Flaw {
				text := strings.ReplaceAll(strings.ReplaceAll(string(head), "\r\n", "\n"), "\n", "\r\n")
				return httphead.Check([]byte(text))
			}
		}, []string{"requests that two readers take for two"}},
		{"the Host header is not compared", func(p *Proxy) {
			p.checks.host = func(string, destination, uint16) bool { return true }
		}, []string{"a Host header that is not the target's", "requests inside an opened tunnel", "streams of HTTP/2 inside an opened tunnel"}},
		{"the Host header is compared without its port", func(p *Proxy) {
			p.checks.host = func(header string, to destination, standard uint16) bool {
				named, ok := parseAuthority(header, standard)
				return ok && named.name == to.name && named.addr == to.addr
			}
		}, []string{"a Host header that is not the target's", "requests inside an opened tunnel"}},
		{"only the first request is judged", func(p *Proxy) {
			var admitted *egress.Rule
			p.checks.match = func(s *egress.Set, r egress.Request) (*egress.Rule, bool) {
				if rule, ok := s.Match(r); ok {
					admitted = rule
				}
				return admitted, admitted != nil
			}
		}, []string{"a second request on a kept connection", "a second request inside an opened tunnel"}},
		{"paths are decoded before they are compared", matching(func(s *egress.Set, r egress.Request) (*egress.Set, egress.Request) {
			if path, err := url.PathUnescape(r.Path); err == nil {
				r.Path = path
			}
			return s, r
		}), []string{"a path that readers take for another"}},
		{"paths are cleaned before they are compared", matching(func(s *egress.Set, r egress.Request) (*egress.Set, egress.Request) {
			r.Path = strings.ReplaceAll(r.Path, "//", "/")
			return s, r
		}), []string{"a path that readers take for another"}},
		{"methods are compared without case", matching(func(s *egress.Set, r egress.Request) (*egress.Set, egress.Request) {
			r.Method = strings.ToUpper(r.Method)
			return s, r
		}), []string{"another method than the rule's"}},
		{"methods are not compared", matching(func(s *egress.Set, r egress.Request) (*egress.Set, egress.Request) {
			if r.Method != "" {
				r.Method = http.MethodGet
			}
			return s, r
		}), []string{"another method than the rule's", "TRACE where a rule names it"}},
		{"paths are not compared", matching(func(s *egress.Set, r egress.Request) (*egress.Set, egress.Request) {
			if r.Path != "" {
				r.Path = "/v1"
			}
			return s, r
		}), []string{"a path that readers take for another", "requests inside an opened tunnel"}},
		{"upgrades go through", func(p *Proxy) {
			p.checks.leaves = func(*http.Request) string { return "" }
		}, []string{"what leaves HTTP as it is judged", "requests inside an opened tunnel"}},
		{"overriding headers go through", func(p *Proxy) {
			p.checks.overrides = func(http.Header) string { return "" }
		}, []string{"a header that overrides method or path"}},
		{"overriding headers are known by one name", func(p *Proxy) {
			p.checks.overrides = func(h http.Header) string { return h.Get("X-HTTP-Method-Override") }
		}, []string{"a header that overrides method or path"}},
	}
}

// TestEachBrokenProxyIsNoticed shows that the probes see what they are for. A
// probe that a broken proxy still passes proves nothing.
func TestEachBrokenProxyIsNoticed(t *testing.T) {
	t.Parallel()
	byName := map[string]probe{}
	for _, p := range probes() {
		byName[p.name] = p
	}
	for _, m := range mutations() {
		for _, name := range m.noticed {
			t.Run(m.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				p, ok := byName[name]
				if !ok {
					t.Fatal("there is no such probe")
				}
				if p.try(t, m.broken) == nil {
					t.Error("the probe does not notice")
				}
			})
		}
	}
}
