//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/prober/visit"
)

// visits makes the visits that standard input orders, and says what became of each.
func visits([]string) int {
	var order visit.Order
	if err := json.NewDecoder(os.Stdin).Decode(&order); err != nil {
		fmt.Fprintln(os.Stderr, "no order:", err)
		return usage
	}
	outcomes := make([]visit.Outcome, len(order.Visits))
	var together sync.WaitGroup
	for i, v := range order.Visits {
		make := func() { outcomes[i] = makeVisit(v, time.Duration(order.Milliseconds)*time.Millisecond) }
		if order.InTurn {
			make()
			continue
		}
		together.Go(make)
	}
	together.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(outcomes); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return failure
	}
	return 0
}

// visitor is one visit under way.
type visitor struct {
	conn    net.Conn // TLS, once it is spoken
	under   net.Conn
	outcome visit.Outcome
}

func makeVisit(v visit.Visit, most time.Duration) (outcome visit.Outcome) {
	began := time.Now()
	defer func() { outcome.Milliseconds = time.Since(began).Milliseconds() }()
	ctx, cancel := context.WithDeadline(context.Background(), began.Add(most))
	defer cancel()
	conn, err := reachOut(ctx, v)
	if err != nil {
		return visit.Outcome{Failed: "connecting: " + err.Error()}
	}
	defer conn.Close()
	if err := conn.SetDeadline(began.Add(most)); err != nil {
		return visit.Outcome{Failed: err.Error()}
	}
	w := &visitor{conn: conn, under: conn}
	for _, s := range v.Steps {
		if err := w.step(s); err != nil {
			w.outcome.Failed = err.Error()
			break
		}
		w.outcome.Done++
	}
	return w.outcome
}

// reachOut connects to where the visit goes.
func reachOut(ctx context.Context, v visit.Visit) (net.Conn, error) {
	network, address, _ := strings.Cut(v.To, " ")
	if v.To == "" {
		network = "tcp"
		kind := "http"
		if len(v.Steps) > 0 && v.Steps[0].Tunnel != "" {
			kind = "https"
		}
		if address = proxyFor(kind); address == "" {
			return nil, errors.New("no variable names a proxy for " + kind)
		}
	}
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

// proxyFor looks for a proxy where programs do.
func proxyFor(kind string) string {
	for _, name := range []string{kind + "_proxy", strings.ToUpper(kind) + "_PROXY"} {
		if value := os.Getenv(name); value != "" {
			return strings.TrimSuffix(strings.TrimPrefix(value, "http://"), "/")
		}
	}
	return ""
}

func (w *visitor) step(s visit.Step) error {
	switch {
	case s.Tunnel != "":
		return w.tunnel(s.Tunnel)
	case s.TLS != nil:
		return w.speakTLS(s.TLS)
	case s.End:
		return w.end()
	case s.Hear != 0:
		return w.hear(s.Hear)
	}
	for range max(s.Times, 1) {
		if _, err := w.conn.Write(s.Say); err != nil {
			return err
		}
	}
	return nil
}

// end says goodbye in TLS as well, where it is spoken.
func (w *visitor) end() error {
	if inside, ok := w.conn.(*tls.Conn); ok {
		if err := inside.CloseWrite(); err != nil {
			return err
		}
	}
	half, ok := w.under.(interface{ CloseWrite() error })
	if !ok {
		return errors.New("such a connection has no halves")
	}
	return half.CloseWrite()
}

// Write keeps what was heard.
func (w *visitor) Write(p []byte) (int, error) {
	w.outcome.Bytes += int64(len(p))
	room := max(visit.MaxHeard-len(w.outcome.Heard), 0)
	w.outcome.Heard = append(w.outcome.Heard, p[:min(room, len(p))]...)
	return len(p), nil
}

func (w *visitor) hear(what int) error {
	var err error
	switch what {
	case visit.ToTheEnd:
		_, err = io.Copy(w, w.conn)
	case visit.OneReply:
		err = w.reply()
	default:
		_, err = io.CopyN(w, w.conn, int64(what))
	}
	return err
}

// reply hears one response: its head, and a body that has a length or chunks.
func (w *visitor) reply() error {
	head, err := w.head()
	if err != nil {
		return err
	}
	lower := strings.ToLower(head)
	if _, rest, ok := strings.Cut(lower, "\r\ncontent-length:"); ok {
		var n int64
		if _, err := fmt.Sscan(rest, &n); err != nil {
			return fmt.Errorf("a length that is none: %w", err)
		}
		_, err = io.CopyN(w, w.conn, n)
		return err
	}
	if !strings.Contains(lower, "\r\ntransfer-encoding: chunked") {
		return nil
	}
	var tail [5]byte // what a body in chunks ends with, as long as nobody sends trailers
	for string(tail[:]) != "0\r\n\r\n" {
		if err := w.byte(); err != nil {
			return err
		}
		copy(tail[:], tail[1:])
		tail[4] = w.outcome.Heard[len(w.outcome.Heard)-1]
	}
	return nil
}

// head hears to an empty line, byte by byte: what follows is not ours yet.
func (w *visitor) head() (string, error) {
	from := len(w.outcome.Heard)
	for !bytes.HasSuffix(w.outcome.Heard[from:], []byte("\r\n\r\n")) {
		if err := w.byte(); err != nil {
			return "", err
		}
	}
	return string(w.outcome.Heard[from:]), nil
}

func (w *visitor) byte() error {
	if len(w.outcome.Heard) == visit.MaxHeard {
		return errors.New("more was said than is kept")
	}
	_, err := io.CopyN(w, w.conn, 1)
	return err
}

// tunnel asks for a tunnel. Of one that is there, nothing of the answer is kept.
func (w *visitor) tunnel(authority string) error {
	if _, err := fmt.Fprintf(w.conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority); err != nil {
		return err
	}
	head, err := w.head()
	if err != nil {
		return err
	}
	if !strings.HasPrefix(head, "HTTP/1.1 200 ") && !strings.HasPrefix(head, "HTTP/1.0 200 ") {
		_ = w.hear(visit.ToTheEnd) // the head says enough
		return errors.New("the tunnel was refused")
	}
	w.outcome.Heard, w.outcome.Bytes = nil, 0
	return nil
}

func (w *visitor) speakTLS(t *visit.TLS) error {
	config := &tls.Config{
		ServerName: t.Name, NextProtos: t.Protocols, EncryptedClientHelloConfigList: t.Hide, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: t.Name == "", // whom it talks to is what is being found out
		VerifyPeerCertificate: func(chain [][]byte, _ [][]*x509.Certificate) error {
			w.outcome.Chain = chain
			return nil
		},
	}
	if t.Roots != "" {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM([]byte(t.Roots))
	}
	if len(t.Hide) > 0 {
		config.MinVersion = tls.VersionTLS13
	}
	inside := tls.Client(w.conn, config)
	if err := inside.Handshake(); err != nil { //nolint:noctx // the connection has a deadline
		return fmt.Errorf("TLS: %w", err)
	}
	w.conn = inside
	return nil
}
