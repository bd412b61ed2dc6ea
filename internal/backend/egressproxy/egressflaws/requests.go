package egressflaws

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/httphead"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/parts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func requestFlaws() []Flaw {
	return []Flaw{
		{"heads are not judged", func(p *parts.Parts) {
			p.Head = func([]byte) httphead.Flaw { return httphead.FlawNone }
		}},
		{"line ends are not judged", func(p *parts.Parts) {
			p.Head = func(head []byte) httphead.Flaw {
				text := strings.ReplaceAll(strings.ReplaceAll(string(head), "\r\n", "\n"), "\n", "\r\n")
				return httphead.Check([]byte(text))
			}
		}},
		{"the Host header is not compared", func(p *parts.Parts) {
			p.Host = func(string, egress.Request, uint16) bool { return true }
		}},
		{"the Host header is compared without its port", func(p *parts.Parts) {
			sound := p.Host
			p.Host = func(header string, to egress.Request, standard uint16) bool {
				if host, _, err := net.SplitHostPort(header); err == nil {
					header = host
				}
				return sound(net.JoinHostPort(header, strconv.Itoa(int(to.Port))), to, standard)
			}
		}},
		{"only the first request is judged", func(p *parts.Parts) {
			var admitted atomic.Pointer[egress.Rule]
			p.Match = func(s *egress.Set, r egress.Request) (*egress.Rule, bool) {
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
		{"upgrades go through", func(p *parts.Parts) {
			p.Leaves = func(*http.Request) string { return "" }
		}},
		{"overriding headers go through", func(p *parts.Parts) {
			p.Overrides = func(http.Header) string { return "" }
		}},
		{"overriding headers are known by one name", func(p *parts.Parts) {
			p.Overrides = func(h http.Header) string { return h.Get("X-HTTP-Method-Override") }
		}},
	}
}
