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
	// Exec runs a program in a guest in memory. It is given what a host asked the
	// backend acas for: the program's words, variables, directory and input. A command
	// that another client of the service sends comes as /bin/sh, -c and its text. A
	// host whose policy says which users it takes asks for the programs "id -u" and
	// "id -g" too. It must return soon after ctx ends, and an exit code of 0 to 255.
	// Nil is guests without commands.
	Exec func(ctx context.Context, files *ACASFiles, req engine.ExecRequest) (exitCode int, err error)
	// Shell takes the place of Exec for tests of the service's own door: it is given
	// every command as it arrives, as /bin/sh, -c and its text. For the backend acas it
	// has to be a POSIX shell.
	Shell func(ctx context.Context, files *ACASFiles, req engine.ExecRequest) (exitCode int, err error)
	// Faults are switched on from the start, in the notation of `sandboxctl emulate`.
	Faults []string
	// Now tells the emulator the time; nil is the system's.
	Now func() time.Time
	// Slow shows every state on the way that the service has: images build, deletions
	// take a moment.
	Slow bool
}

// ACASFiles are a guest's files as its programs see them, with the rights of the
// image's user. Paths are absolute. Its methods:
//
//   - User() string: whom programs run as; empty is root.
//   - Read(path string) ([]byte, error): the content of a file.
//   - Write(path string, data []byte) error: replaces a file.
//   - Mkdir(path string) error: makes a directory and those above it.
//   - Remove(path string) error: removes what stands there, and all in it.
//   - Link(target, path string) error: makes a symbolic link.
//   - Pipe(path string) error: makes a named pipe.
type ACASFiles = memguests.View

// ACAS is an emulator of Azure Container Apps Sandboxes on this machine.
type ACAS struct {
	// URL is both planes, the Endpoint of the backend acas.
	URL string
	// Roots trust it, as the backend's RootCAs. Its Transport may be the ACAS itself
	// instead: then no port is used.
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
	shell := o.Shell
	if shell == nil && o.Exec != nil {
		shell = programs(o.Exec)
	}
	guests := memguests.New(memguests.Options{Exec: shell, Now: o.Now})
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
