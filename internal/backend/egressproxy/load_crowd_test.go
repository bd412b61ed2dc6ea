package egressproxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// The hosts of the load, by how they are reached.
const (
	loadPlain   = "plain.example.com"
	loadThrough = "through.example.com"
	loadOpened  = "opened.example.com"
)

func loadRules() map[string]sandbox.EgressRule {
	return map[string]sandbox.EgressRule{
		"plain": rule(loadPlain, "80", "*", "*"), "through": rule(loadThrough, "443", "*", "*"), "opened": rule(loadOpened, "443", "GET", "*"),
	}
}

// loadSites answer with as many bytes as the path says.
func loadSites(tb testing.TB, w *egressworld.World) {
	tb.Helper()
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Path[1:])
		if err != nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(n))
		piece := make([]byte, min(n, 64<<10))
		for ; n > 0; n -= len(piece) {
			if _, err := w.Write(piece[:min(n, len(piece))]); err != nil {
				return
			}
		}
	})
	for _, host := range []string{loadPlain, loadThrough, loadOpened} {
		_, err := w.Site(host, answer)
		must(tb, err)
	}
}

// crowd are the programs of every sandbox but the attacker's.
type crowd struct {
	scenes []*scene

	mu          sync.Mutex
	kept, fresh []time.Duration
	failed      error
}

// turnOver takes what was measured since the last time.
func (c *crowd) turnOver() loadAnswer {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := loadAnswer{Kept: c.kept, Fresh: c.fresh}
	if c.failed != nil {
		a.Failed = c.failed.Error()
	}
	c.kept, c.fresh = nil, nil
	return a
}

// The pace of each program.
const (
	loadPace  = 200 * time.Millisecond // of small requests
	loadFresh = time.Second            // of new tunnels, and of downloads
	loadLarge = 4 << 20
)

// ask runs everybody's programs until ctx ends.
func (c *crowd) ask(ctx context.Context) {
	var programs sync.WaitGroup
	for i, s := range c.scenes {
		start := func(every time.Duration, into *[]time.Duration, what string, program func(context.Context, *scene) (once func() error, end func(), err error)) {
			programs.Go(func() {
				// Everybody starts at another moment of the pace.
				if pause(ctx, every*time.Duration(i)/time.Duration(len(c.scenes))) != nil {
					return
				}
				if err := c.run(ctx, s, every, into, program); err != nil {
					c.fail(ctx, fmt.Errorf("sandbox %d, %s: %w", i, what, err))
				}
			})
		}
		start(loadPace, &c.kept, "requests without TLS", overHTTP(loadPlain, 2))
		start(loadPace, &c.kept, "requests in a tunnel", overTLS(loadThrough, false))
		start(loadPace, &c.kept, "requests in an opened tunnel", overTLS(loadOpened, true))
		start(loadPace, &c.kept, "streams in an opened tunnel", overStreams)
		start(loadFresh, &c.fresh, "new tunnels", anew)
		if i%7 == 0 {
			start(loadFresh, nil, "downloads", overHTTP(loadPlain, loadLarge))
		}
	}
	programs.Wait()
}

func (c *crowd) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // it is over
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = err
	}
}

// run runs one program: something that is done at each tick.
func (c *crowd) run(ctx context.Context, s *scene, every time.Duration, into *[]time.Duration,
	program func(context.Context, *scene) (once func() error, end func(), err error),
) error {
	once, end, err := program(ctx, s)
	if err != nil {
		return err
	}
	defer end()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		began := time.Now()
		if err := once(); err != nil {
			return err
		}
		took := time.Since(began)
		if into != nil {
			c.mu.Lock()
			*into = append(*into, took)
			c.mu.Unlock()
		}
	}
}

// exchangeOn sends a request and reads its whole answer.
func exchangeOn(conn net.Conn, reader *bufio.Reader, text string) error {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, text); err != nil {
		return err
	}
	resp, err := http.ReadResponse(reader, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || n != resp.ContentLength {
		return fmt.Errorf("answered %d with %d of %d bytes: %w", resp.StatusCode, n, resp.ContentLength, err)
	}
	return nil
}

func overHTTP(host string, bytes int) func(context.Context, *scene) (func() error, func(), error) {
	return func(ctx context.Context, s *scene) (func() error, func(), error) {
		conn, err := s.dial()
		return keptAlive(ctx, conn, err, absolute(host, "/"+strconv.Itoa(bytes)))
	}
}

func overTLS(host string, opened bool) func(context.Context, *scene) (func() error, func(), error) {
	return func(ctx context.Context, s *scene) (func() error, func(), error) {
		conn, err := s.tls(host+":443", host, opened, "http/1.1")
		return keptAlive(ctx, conn, err, "GET /2 HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
	}
}

func keptAlive(ctx context.Context, conn net.Conn, err error, text string) (func() error, func(), error) {
	if err != nil {
		return nil, nil, err
	}
	reader := bufio.NewReader(conn)
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	return func() error { return exchangeOn(conn, reader, text) }, func() { stop(); conn.Close() }, nil
}

// loadStreams are for as long as the load: other tests have until their patience ends.
func loadStreams(s *scene) *http.Transport {
	streams := s.streams(destination{name: loadOpened, port: httpsPort})
	dial := streams.DialTLSContext
	streams.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return conn, conn.SetDeadline(time.Time{})
	}
	return streams
}

func overStreams(ctx context.Context, s *scene) (func() error, func(), error) {
	streams := loadStreams(s)
	return func() error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+loadOpened+"/2", http.NoBody)
		if err != nil {
			return err
		}
		resp, err := streams.RoundTrip(request)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != 2 || resp.StatusCode != http.StatusOK {
			return fmt.Errorf("answered %d with %d bytes: %w", resp.StatusCode, n, err)
		}
		return nil
	}, streams.CloseIdleConnections, nil
}

// anew makes a tunnel for each request.
func anew(_ context.Context, s *scene) (func() error, func(), error) {
	return func() error {
		conn, err := s.tls(loadThrough+":443", loadThrough, false, "http/1.1")
		if err != nil {
			return err
		}
		defer conn.Close()
		return exchangeOn(conn, bufio.NewReader(conn), "GET /2 HTTP/1.1\r\nHost: "+loadThrough+"\r\n\r\n")
	}, func() {}, nil
}
