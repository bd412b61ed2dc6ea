package egressproxy

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/httphead"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func requestFlaws() []Flaw {
	return []Flaw{
		{"heads are not judged", func(p *Proxy) {
			p.checks.head = func([]byte) httphead.Flaw { return httphead.FlawNone }
		}},
		{"line ends are not judged", func(p *Proxy) {
			p.checks.head = func(head []byte) httphead.Flaw {
				text := strings.ReplaceAll(strings.ReplaceAll(string(head), "\r\n", "\n"), "\n", "\r\n")
				return httphead.Check([]byte(text))
			}
		}},
		{"the Host header is not compared", func(p *Proxy) {
			p.checks.host = func(string, destination, uint16) bool { return true }
		}},
		{"the Host header is compared without its port", func(p *Proxy) {
			p.checks.host = func(header string, to destination, standard uint16) bool {
				named, ok := parseAuthority(header, standard)
				return ok && named.name == to.name && named.addr == to.addr
			}
		}},
		{"only the first request is judged", func(p *Proxy) {
			var admitted atomic.Pointer[egress.Rule]
			p.checks.match = func(s *egress.Set, r egress.Request) (*egress.Rule, bool) {
				if rule, ok := s.Match(r); ok {
					admitted.Store(rule)
				}
				rule := admitted.Load()
				return rule, rule != nil
			}
		}},
		{"paths are decoded before they are compared", matching(func(s *egress.Set, r egress.Request) (*egress.Set, egress.Request) {
			if path, err := url.PathUnescape(r.Path); err == nil {
				r.Path = path
			}
			return s, r
		})},
		{"paths are cleaned before they are compared", matching(func(s *egress.Set, r egress.Request) (*egress.Set, egress.Request) {
			r.Path = strings.ReplaceAll(r.Path, "//", "/")
			return s, r
		})},
		{"methods are compared without case", matching(func(s *egress.Set, r egress.Request) (*egress.Set, egress.Request) {
			r.Method = strings.ToUpper(r.Method)
			return s, r
		})},
		{"methods are not compared", matching(func(s *egress.Set, r egress.Request) (*egress.Set, egress.Request) {
			if r.Method != "" {
				r.Method = http.MethodGet
			}
			return s, r
		})},
		{"paths are not compared", matching(func(s *egress.Set, r egress.Request) (*egress.Set, egress.Request) {
			if r.Path != "" {
				r.Path = "/v1"
			}
			return s, r
		})},
		{"upgrades go through", func(p *Proxy) {
			p.checks.leaves = func(*http.Request) string { return "" }
		}},
		{"overriding headers go through", func(p *Proxy) {
			p.checks.overrides = func(http.Header) string { return "" }
		}},
		{"overriding headers are known by one name", func(p *Proxy) {
			p.checks.overrides = func(h http.Header) string { return h.Get("X-HTTP-Method-Override") }
		}},
	}
}
