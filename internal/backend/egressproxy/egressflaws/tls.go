package egressflaws

import (
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/clienthello"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/leafca"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/parts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func tlsFlaws() []Flaw {
	return []Flaw{
		{"the server name is not compared", func(p *parts.Parts) {
			p.Hello = func(egress.Request, clienthello.Hello) string { return "" }
		}},
		{"a missing server name is good", func(p *parts.Parts) {
			sound := p.Hello
			p.Hello = func(to egress.Request, h clienthello.Hello) string {
				if h.ServerName == "" {
					return ""
				}
				return sound(to, h)
			}
		}},
		{"the server name is held against the rules, not the tunnel", func(p *parts.Parts) {
			sound := p.Hello
			p.Hello = func(to egress.Request, h clienthello.Hello) string {
				if h.ServerName != "" {
					return ""
				}
				return sound(to, h)
			}
		}},
		{"the second hello is not compared with the first", func(p *parts.Parts) {
			p.Again = func(_, _ clienthello.Hello) string { return "" }
		}},
		{"a tunnel is passed through where rules restrict requests", func(p *parts.Parts) {
			p.Match = func(s *egress.Set, r egress.Request) (*egress.Rule, bool) {
				if r.Method == "" && s.Opens(r) {
					return s.Near(r), true
				}
				return s.Match(r)
			}
		}},
		{"servers of opened connections are not verified", func(p *parts.Parts) {
			p.Servers.InsecureSkipVerify = true
		}},
		{"the authority may speak for everybody", func(p *parts.Parts) {
			if len(p.Scope.Names)+len(p.Scope.Prefixes) > 0 {
				p.Scope = leafca.Scope{Names: []string{"com", "net"}}
			}
		}},
		{"new rules are for new proxies", func(p *parts.Parts) {
			rules := p.Rules
			p.Match = func(_ *egress.Set, r egress.Request) (*egress.Rule, bool) { return rules.Match(r) }
			p.Opens = func(_ *egress.Set, r egress.Request) bool { return rules.Opens(r) }
		}},
	}
}
