// Package listener puts an emulator of Azure Container Apps Sandboxes behind a port of
// this machine, over TLS with an authority of its own. It is apart from the emulator
// so that who reaches that within its own process, as the provider does, links no
// server.
//
// Read [Listen].
package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/authority"
)

// Options say where an emulator is reached.
type Options struct {
	// Address is HOST:PORT; empty is a free port of 127.0.0.1. A host that others can
	// reach needs [acasemu.Config].Tokens.
	Address string
	// Names are host names, beside localhost, that clients may call the emulator by;
	// each admits what lies below it.
	Names []string
}

// Server is an emulator that listens.
type Server struct {
	emulator  *acasemu.Emulator
	authority *authority.Authority
	listener  net.Listener
	http      *http.Server
	sweeping  context.CancelFunc
	running   sync.WaitGroup
	failed    error
}

// ErrNeedsTokens is that somebody else than this machine could reach the emulator,
// and nobody would be asked who they are.
var ErrNeedsTokens = errors.New("an emulator that other machines can reach needs tokens")

// Listen serves the emulator over TLS with an authority of its own, until the
// server is closed.
func Listen(ctx context.Context, e *acasemu.Emulator, o Options) (*Server, error) {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	if err := checkAddress(e, o.Address); err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	s := &Server{emulator: e, listener: listener}
	if s.authority, err = authority.New(append([]string{"localhost"}, o.Names...), s.addresses()); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s.http = &http.Server{
		Handler: e, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		// Connections have to be breakable in the middle of an answer, which those of
		// HTTP/2 are not; nor does any client of the service speak it.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		// Who broke a connection off knows, and nobody else can do anything about it.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	sweeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.sweeping = stop
	s.running.Go(func() { s.sweep(sweeping) })
	s.running.Go(func() {
		secured := tls.NewListener(listener, &tls.Config{
			MinVersion: tls.VersionTLS12, GetCertificate: s.authority.Certificate, NextProtos: []string{"http/1.1"},
		})
		if err := s.http.Serve(secured); !errors.Is(err, http.ErrServerClosed) {
			s.failed = err
		}
	})
	return s, nil
}

// checkAddress refuses an address that other machines reach, unless tokens say who
// may ask. A name is not trusted to mean this machine.
func checkAddress(e *acasemu.Emulator, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("the address to listen at is HOST:PORT: %w", err)
	}
	if ip := net.ParseIP(host); host == "localhost" || (ip != nil && ip.IsLoopback()) || e.HasTokens() {
		return nil
	}
	return ErrNeedsTokens
}

// addresses are what the certificate is for.
func (s *Server) addresses() []netip.Addr {
	all := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	if at, err := netip.ParseAddrPort(s.listener.Addr().String()); err == nil && !at.Addr().IsLoopback() && !at.Addr().IsUnspecified() {
		all = append(all, at.Addr().Unmap().WithZone(""))
	}
	return all
}

// sweepEvery is how exactly policies of time are kept for sandboxes that nobody asks
// about.
const sweepEvery = time.Second

// sweep keeps time for guests until the server is closed.
func (s *Server) sweep(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			// What cannot be swept now is swept next time, or when it is asked for.
			_ = s.emulator.Sweep(ctx)
		}
	}
}

// URL is where both planes are.
func (s *Server) URL() string {
	host, port, err := net.SplitHostPort(s.listener.Addr().String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "https://" + net.JoinHostPort(host, port)
}

// CA is the certificate of the authority that clients have to trust, in PEM.
func (s *Server) CA() []byte { return s.authority.PEM() }

// Close stops listening and closes the emulator. Requests under way are broken off
// when ctx ends.
func (s *Server) Close(ctx context.Context) error {
	s.sweeping()
	closed := s.emulator.Close(ctx)
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	s.running.Wait()
	return errors.Join(closed, err, s.failed)
}
