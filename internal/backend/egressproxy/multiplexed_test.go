package egressproxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// posted admits requests with a body, inside.
func posted() map[string]sandbox.EgressRule {
	return map[string]sandbox.EgressRule{"api": rule(goodHost, "80 443", "GET POST", "/v1")}
}

// silent is a server that does not answer until the test is over, and tells of each
// request.
func silent(tb testing.TB, w *egressworld.World, most int) <-chan struct{} {
	tb.Helper()
	over, came := make(chan struct{}), make(chan struct{}, most)
	tb.Cleanup(func() { close(over) })
	_, err := w.Site(goodHost, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		came <- struct{}{}
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	must(tb, err)
	return came
}

func (s *scene) negotiated(protocols ...string) (string, func() error, error) {
	conn, err := s.tls(goodHost+":443", goodHost, true, protocols...)
	if err != nil {
		return "", nil, err
	}
	return conn.ConnectionState().NegotiatedProtocol, conn.Close, nil
}

func TestSoManyConnectionsSpeakHTTP2AndTheOthersHTTP1(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	pool, err := NewPool(PoolLimits{Multiplexed: 1})
	must(t, err)
	s := newScene(t, w, setting{rules: posted(), config: func(c *Config) { c.Pool, c.Limits = pool, Limits{Multiplexed: 8} }})
	var ends []func() error
	for i, want := range []string{"h2", "h2", "http/1.1", "http/1.1"} { // the sandbox's own, and the pool's
		got, end, err := s.negotiated("h2", "http/1.1")
		must(t, err)
		if ends = append(ends, end); got != want {
			t.Errorf("connection %d speaks %s", i, got)
		}
	}
	for _, end := range ends {
		must(t, end())
	}
	for got := ""; got != "h2"; { // once those have ended
		var end func() error
		got, end, err = s.negotiated("h2", "http/1.1")
		must(t, err)
		must(t, end())
		if t.Context().Err() != nil {
			t.Fatal("the room is not given back")
		}
	}
}

func TestAStreamBeyondTheRequestsUnderWayIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	came := silent(t, w, 4)
	s := newScene(t, w, setting{rules: posted(), config: limited(Limits{Requests: 1})})
	client := s.streams(destination{name: goodHost, port: 443})
	t.Cleanup(client.CloseIdleConnections)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+goodHost+"/v1", nil)
	must(t, err)
	go func() {
		if response, err := client.RoundTrip(r); err == nil {
			response.Body.Close()
		}
	}()
	<-came
	response, err := client.RoundTrip(r.Clone(t.Context()))
	must(t, err)
	response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("answered %d", response.StatusCode)
	}
}

// A small body is held whole by what holds the request; a longer one needs room of its
// own.
func TestAStreamWithALongBodyNeedsRoomForIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	s := newScene(t, w, setting{rules: posted(), config: limited(Limits{Uploads: 1})})
	client := s.streams(destination{name: goodHost, port: 443})
	t.Cleanup(client.CloseIdleConnections)
	room, ok := s.proxy.gates.uploads.try()
	if !ok {
		t.Fatal("the room is taken")
	}
	post := func(size, want int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+goodHost+"/v1", bytes.NewReader(make([]byte, size)))
		must(t, err)
		response, err := client.RoundTrip(r)
		must(t, err)
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%d bytes: answered %d", size, response.StatusCode)
		}
	}
	post(smallBody, http.StatusOK)
	post(smallBody+1, http.StatusServiceUnavailable)
	room.leave()
	post(smallBody+1, http.StatusOK)
}

// flood fills a connection: as many streams as it takes, each with a large head, and
// bodies beyond what is received.
func flood(tb testing.TB, s *scene) {
	tb.Helper()
	conn, err := s.tls(goodHost+":443", goodHost, true, "h2")
	must(tb, err)
	tb.Cleanup(func() { conn.Close() })
	must(tb, conn.SetDeadline(time.Now().Add(patience)))
	go io.Copy(io.Discard, conn) //nolint:errcheck // it ends with the connection
	w := bufio.NewWriterSize(conn, 1<<16)
	framer := http2.NewFramer(w, conn)
	_, err = io.WriteString(w, http2.ClientPreface)
	must(tb, err)
	must(tb, framer.WriteSettings())
	for i := range maxStreams {
		writeHead2(tb, framer, uint32(2*i+1))
	}
	must(tb, w.Flush())
}

func writeHead2(tb testing.TB, framer *http2.Framer, stream uint32) {
	tb.Helper()
	var block strings.Builder
	encoder := hpack.NewEncoder(&block)
	fields := [][2]string{{":method", "POST"}, {":scheme", "https"}, {":authority", goodHost}, {":path", "/v1"}}
	for i := range 3 {
		fields = append(fields, [2]string{fmt.Sprintf("x-%d", i), strings.Repeat("~", 10_000)})
	}
	for _, f := range fields {
		must(tb, encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: true}))
	}
	rest := []byte(block.String())
	for began := false; len(rest) > 0; began = true {
		piece := rest[:min(len(rest), frameBytes)]
		rest = rest[len(piece):]
		if began {
			must(tb, framer.WriteContinuation(stream, len(rest) == 0, piece))
			continue
		}
		must(tb, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: piece, EndHeaders: len(rest) == 0}))
	}
}

func held() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// It measures the process, so nothing runs beside it.
func TestWhatAConnectionOfHTTP2CanHoldIsBounded(t *testing.T) { //nolint:paralleltest // see above
	w := newWorld(t)
	const connections, each, perUpload = 8, 4 << 20, 1 << 20 // twice what is measured
	came := silent(t, w, connections*maxStreams)
	const uploads = 128 // at once; the other streams are refused
	s := newScene(t, w, setting{rules: posted(), config: limited(Limits{Uploads: uploads})})
	before := held()
	for range connections {
		flood(t, s)
	}
	for range uploads {
		<-came
	}
	grown := held() - before
	t.Logf("%d MiB for %d connections and %d uploads, the server's side included", grown>>20, connections, uploads)
	if grown > connections*each+uploads*perUpload {
		t.Errorf("%d bytes are held", grown)
	}
}

func TestAServersHeadHasSoManyLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := netip.MustParseAddrPort("11.0.0.77:80")
	w.Name(goodHost, at.Addr())
	lines := make(chan int, 2)
	must(t, serveHeads(w, at, lines))
	s := newScene(t, w, setting{rules: plainRules()})
	lines <- responseFields
	must(t, s.rawAllowed(absolute(goodHost, "/")))
	lines <- responseFields + 1
	must(t, s.rawRefused(absolute(goodHost, "/"), sandbox.CodeEgressUpstreamFailed))
}

// serveHeads answers each connection once, with so many header lines.
func serveHeads(w *egressworld.World, at netip.AddrPort, lines <-chan int) error {
	return w.Serve(at, func(conn net.Conn) {
		defer conn.Close()
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			return
		}
		text := "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + strings.Repeat("A: b\r\n", <-lines-1) + "\r\n"
		io.WriteString(conn, text) //nolint:errcheck // the guest tells
	})
}
