package egressproxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/httphead"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Upstream is a proxy of the host's network, where there is no other way out. What
// is admitted does not change by it: names are looked up and addresses judged here,
// and what the upstream is asked for, by CONNECT and for requests without TLS too,
// is the judged address. It is never asked for a name, so that nobody decides anew
// what a name leads to. Its own address is nothing that a sandbox can reach, since
// it would open the way to everything that it is allowed itself.
type Upstream struct {
	// URL is "http://proxy.example.com:3128", or https where the upstream speaks TLS:
	// a scheme, a host and a port. The host is the operator's own word, so it may be
	// any address, and a name is looked up as the machine looks up names.
	URL string
	// Authorization gives the value of Proxy-Authorization, for each connection anew;
	// nil sends none. Nobody but the upstream gets to see it.
	Authorization func(context.Context) (string, error)
	// RootCAs verify an https upstream; nil is the system's roots.
	RootCAs *x509.CertPool
}

// Check reports what is wrong with the URL, without repeating it.
func (u Upstream) Check() error {
	_, err := newUpstream(u)
	return err
}

// upstream is an Upstream that can be used.
type upstream struct {
	port          uint16
	addresses     func(context.Context) ([]netip.Addr, error)
	dial          func(ctx context.Context, network, address string) (net.Conn, error)
	tls           *tls.Config // nil where it speaks none
	authorization func(context.Context) (string, error)
}

// newUpstream reads where the upstream is. Its errors do not repeat the URL, in
// which somebody may have left a password.
func newUpstream(u Upstream) (*upstream, error) {
	at, err := url.Parse(u.URL)
	if err != nil {
		return nil, errors.New("the URL of the upstream proxy cannot be read")
	}
	if at.User != nil {
		return nil, errors.New("the URL of the upstream proxy has a user: credentials belong into Authorization")
	}
	port, err := strconv.ParseUint(at.Port(), 10, 16)
	bare := url.URL{Scheme: at.Scheme, Host: at.Host}
	if err != nil || port == 0 || at.Hostname() == "" || bare.String() != u.URL {
		return nil, errors.New("the URL of the upstream proxy is not a scheme, a host and a port, such as http://proxy.example.com:3128")
	}
	up := &upstream{port: uint16(port), dial: new(net.Dialer).DialContext, authorization: u.Authorization}
	switch at.Scheme {
	case "http":
	case "https":
		up.tls = &tls.Config{ServerName: at.Hostname(), RootCAs: u.RootCAs, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	default:
		return nil, errors.New("the URL of the upstream proxy is neither http nor https")
	}
	up.addresses = func(ctx context.Context) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", at.Hostname())
	}
	return up, nil
}

// own are the addresses of the upstream itself.
func (u *upstream) own(ctx context.Context) ([]netip.Addr, error) {
	addrs, err := u.addresses(ctx)
	if err != nil || len(addrs) == 0 {
		return nil, upstreamFailed("has no address that is known here")
	}
	addrs = slices.Clone(addrs)
	for i, addr := range addrs {
		addrs[i] = addr.Unmap().WithZone("")
	}
	return addrs, nil
}

func upstreamFailed(how string) *denial {
	return deny(sandbox.CodeEgressUpstreamFailed, http.StatusBadGateway, "the upstream proxy "+how)
}

// connect gives a connection through the upstream, at one of these addresses of its
// own, to a judged address. Its error is a [*denial].
func (u *upstream) connect(ctx context.Context, own []netip.Addr, to netip.AddrPort) (net.Conn, error) {
	conn, err := u.reach(ctx, own)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	err = u.ask(ctx, conn, to)
	if !stop() {
		err = upstreamFailed("did not answer in time")
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// reach connects to the upstream.
func (u *upstream) reach(ctx context.Context, own []netip.Addr) (conn net.Conn, err error) {
	for _, addr := range own {
		if conn, err = u.dial(ctx, "tcp", netip.AddrPortFrom(addr, u.port).String()); err == nil {
			break
		}
	}
	if err != nil {
		return nil, upstreamFailed(failure(err))
	}
	if u.tls == nil {
		return conn, nil
	}
	inside := tls.Client(conn, u.tls)
	if err := inside.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, upstreamFailed("does not speak TLS with a certificate that the host machine trusts")
	}
	return inside, nil
}

// ask asks for a connection to a judged address.
func (u *upstream) ask(ctx context.Context, conn net.Conn, to netip.AddrPort) error {
	header := http.Header{"User-Agent": {""}} // none, rather than ours
	if u.authorization != nil {
		value, err := u.authorization(ctx)
		if err != nil {
			return upstreamFailed("needs credentials, and there are none")
		}
		header.Set("Proxy-Authorization", value)
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: to.String()}, Host: to.String(), Header: header}
	if err := request.Write(conn); err != nil {
		return upstreamFailed("broke off")
	}
	return readUpstream(conn)
}

// upstreamHead is how long the head of an answer may be.
const upstreamHead = 16 << 10

// readUpstream reads the answer to a CONNECT, to its end and not a byte further:
// what follows is the server's.
func readUpstream(conn io.Reader) error {
	head := make([]byte, 0, upstreamHead)
	end := 0
	for end == 0 {
		if len(head) == cap(head) {
			return upstreamFailed("answered with a head that is too large")
		}
		n, err := conn.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
		if end = httphead.End(head); end == 0 && err != nil {
			return upstreamFailed("broke off")
		}
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head[:end])), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return upstreamFailed("answered what is not HTTP")
	}
	response.Body.Close()
	switch {
	case response.StatusCode/100 != 2:
		return upstreamFailed(fmt.Sprintf("answered %d", response.StatusCode))
	case end < len(head):
		// Neither TLS nor HTTP has a server that speaks first.
		return upstreamFailed("sent something before it was asked")
	}
	return nil
}
