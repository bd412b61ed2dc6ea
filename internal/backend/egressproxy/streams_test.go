package egressproxy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// TestHTTP2IsSpokenOnBothSides calls as gRPC does: both directions at once, and
// the outcome in a trailer.
func TestHTTP2IsSpokenOnBothSides(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Site(goodHost, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		w.Header().Set("Trailer", "Grpc-Status")
		fmt.Fprint(w, r.Proto, " ", r.Header.Get("Te"), "\n")
		control.Flush() //nolint:errcheck // the reader tells
		buf := make([]byte, 4)
		for {
			n, err := io.ReadFull(r.Body, buf)
			if err != nil {
				break
			}
			w.Write(buf[:n]) //nolint:errcheck // the reader tells
			control.Flush()  //nolint:errcheck // the reader tells
		}
		w.Header().Set("Grpc-Status", "0")
	}))
	must(t, err)
	s := newScene(t, w, setting{rules: map[string]sandbox.EgressRule{"api": rule(goodHost, "443", "POST", "/pkg.Service")}})
	streams := s.streams(destination{name: goodHost, port: httpsPort})
	defer streams.CloseIdleConnections()
	ours, theirs := io.Pipe()
	req, err := http.NewRequest(http.MethodPost, "https://"+goodHost+"/pkg.Service/Call", ours)
	must(t, err)
	req.Header.Set("Te", "trailers")
	resp, err := streams.RoundTrip(req)
	must(t, err)
	defer resp.Body.Close()
	const greeting = "HTTP/2.0 trailers\n"
	buf := make([]byte, len(greeting))
	if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != greeting {
		t.Fatalf("%q, %v", buf, err)
	}
	for _, word := range []string{"ping", "pong"} {
		_, err := io.WriteString(theirs, word)
		must(t, err)
		buf := make([]byte, len(word))
		if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != word { // before the next was sent
			t.Fatalf("%q, %v", buf, err)
		}
	}
	must(t, theirs.Close())
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.Trailer.Get("Grpc-Status") != "0" {
		t.Errorf("trailers %v, %v", resp.Trailer, err)
	}
}

func TestAStreamThatTheServerBreaksOffIsNotPassedOffAsWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	addr := w.Address()
	w.Name("half.example.com", addr)
	must(t, w.Serve(netip.AddrPortFrom(addr, 443), func(conn net.Conn) {
		inside, err := w.Accept(conn, "half.example.com")
		if err != nil {
			return
		}
		defer inside.Close()
		if _, err := http.ReadRequest(newReader(inside)); err == nil {
			io.WriteString(inside, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n") //nolint:errcheck // the reader tells
		}
	}))
	s := newScene(t, w, setting{rules: map[string]sandbox.EgressRule{"all": rule("*.example.com", "443", "GET", "*")}})
	client := s.client(t, true)
	if r, err := get(client, "https://half.example.com/"); err == nil {
		t.Errorf("half a response passed for a whole one: %+v", r)
	}
	r, err := get(client, "https://"+goodHost+"/")
	must(t, allowed("another host", r, err))
}
