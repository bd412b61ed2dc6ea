// Package egressflaws lists what can be wrong with an egress proxy, each thing by
// itself. It is for tests of tests: a probe that a flawed proxy passes proves nothing.
// Nothing that is built for users links it, which package importgraph holds.
//
// Start with [Flaws], and make a proxy by egressproxy.NewAltered.
package egressflaws

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/httphead"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/parts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Flaw is one thing that can be wrong with a proxy.
type Flaw struct {
	// Name says what is wrong.
	Name string
	// Alter makes it wrong, and nothing else.
	Alter func(*parts.Parts)
}

// Flaws lists all of them.
func Flaws() []Flaw { return append(destinationFlaws(), append(tlsFlaws(), requestFlaws()...)...) }

// matching changes what the rules are asked.
func matching(change func(*egress.Set, egress.Request) (*egress.Set, egress.Request)) func(*parts.Parts) {
	return func(p *parts.Parts) {
		p.Match = func(s *egress.Set, r egress.Request) (*egress.Rule, bool) {
			s, r = change(s, r)
			return s.Match(r)
		}
	}
}

func destinationFlaws() []Flaw {
	return []Flaw{
		{"the port is not compared", matching(func(s *egress.Set, r egress.Request) (*egress.Set, egress.Request) {
			for _, port := range []uint16{80, 443} {
				r.Port = port
				if s.Opens(r) {
					break
				}
			}
			return s, r
		})},
		{"a host is compared by its end", func(p *parts.Parts) {
			p.Match = func(s *egress.Set, r egress.Request) (*egress.Rule, bool) {
				for _, rule := range s.Rules() {
					if strings.HasSuffix(r.Host, rule.Host().Name()) {
						r.Host = rule.Host().Name()
					}
				}
				return s.Match(r)
			}
		}},
		{"a host is compared by its beginning", func(p *parts.Parts) {
			p.Match = func(s *egress.Set, r egress.Request) (*egress.Rule, bool) {
				for _, rule := range s.Rules() {
					if strings.HasPrefix(r.Host, rule.Host().Name()) {
						r.Host = rule.Host().Name()
					}
				}
				return s.Match(r)
			}
		}},
		{"a host in capitals is no host", func(p *parts.Parts) {
			p.Head = func(head []byte) httphead.Flaw {
				line, _, _ := bytes.Cut(head, []byte("\r\n"))
				if _, target, _ := bytes.Cut(line, []byte(" ")); bytes.Contains(target, []byte("API")) {
					return httphead.FlawRequestLine
				}
				return httphead.Check(head)
			}
		}},
		{"an address is as good as the name that leads there", matching(func(s *egress.Set, r egress.Request) (*egress.Set, egress.Request) {
			for _, rule := range s.Rules() {
				if r.Addr.IsValid() && rule.Host().Name() != "" {
					r.Host, r.Addr = rule.Host().Name(), netip.Addr{}
				}
			}
			return s, r
		})},
		{"an address is as good as the one before it", func(p *parts.Parts) {
			p.Match = func(s *egress.Set, r egress.Request) (*egress.Rule, bool) {
				if rule, ok := s.Match(r); ok || !r.Addr.IsValid() {
					return rule, ok
				}
				r.Addr = r.Addr.Prev()
				return s.Match(r)
			}
		}},
		{"names are looked up before they are decided", func(p *parts.Parts) {
			p.Match = func(s *egress.Set, r egress.Request) (*egress.Rule, bool) {
				p.Lookup(context.Background(), "ip", r.Host+".") //nolint:errcheck // it is the lookup that tells
				return s.Match(r)
			}
		}},
		{"names are not rooted", func(p *parts.Parts) {
			sound := p.Lookup
			p.Lookup = func(ctx context.Context, network, rooted string) ([]netip.Addr, error) {
				return sound(ctx, network, strings.TrimSuffix(rooted, "."))
			}
		}},
		{"names are looked up twice, once to judge and once to dial", func(p *parts.Parts) {
			var name atomic.Pointer[string]
			lookup, connect := p.Lookup, p.Connect
			p.Lookup = func(ctx context.Context, network, rooted string) ([]netip.Addr, error) {
				name.Store(&rooted)
				return lookup(ctx, network, rooted)
			}
			p.Connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
				addrs, err := lookup(ctx, "ip", *name.Load())
				if err != nil {
					return nil, err
				}
				return connect(ctx, netip.AddrPortFrom(addrs[0], to.Port()))
			}
		}},
		{"only the first answer is judged", func(p *parts.Parts) {
			sound := p.Answers
			p.Answers = func(addrs, own []netip.Addr) string { return sound(addrs[:1], own) }
		}},
		{"only private and loopback answers are refused", func(p *parts.Parts) {
			p.Answers = func(addrs, _ []netip.Addr) string {
				for _, a := range addrs {
					if a.IsPrivate() || a.IsLoopback() {
						return "private"
					}
				}
				return ""
			}
		}},
		{"answers are not judged", func(p *parts.Parts) {
			p.Answers = func([]netip.Addr, []netip.Addr) string { return "" }
		}},
		{"the host's own addresses are not known", func(p *parts.Parts) {
			p.Own = func() ([]netip.Addr, error) { return nil, nil }
		}},
		{"rules open metadata and loopback", func(p *parts.Parts) {
			p.Blocked = func(egress.Request) string { return "" }
		}},
	}
}
