package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/elazarl/goproxy"
	"github.com/sirupsen/logrus"
	stripe "github.com/stripe/goproxy"
	"github.com/stripe/smokescreen/pkg/smokescreen"
	"github.com/stripe/smokescreen/pkg/smokescreen/acl/v1"
	"github.com/stripe/smokescreen/pkg/smokescreen/metrics"
)

// serveGoproxy is goproxy with the rules of this benchmark written for it, as it has
// none of its own: a look at the host, and at the method where it is opened.
func serveGoproxy(ctx context.Context, w *workplace) error {
	text, err := os.ReadFile(filepath.Join(w.dir, rootsFile))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	proxy := goproxy.NewProxyHttpServer()
	proxy.Tr = &http.Transport{DialContext: w.dial, TLSClientConfig: &tls.Config{RootCAs: roots}, DisableCompression: true, MaxIdleConnsPerHost: 16}
	proxy.Logger = log.New(io.Discard, "", 0)
	proxy.ConnectDial = func(network, address string) (net.Conn, error) { return w.dial(ctx, network, address) }
	opened := &goproxy.ConnectAction{Action: goproxy.ConnectMitm, TLSConfig: func(string, *goproxy.ProxyCtx) (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{*w.leaf}}, nil
	}}
	proxy.OnRequest().HandleConnectFunc(func(host string, _ *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
		switch host {
		case openedHost + ":443":
			return opened, host
		case throughHost + ":443", pouringHost + ":443":
			return goproxy.OkConnect, host
		default:
			return goproxy.RejectConnect, host
		}
	})
	proxy.OnRequest().DoFunc(func(r *http.Request, _ *goproxy.ProxyCtx) (*http.Request, *http.Response) {
		if r.URL.Host == plainHost || r.URL.Hostname() == openedHost && r.Method == http.MethodGet {
			return r, nil
		}
		return r, goproxy.NewResponse(r, goproxy.ContentTypeText, http.StatusForbidden, "no")
	})
	listener, err := w.listen(ctx, "")
	if err != nil {
		return err
	}
	if err := w.ready(); err != nil {
		return err
	}
	return ended(ctx, http.Serve(listener, proxy))
}

// serveSmokescreen is smokescreen as it is started, with its own rules. It has none
// for methods.
func serveSmokescreen(ctx context.Context, w *workplace) error {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	logger.SetLevel(logrus.ErrorLevel) // as little as it can
	config := smokescreen.NewConfig()
	config.Log = logger
	config.MetricsClient = metrics.NewNoOpMetricsClient()
	config.Resolver = addressBook{}
	config.Network = "ip4"
	config.ConnectTimeout = 10 * time.Second
	config.TransportMaxIdleConns, config.TransportMaxIdleConnsPerHost = 64, 16
	config.AllowMissingRole = true
	config.RoleFromRequest = func(*http.Request) (string, error) { return "sandbox", nil }
	config.ProxyDialTimeout = func(ctx context.Context, _, address string, _ time.Duration) (net.Conn, error) {
		return w.atAddress(ctx, address)
	}
	config.EgressACL = &acl.ACL{Logger: logger, DefaultRule: &acl.Rule{
		Project: "sandbox", Policy: acl.Enforce, DomainGlobs: []string{plainHost, throughHost, openedHost, pouringHost},
		MitmDomains: []acl.MitmDomain{{Domain: openedHost}},
	}}
	config.MitmTLSConfig = func(string, *stripe.ProxyCtx) (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{*w.leaf}}, nil
	}
	listener, err := w.listen(ctx, "")
	if err != nil {
		return err
	}
	config.Listener = listener
	quit := make(chan any)
	log.SetOutput(io.Discard) // which its goproxy writes to
	context.AfterFunc(ctx, func() { close(quit) })
	if err := w.ready(); err != nil {
		return err
	}
	smokescreen.StartWithConfig(config, quit)
	return nil
}

// addressBook is a resolver in smokescreen's words.
type addressBook struct{}

func (addressBook) LookupPort(_ context.Context, _, service string) (int, error) {
	return strconv.Atoi(service)
}

func (addressBook) LookupIP(_ context.Context, _, host string) ([]net.IP, error) {
	addr, ok := addresses[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []net.IP{addr.AsSlice()}, nil
}

// atAddress connects to an address as text.
func (w *workplace) atAddress(ctx context.Context, address string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	return w.connect(ctx, to)
}
