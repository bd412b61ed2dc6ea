// Command broken stands before an emulator of Azure Container Apps Sandboxes and
// breaks one thing that it says, so that .ci/interop can show that the service's real
// clients notice. No product has it.
//
//	broken -list                                      the flaws, one a line: name, client, check
//	broken -to URL -ca FILE -flaw NAME -ca-out FILE   serve one, and print {"url": …} when ready
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/authority"
)

func main() {
	to := flag.String("to", "", "the emulator's URL")
	ca := flag.String("ca", "", "the file with the emulator's certificate")
	name := flag.String("flaw", "none", "what to break")
	caOut := flag.String("ca-out", "", "write the certificate that clients have to trust to this file")
	list := flag.Bool("list", false, "list the flaws")
	flag.Parse()
	if *list {
		for _, f := range flaws() {
			fmt.Println(f.name, f.client, f.check)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *to, *ca, *name, *caOut); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, to, ca, name, caOut string) error {
	i := slices.IndexFunc(flaws(), func(f flaw) bool { return f.name == name })
	if i < 0 {
		return fmt.Errorf("-flaw %q: -list has them", name)
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return fmt.Errorf("-ca: %w", err)
	}
	proxy, err := newProxy(to, pem, flaws()[i])
	if err != nil {
		return err
	}
	made, err := authority.New([]string{"localhost"}, []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})})
	if err != nil {
		return err
	}
	if err := os.WriteFile(caOut, made.PEM(), 0o600); err != nil {
		return fmt.Errorf("-ca-out: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: made.Certificate, NextProtos: []string{"http/1.1"}}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"url": "https://" + listener.Addr().String()}); err != nil {
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newProxy passes requests on to the emulator at a URL, with a flaw.
func newProxy(to string, ca []byte, f flaw) (http.Handler, error) {
	target, err := url.Parse(to)
	if err != nil {
		return nil, fmt.Errorf("-to: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("-ca: the file has no certificate")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}, DisableCompression: true, MaxIdleConnsPerHost: 16}
	return &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.Host = p.In.Host                 // links are made of it
			p.Out.URL.RawQuery = p.In.URL.RawQuery // as the emulator has to read it: raw
		},
		Transport: flawed{transport, f}, ModifyResponse: f.tell, ErrorLog: log.New(io.Discard, "", 0),
	}, nil
}

// flawed is a transport that a flaw may keep a request from.
type flawed struct {
	next http.RoundTripper
	flaw flaw
}

func (t flawed) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.flaw.ask != nil {
		if answered, err := t.flaw.ask(r); answered != nil || err != nil {
			return answered, err
		}
	}
	return t.next.RoundTrip(r)
}
