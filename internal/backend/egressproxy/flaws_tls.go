package egressproxy

import (
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/clienthello"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/leafca"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func tlsFlaws() []Flaw {
	return []Flaw{
		{"the server name is not compared", func(p *Proxy) {
			p.checks.hello = func(destination, clienthello.Hello) string { return "" }
		}},
		{"a missing server name is good", func(p *Proxy) {
			p.checks.hello = func(d destination, h clienthello.Hello) string {
				if h.ServerName == "" {
					return ""
				}
				return helloDiffers(d, h)
			}
		}},
		{"the server name is held against the rules, not the tunnel", func(p *Proxy) {
			p.checks.hello = func(d destination, h clienthello.Hello) string {
				if h.ServerName != "" {
					return ""
				}
				return helloDiffers(d, h)
			}
		}},
		{"the second hello is not compared with the first", func(p *Proxy) {
			p.checks.again = func(_, _ clienthello.Hello) string { return "" }
		}},
		{"a tunnel is passed through where rules restrict requests", func(p *Proxy) {
			p.checks.match = func(s *egress.Set, r egress.Request) (*egress.Rule, bool) {
				if r.Method == "" && s.Opens(r) {
					return s.Near(r), true
				}
				return s.Match(r)
			}
		}},
		{"servers of opened connections are not verified", func(p *Proxy) {
			p.transport.TLSClientConfig.InsecureSkipVerify = true
		}},
		{"the authority may speak for everybody", func(p *Proxy) {
			if p.authority != nil {
				p.authority, _ = leafca.New(leafca.Scope{Names: []string{"com", "net"}}, time.Now(), time.Hour, 1)
			}
		}},
		{"new rules are for new proxies", func(p *Proxy) {
			rules := p.rules.Load().set
			p.checks.match = func(_ *egress.Set, r egress.Request) (*egress.Rule, bool) { return rules.Match(r) }
			p.checks.opens = func(_ *egress.Set, r egress.Request) bool { return rules.Opens(r) }
		}},
	}
}
