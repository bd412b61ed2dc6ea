package main

import (
	"context"
	"crypto/x509"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// names answer as a name server would, at once.
type names struct{}

func (names) LookupNetIP(_ context.Context, _, rooted string) ([]netip.Addr, error) {
	addr, ok := addresses[strings.TrimSuffix(rooted, ".")]
	if !ok {
		return nil, nil
	}
	return []netip.Addr{addr}, nil
}

func ourRules() (*egress.Set, error) {
	var rules []egress.Rule
	for host, r := range map[string]sandbox.EgressRule{
		plainHost:   {Ports: []string{"80"}, Methods: []string{"*"}},
		throughHost: {Ports: []string{"443"}, Methods: []string{"*"}},
		openedHost:  {Ports: []string{"443"}, Methods: []string{"GET"}},
		pouringHost: {Ports: []string{"443"}, Methods: []string{"*"}},
	} {
		r.Host, r.Paths = host, []string{"*"}
		rule, findings := egress.ParseRule(strings.Split(host, ".")[0], r, nil)
		if len(findings) > 0 {
			return nil, errors.New(string(findings[0].Code))
		}
		rules = append(rules, rule)
	}
	return egress.NewSet(rules), nil
}

// serveOurs serves the proxy of the process backend, with more connections than one
// sandbox has by default. Somebody observes: observers are what a proxy is run with.
func serveOurs(ctx context.Context, w *workplace) error {
	rules, err := ourRules()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(w.dir, rootsFile))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	proxy, err := egressproxy.New(egressproxy.Config{
		Rules: rules, Resolver: names{}, Connect: w.connect, RootCAs: roots, Observer: nowhere{},
		Limits: egressproxy.Limits{Connections: 4096},
	})
	if err != nil {
		return err
	}
	w.ca = proxy.CAPEM()
	listener, err := w.listen(ctx, "")
	if err != nil {
		return err
	}
	if err := w.ready(); err != nil {
		return err
	}
	err = proxy.Serve(ctx, listener)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, proxy.Close(closing))
}

type nowhere struct{}

func (nowhere) Observe(egress.Event) {}
