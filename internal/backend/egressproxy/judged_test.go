package egressproxy

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/parts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// byPrefix admits by method and path, as a list with an order would.
type byPrefix struct{}

func (byPrefix) Admits(r egress.Request) bool {
	return r.Host == goodHost && r.Method == http.MethodGet && strings.HasPrefix(r.Path, "/v1/")
}

// whole admits a host, whatever is asked of it.
type whole struct{}

func (whole) Admits(r egress.Request) bool { return r.Host == goodHost }

func TestAJudgeThatLooksInsideIsAskedAboutWhatServersWillRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	twoSites(t, w)
	with := func(judge Judge) *scene {
		return newScene(t, w, setting{config: func(c *Config) { c.Judge = judge }})
	}
	inside, outside := with(byPrefix{}), with(whole{})
	must(t, inside.rawAllowed(absolute(goodHost, "/v1/x", "X-Request-Id: a")))
	for _, path := range []string{"/v1/../admin", "/v1/..%2fadmin", "/v1//x"} {
		must(t, steps(inside.rawRefused(absolute(goodHost, path), sandbox.CodeEgressDenied), outside.rawAllowed(absolute(goodHost, path))))
	}
	overridden := absolute(goodHost, "/v1/x", "X-HTTP-Method-Override: DELETE")
	must(t, steps(inside.rawRefused(overridden, sandbox.CodeEgressHeaderRefused), outside.rawAllowed(overridden)))
}

func TestAnswersToOptionsOfAServerAsAWholeAreTheServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	for methods, status := range map[string]int{"GET": http.StatusForbidden, "GET OPTIONS": http.StatusOK} {
		s := newScene(t, w, setting{rules: map[string]sandbox.EgressRule{"api": rule(goodHost, "443", methods, "*")}})
		streams := s.streams(destination{name: goodHost, port: 443})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, "https://"+goodHost+"/*", nil)
		must(t, err)
		r.URL.Opaque = "*"
		response, err := streams.RoundTrip(r)
		must(t, err)
		response.Body.Close()
		streams.CloseIdleConnections()
		if response.StatusCode != status {
			t.Errorf("%s: %d, want %d", methods, response.StatusCode, status)
		}
	}
}

func TestTheHostIsNotReachedByAnAddressThatCarriesItsOwn(t *testing.T) {
	t.Parallel()
	own := func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("11.9.9.9")}, nil }
	d := dialler{own: own, checks: new(parts.Checks)}
	for addr, refused := range map[string]bool{
		"11.9.9.9": true, "64:ff9b::b09:909": true, "2002:b09:909::1": true, "11.9.9.8": false, "64:ff9b::b09:908": false, "2002:b09:908::1": false,
	} {
		_, _, err := d.addresses(context.Background(), destination{addr: netip.MustParseAddr(addr), port: 443})
		if (err != nil) != refused {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestARuleForIPv6AtLargeOpensNoPrivateIPv4Address(t *testing.T) {
	t.Parallel()
	const private, public = "2002:a00:1::1", "2002:b00:1::1"
	for host, opens := range map[string]bool{"2000::/3": false, "::/0": false, "2002::/16": true, private: true} {
		w := newWorld(t)
		s := newScene(t, w, setting{rules: map[string]sandbox.EgressRule{"all": rule(host, "443", "*", "*")}})
		_, got := s.proxy.judge(egress.Request{Addr: netip.MustParseAddr(private), Port: 443})
		if opens != (got == nil) || got != nil && got.code != sandbox.CodeEgressAddressRefused {
			t.Errorf("%s: %v", host, got)
		}
		if _, d := s.proxy.judge(egress.Request{Addr: netip.MustParseAddr(public), Port: 443}); d != nil && host != private {
			t.Errorf("%s: %v", host, d)
		}
	}
}
