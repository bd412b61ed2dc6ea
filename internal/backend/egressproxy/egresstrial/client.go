package egresstrial

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// client speaks to a proxy as programs of the guest do.
type client struct {
	guest Guest
	proxy netip.AddrPort
	roots *x509.CertPool
	world *world
}

// reply is what came back.
type reply struct {
	status int
	code   sandbox.Code // of a refusal by the proxy
}

// attemptTime bounds one attempt, which takes some milliseconds.
const attemptTime = 10 * time.Second

// plain asks for a URL without TLS.
func (c client) plain(ctx context.Context, url string) (reply, error) {
	return c.within(ctx, func(conn net.Conn) (reply, error) {
		host, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
		return ask(conn, bufio.NewReader(conn), http.MethodGet, url, host)
	})
}

// tunnel asks for a tunnel, and leaves it at that.
func (c client) tunnel(ctx context.Context, to string) (reply, error) {
	return c.within(ctx, func(conn net.Conn) (reply, error) {
		return ask(conn, bufio.NewReader(conn), http.MethodConnect, to, to)
	})
}

// secure asks for paths of a server over TLS through a tunnel, one after another
// on one connection, and answers the last reply. The server's name is what TLS
// says; empty is the address that the tunnel leads to.
func (c client) secure(ctx context.Context, to, name string, requests ...string) (reply, error) {
	return c.within(ctx, func(conn net.Conn) (reply, error) {
		r, err := ask(conn, bufio.NewReader(conn), http.MethodConnect, to, to)
		if err != nil || r.status != http.StatusOK {
			return r, err
		}
		host, _, err := net.SplitHostPort(to)
		if err != nil {
			return reply{}, err
		}
		if name == "" {
			name = host
		}
		inside := tls.Client(conn, &tls.Config{RootCAs: c.roots, ServerName: name, MinVersion: tls.VersionTLS12})
		if err := inside.HandshakeContext(ctx); err != nil {
			return reply{}, fmt.Errorf("TLS: %w", err)
		}
		replies := bufio.NewReader(inside)
		for _, request := range requests {
			method, path, _ := strings.Cut(request, " ")
			if r, err = ask(inside, replies, method, path, host); err != nil || r.status != http.StatusOK {
				return r, err
			}
		}
		return r, nil
	})
}

// within connects to the proxy for one attempt.
func (c client) within(ctx context.Context, attempt func(net.Conn) (reply, error)) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	conn, err := c.guest.Dial(ctx, "tcp", c.proxy)
	if err != nil {
		return reply{}, fmt.Errorf("the proxy is not there: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	r, err := attempt(conn)
	return r, errors.Join(err, ctx.Err())
}

// maxBody bounds what is read of an answer.
const maxBody = 64 << 10

// ask makes one request and reads its answer whole.
func ask(to io.Writer, from *bufio.Reader, method, target, host string) (reply, error) {
	if _, err := fmt.Fprintf(to, "%s %s HTTP/1.1\r\nHost: %s\r\n\r\n", method, target, host); err != nil {
		return reply{}, err
	}
	response, err := http.ReadResponse(from, &http.Request{Method: method})
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	r := reply{status: response.StatusCode}
	if method == http.MethodConnect && r.status == http.StatusOK {
		return r, nil // what follows is the tunnel's
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return reply{}, err
	}
	var said struct{ Code sandbox.Code }
	if json.Unmarshal(body, &said) == nil {
		r.code = said.Code
	}
	return r, nil
}
