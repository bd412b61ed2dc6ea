package egressproxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/leafca"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/parts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Proxy serves one sandbox. Make one with [New], and close it: it holds a key,
// connections and goroutines. It is safe for concurrent use.
type Proxy struct {
	config    Config
	checks    parts.Checks
	gates     gates
	rules     atomic.Pointer[ruleset]
	events    *events
	pace      denialPace
	flights   flights
	dialler   dialler
	servers   open // connections to servers of judged requests
	transport *http.Transport
	streams   *streams
	authority *leafca.Authority // nil where no rule asks for it
	heads     sync.Pool         // of *bufio.Reader, of the size of a head
	pieces    sync.Pool         // of *[streamBuffer]byte, for bodies on their way

	base   context.Context // ends with the proxy
	end    context.CancelFunc
	mu     sync.Mutex
	closed bool
	guests sync.WaitGroup
}

// New makes a proxy. It opens nothing yet.
func New(config Config) (*Proxy, error) { return NewAltered(config, nil) }

// NewAltered makes a proxy of parts that somebody has altered; nil alters none. It is
// for tests of tests: see package parts.
func NewAltered(config Config, alter func(*parts.Parts)) (*Proxy, error) {
	config, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("make an egress proxy: %w", err)
	}
	var via *upstream
	if config.Upstream != nil {
		if via, err = newUpstream(*config.Upstream); err != nil {
			return nil, fmt.Errorf("make an egress proxy: %w", err)
		}
	}
	p := &Proxy{config: config, gates: config.Pool.gates(config.Limits)}
	p.dialler = dialler{upstream: via, checks: &p.checks, limits: &p.config.Limits, gates: &p.gates}
	made := p.parts()
	if alter != nil {
		alter(&made)
	}
	p.checks = made.Checks
	p.dialler.names, p.dialler.own, p.dialler.connect = made.Lookup, made.Own, made.Connect
	if scope := made.Scope; len(scope.Names)+len(scope.Prefixes) > 0 {
		p.authority, err = leafca.New(scope, config.Clock(), config.Lifetime, config.Limits.Certificates)
		if err != nil {
			return nil, fmt.Errorf("make an egress proxy: %w", err)
		}
	}
	p.rules.Store(newRuleset(config.Rules))
	p.base, p.end = context.WithCancel(context.Background())
	p.pace = newDenialPace(config.Limits.DenialsPerSecond)
	p.events = newEvents(config.Observer, config.Clock, config.Limits)
	p.pieces.New = func() any { return new([streamBuffer]byte) }
	p.heads.New = func() any { return bufio.NewReaderSize(nil, p.config.Limits.HeaderBytes) }
	p.transport = p.newTransport(made.Servers)
	p.streams = newStreams(p)
	return p, nil
}

// parts are the sound ones.
func (p *Proxy) parts() parts.Parts {
	made := parts.Parts{
		Checks: allChecks(), Rules: p.config.Rules, Scope: scopeOf(p.config.Rules),
		Lookup: p.config.Resolver.LookupNetIP, Own: p.config.HostAddresses, Connect: p.config.Connect,
		Servers: &tls.Config{RootCAs: p.config.RootCAs, MinVersion: tls.VersionTLS12},
	}
	if made.Connect == nil {
		made.Connect = p.dialler.onNetwork
	}
	return made
}

// Bounds on what is kept of servers, which HTTP itself asks for.
const (
	keptServers       = 64
	keptServersEach   = 16
	keptServerTimeout = 90 * time.Second
	responseHead      = 64 << 10
	responseFields    = 512 // header lines
	// Of what a server sends, and a guest does not take: of one response over HTTP/2,
	// and of all of a connection.
	responseReceived = 512 << 10
	serverReceived   = 2 << 20
)

func (p *Proxy) newTransport(inside *tls.Config) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	return &http.Transport{
		Proxy:                  nil, // the environment is never asked
		DialContext:            p.dialServer,
		TLSClientConfig:        inside,
		TLSHandshakeTimeout:    p.config.Limits.HandshakeTimeout,
		DisableCompression:     true, // what a server sends is what the guest gets
		MaxIdleConns:           keptServers,
		MaxIdleConnsPerHost:    keptServersEach,
		MaxConnsPerHost:        p.config.Limits.Connections,
		IdleConnTimeout:        keptServerTimeout,
		MaxResponseHeaderBytes: responseHead,
		Protocols:              protocols,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: responseReceived, MaxReceiveBufferPerConnection: serverReceived, MaxReadFrameSize: frameBytes,
		},
	}
}

// CAPEM is the certificate that the guest has to trust where rules ask for methods
// or paths, as PEM without a private part. It is nil where none does, and does not
// change: rules for other hosts that come later are refused rather than opened.
func (p *Proxy) CAPEM() []byte {
	if p.authority == nil {
		return nil
	}
	return p.authority.CertificatePEM()
}

// Stats are the counts so far.
func (p *Proxy) Stats() Stats { return p.events.stats() }

// Reload replaces the rules: the next request is judged by the new ones. Tunnels,
// opened connections and requests under way that the new rules do not admit are
// ended before it returns; it says how many. It is not for widening what is opened:
// see [Proxy.CAPEM].
func (p *Proxy) Reload(rules *egress.Set) (ended int) {
	p.events.flush()
	p.rules.Store(newRuleset(rules))
	ended = p.flights.end("the rules were replaced", func(f *flight) bool { return !p.admits(f) })
	p.transport.CloseIdleConnections()
	return ended
}

// ErrClosed is returned by Serve once the proxy is closed.
var ErrClosed = errors.New("the egress proxy is closed")

// Serve takes the guest's connections from a listener, until ctx ends or the proxy
// is closed, and returns when the last of them has ended. It closes the listener.
// Its error is nil where it was told to end; otherwise nobody reaches anything any
// more, which the observer is told as [sandbox.CodeEgressProxyLost].
func (p *Proxy) Serve(ctx context.Context, listener net.Listener) error {
	defer listener.Close()
	if !p.begin() {
		return ErrClosed
	}
	defer p.guests.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.base, cancel)() //nolint:contextcheck // both end it
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	var served sync.WaitGroup
	defer served.Wait()
	defer cancel()
	for {
		room, err := p.gates.connections.enter(ctx)
		if err != nil {
			return nil
		}
		conn, err := accept(ctx, listener)
		if err != nil {
			room.leave()
			if ctx.Err() != nil {
				return nil
			}
			p.events.proxyLost()
			return fmt.Errorf("take a guest's connection: %w", err)
		}
		served.Go(func() {
			defer room.leave()
			p.guest(ctx, conn)
		})
	}
}

// begin counts a Serve, unless the proxy is closed.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.guests.Add(1)
	}
	return !p.closed
}

// accept takes a connection, and waits a little where the machine is out of
// something that it will have again.
func accept(ctx context.Context, listener net.Listener) (net.Conn, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		conn, err := listener.Accept()
		var transient interface{ Temporary() bool }
		if err == nil || !errors.As(err, &transient) || !transient.Temporary() {
			return conn, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, err
		}
	}
}

// Close ends everything that is under way, and returns when it has ended and the
// observer was told, or when ctx ends.
func (p *Proxy) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.flights.close() // what is under way is told to be ended before it is
	p.end()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.guests.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		return fmt.Errorf("close an egress proxy: %w", context.Cause(ctx))
	}
	p.servers.close()
	p.transport.CloseIdleConnections()
	if err := errors.Join(p.streams.close(ctx), p.events.close(ctx)); err != nil {
		return fmt.Errorf("close an egress proxy: %w", err)
	}
	return nil
}
