package egressproxy

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// says sends bytes into a tunnel that is there, and wants it ended with a code and
// nothing having reached the server.
func (s *scene) says(authority, bytes string, code sandbox.Code) error {
	conn, r, err := s.tunnel(authority)
	if err != nil || conn == nil {
		return fmt.Errorf("no tunnel to %s: %d, %w", authority, r.status, err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, bytes); err != nil {
		return err
	}
	if err := closeWrite(conn); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	if err != nil || len(answer) > len(accessDenied) {
		return fmt.Errorf("%.40q was answered: %q, %w", bytes, answer, err)
	}
	return s.events.code(code)
}

func tlsProbes() []probe {
	return []probe{
		{name: "TLS for another host than the tunnel's", rules: plainRules(), world: func(tb testing.TB, w *egressworld.World) {
			tb.Helper()
			// One front end serves both names, as large networks do.
			addr := w.Address()
			w.Name(goodHost, addr)
			must(tb, w.HTTPS(netip.AddrPortFrom(addr, 443), &echo{}, nil, goodHost, evilHost))
		}, run: func(s *scene) error {
			return steps(
				s.tlsAllowed(goodHost+":443", goodHost, false),
				s.tlsRefused(goodHost+":443", evilHost, false, sandbox.CodeEgressSNIMismatch),
			)
		}},
		{name: "TLS without a server name", rules: plainRules(), world: twoSites, run: func(s *scene) error {
			conn, r, err := s.tunnel(goodHost + ":443")
			if err != nil || conn == nil {
				return fmt.Errorf("no tunnel: %d, %w", r.status, err)
			}
			defer conn.Close()
			if tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).Handshake() == nil {
				return fmt.Errorf("TLS without a server name works")
			}
			return steps(s.events.code(sandbox.CodeEgressSNIMismatch), s.tlsAllowed(goodHost+":443", goodHost, false))
		}},
		secondHello(),
		{
			name: "a tunnel to an address has no server name", rules: map[string]sandbox.EgressRule{"one": rule("11.0.0.9", "443", "*", "*")},
			world: func(tb testing.TB, w *egressworld.World) {
				tb.Helper()
				must(tb, w.HTTPS(netip.MustParseAddrPort("11.0.0.9:443"), &echo{}, nil, "11.0.0.9", goodHost))
			}, run: func(s *scene) error {
				return steps(
					s.tlsAllowed("11.0.0.9:443", "11.0.0.9", false),
					s.tlsRefused("11.0.0.9:443", goodHost, false, sandbox.CodeEgressSNIMismatch),
				)
			},
		},
		{name: "a tunnel that carries something else", rules: plainRules(), world: twoSites, run: func(s *scene) error {
			errs := []error{s.tlsAllowed(goodHost+":443", goodHost, false)}
			for _, first := range []string{
				"GET / HTTP/1.1\r\nHost: " + goodHost + "\r\n\r\n", "SSH-2.0-x\r\n", "\x00", "\x16\x03\x01", "", "\x80\x2e\x01\x00\x02",
				"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", "\x17\x03\x03\x00\x01\x00", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", string(bytes.Repeat([]byte{22}, 100)),
			} {
				errs = append(errs, s.says(goodHost+":443", first, sandbox.CodeEgressNotTLS))
			}
			return steps(errs...)
		}},
		{name: "a tunnel that hides what rules restrict", rules: map[string]sandbox.EgressRule{"api": rule(goodHost, "443", "GET", "*")}, world: twoSites, run: func(s *scene) error {
			// The world's roots do not know the sandbox's authority: were the tunnel
			// passed through, this would work.
			conn, err := s.tls(goodHost+":443", goodHost, false)
			if err == nil {
				conn.Close()
				return fmt.Errorf("the tunnel was passed through")
			}
			return s.tlsAllowed(goodHost+":443", goodHost, true)
		}},
		{name: "bytes go through a tunnel untouched", rules: plainRules(), world: func(tb testing.TB, w *egressworld.World) {
			tb.Helper()
			addr := w.Address()
			w.Name(goodHost, addr)
			cert, err := w.Certificate(goodHost)
			must(tb, err)
			must(tb, w.Serve(netip.AddrPortFrom(addr, 443), func(conn net.Conn) {
				inside := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{*cert}})
				io.Copy(inside, inside) //nolint:errcheck // an echo
				inside.Close()
			}))
		}, run: func(s *scene) error {
			conn, err := s.tls(goodHost+":443", goodHost, false)
			if err != nil {
				return err
			}
			defer conn.Close()
			sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
			go func() {
				conn.Write(sent)  //nolint:errcheck // the echo tells
				conn.CloseWrite() //nolint:errcheck // the echo tells
			}()
			got, err := io.ReadAll(conn)
			if err != nil || !bytes.Equal(got, sent) {
				return fmt.Errorf("sent %d bytes, got %d: %w", len(sent), len(got), err)
			}
			return nil
		}},
	}
}

// openedRules ask for methods and paths of the good host.
func openedRules() map[string]sandbox.EgressRule {
	return map[string]sandbox.EgressRule{"api": rule(goodHost, "443 80", "GET POST", "/v1")}
}

// inside sends one HTTP/1.1 request into an opened tunnel.
func (s *scene) inside(text string) (reply, error) {
	conn, err := s.tls(goodHost+":443", goodHost, true, "http/1.1")
	if err != nil {
		return reply{}, err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		return reply{}, err
	}
	return readReply(newReader(conn), http.MethodGet)
}
