package sandboxtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/listener"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/memguests"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// ACASOptions say how an emulator of Azure Container Apps Sandboxes behaves. The
// zero value is the service as it was seen, taking no time over anything, with
// guests in memory that hold files and know no commands.
type ACASOptions struct {
	// Exec runs a command in a guest in memory; nil is guests without commands.
	Exec func(ctx context.Context, files *ACASFiles, req engine.ExecRequest) (exitCode int, err error)
	// Faults are switched on from the start, in the notation of `sandboxctl emulate`.
	Faults []string
	// Now tells the emulator the time; nil is the system's.
	Now func() time.Time
	// Slow shows every state on the way that the service has: images build, deletions
	// take a moment.
	Slow bool
}

// ACASFiles are a guest's files as its programs see them.
type ACASFiles = memguests.View

// ACAS is an emulator of Azure Container Apps Sandboxes on this machine.
type ACAS struct {
	// URL is both planes.
	URL string
	// Roots trust it.
	Roots *x509.CertPool

	emulator *acasemu.Emulator
	guests   *memguests.Guests
}

// ACASRequest is one request as it arrived.
type ACASRequest struct {
	// Operation is its name in the contract, such as "sandbox.create"; empty for what
	// is none.
	Operation, Method, Path string
	// Status is what it was answered; zero when the connection was broken off.
	Status int
}

// StartACAS starts an emulator that ends with the test. At most one options is
// given.
func StartACAS(tb testing.TB, options ...ACASOptions) *ACAS {
	tb.Helper()
	var o ACASOptions
	for _, given := range options {
		o = given
	}
	guests := memguests.New(memguests.Options{Exec: o.Exec, Now: o.Now})
	cfg := acasemu.Config{State: filepath.Join(tb.TempDir(), "acas.db"), Guests: guests, Pace: &acasemu.Pace{}, Faults: o.Faults}
	if o.Now != nil {
		cfg.Clock = clock(o.Now)
	}
	if o.Slow {
		cfg.Pace = nil
	}
	e, err := acasemu.New(cfg)
	if err != nil {
		tb.Fatalf("making an emulator: %v", err)
	}
	s, err := listener.Listen(tb.Context(), e, listener.Options{})
	if err != nil {
		tb.Fatalf("starting an emulator: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeBound)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			tb.Errorf("closing an emulator: %v", err)
		}
	})
	a := &ACAS{URL: s.URL(), Roots: x509.NewCertPool(), emulator: e, guests: guests}
	if !a.Roots.AppendCertsFromPEM(s.CA()) {
		tb.Fatal("an emulator's authority is not PEM")
	}
	return a
}

type clock func() time.Time

func (c clock) Now() time.Time { return c() }

// Client speaks TLS with the emulator and follows no redirect. It ends with the
// test.
func (a *ACAS) Client(tb testing.TB) *http.Client {
	tb.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: a.Roots}}
	tb.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Do answers a request without a network. It makes an ACAS a transporter of azcore.
func (a *ACAS) Do(r *http.Request) (*http.Response, error) { return a.emulator.Transport().Do(r) }

// Fault switches a fault on.
func (a *ACAS) Fault(tb testing.TB, spec string) {
	tb.Helper()
	if err := a.emulator.Fault(spec); err != nil {
		tb.Fatal(err)
	}
}

// ClearFaults switches all faults off.
func (a *ACAS) ClearFaults() { a.emulator.ClearFaults() }

// Requests are what arrived, the oldest first.
func (a *ACAS) Requests() []ACASRequest {
	all := a.emulator.Requests()
	requests := make([]ACASRequest, 0, len(all))
	for _, x := range all {
		requests = append(requests, ACASRequest{Operation: x.Operation, Method: x.Request.Method, Path: x.Request.Path, Status: x.Response.Status})
	}
	return requests
}

// Guests are the ids of sandboxes that have something inside: what is left there is
// what a client left behind.
func (a *ACAS) Guests() []string { return a.guests.IDs() }
