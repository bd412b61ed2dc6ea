package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/prober/visit"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// slowHost answers late, never, or without end.
const slowHost = "slow.example.com"

// egressLimits are guests and servers that are slow, huge or endless.
func egressLimits() Suite {
	slow := rules{"api": rule(goodHost, "80 443", "*", "*"), "slow": rule(slowHost, "80 443", "*", "*")}
	return Suite{Name: "EGRESS_LIMITS", Gate: sandbox.CapabilityExec, Probes: confined([]Probe{
		{Name: "slow-clients-are-cut-and-hold-nobody-up", Run: slowClients},
		{Name: "slow-servers-hold-nobody-up", Rules: slow, Run: slowServers},
		{Name: "a-huge-head-is-refused", Run: hugeHeads},
		{Name: "a-body-that-nobody-reads-ends-with-its-server", Rules: slow, Run: unreadBody},
		{Name: "an-endless-answer-ends-with-its-guest", Rules: slow, Run: endlessAnswer},
		{Name: "half-an-end-leaves-the-other-half", Rules: rules{"digest": rule(digestHost, "443", "*", "*")}, Run: untouched},
	})}
}

const (
	// many is how many connections are slow at once.
	many = 64
	// cutBound is how long a proxy may wait for a head that does not come, in
	// milliseconds: less than a visit may take.
	cutBound = visitBound * 3 / 4
	// promptBound is within what others are answered meanwhile, in milliseconds.
	promptBound = 5_000
)

// prompt wants an answer that was not held up.
func prompt(text string) call {
	c := answered(text)
	c.judge = func(o visit.Outcome) error {
		if o.Milliseconds > promptBound {
			return fmt.Errorf("was answered after %d ms", o.Milliseconds)
		}
		return wasAnswered(c.visit, o)
	}
	c.asks = 1
	return c
}

// slowClients begins everything that a client can begin, and does not go on.
func slowClients(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	var order visit.Order
	order.Milliseconds = visitBound
	for i := range many {
		begun := []visit.Step{{Say: []byte("GET http://" + goodHost)}}
		switch i % 3 {
		case 1:
			begun = []visit.Step{{Say: []byte("GET http://" + goodHost + "/ HTTP/1.1\r\n" + toGood + "\r\nX-A: ")}}
		case 2:
			begun = []visit.Step{{Tunnel: goodHost + ":443"}, {Say: []byte("\x16\x03\x01\x02\x00\x01")}}
		}
		order.Visits = append(order.Visits, visit.Visit{Steps: append(begun, visit.Step{Hear: visit.ToTheEnd})})
	}
	slow := s.background(ctx, order)
	other, _, err := s.neighbour(ctx, func(r *sandbox.AcquireRequest) { r.Key.Thread += "/other" })
	if err == nil {
		err = errors.Join(s.calls(ctx, prompt(absolute(goodHost, "/"))), other.calls(ctx, prompt(absolute(goodHost, "/"))))
	}
	outcomes, late := slow()
	if err := errors.Join(err, late); err != nil {
		return err
	}
	var errs []error
	for i, o := range outcomes {
		if o.Milliseconds > cutBound || strings.Contains(o.Failed, "i/o timeout") || bytes.Contains(o.Heard, []byte(reached)) {
			errs = append(errs, fmt.Errorf("slow client %d: after %d ms: %s", i, o.Milliseconds, heard(o)))
		}
	}
	return errors.Join(errs...)
}

// background lets the guest carry out an order while other things happen; what it
// answers waits for the end of it.
func (s *Scene) background(ctx context.Context, order visit.Order) func() ([]visit.Outcome, error) {
	// The prober is there before two runs of it would put it there.
	if _, err := s.enter(ctx); err != nil {
		return func() ([]visit.Outcome, error) { return nil, err }
	}
	type ending struct {
		outcomes []visit.Outcome
		err      error
	}
	ended := make(chan ending, 1)
	go func() {
		outcomes, err := s.order(ctx, order)
		ended <- ending{outcomes, err}
	}()
	return func() ([]visit.Outcome, error) {
		e := <-ended
		return e.outcomes, e.err
	}
}

// serve puts a server of the slow host into the world, in place of the one before.
func (s *Scene) serve(what string, answer func(net.Conn)) (done <-chan struct{}, err error) {
	at := netip.AddrPortFrom(s.subject.internet.Address(), 80)
	s.subject.internet.Name(slowHost, at.Addr())
	ended := make(chan struct{}, 2*many)
	if err := s.subject.internet.Serve(at, func(conn net.Conn) {
		defer func() { ended <- struct{}{} }()
		answer(conn)
	}); err != nil {
		return nil, notShown("putting %s into the world: %v", what, err)
	}
	return ended, nil
}

// slowServers answers half of a head and no more. A guest that has given up may
// still be listening, for all that a proxy can see; one that is gone is not.
func slowServers(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	begun := make(chan struct{}, many)
	ended, err := s.serve("a slow server", func(conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			return
		}
		begun <- struct{}{}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX-")
		_, _ = io.Copy(io.Discard, conn) // to the end of it
	})
	if err != nil {
		return err
	}
	order := visit.Order{Milliseconds: promptBound}
	for range many {
		order.Visits = append(order.Visits, visit.Visit{Steps: []visit.Step{{Say: []byte(absolute(slowHost, "/"))}, {Hear: visit.OneReply}}})
	}
	slow := s.background(ctx, order)
	for range many / 2 { // not all at once need be admitted
		if err := within(ctx, begun); err != nil {
			_, late := slow()
			return errors.Join(notShown("the slow server was not asked"), late)
		}
	}
	other, _, err := s.neighbour(ctx, func(r *sandbox.AcquireRequest) { r.Key.Thread += "/other" })
	if err == nil {
		err = errors.Join(s.calls(ctx, prompt(absolute(goodHost, "/"))), other.calls(ctx, prompt(absolute(goodHost, "/"))))
	}
	if _, late := slow(); err != nil || late != nil {
		return errors.Join(err, late)
	}
	if err := s.dispose(ctx); err != nil {
		return err
	}
	for i := range many / 2 {
		if err := within(ctx, ended); err != nil {
			return fmt.Errorf("%d of %d connections stay although their sandbox is gone", many/2-i, many/2)
		}
	}
	return nil
}

// endBound is how long an end may take to go round.
const endBound = 10 * time.Second

func within(ctx context.Context, event <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, endBound)
	defer cancel()
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func hugeHeads(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	lines := make([]string, 2000)
	for i := range lines {
		lines[i] = "a: b"
	}
	const limit, kibi = sandbox.CodeEgressProxyLimit, 1 << 10
	return s.calls(ctx,
		answered(absolute(goodHost, "/", "X-A: "+strings.Repeat("a", 4*kibi))),
		denied(absolute(goodHost, "/", "X-A: "+strings.Repeat("a", 200*kibi)), limit),
		denied(absolute(goodHost, "/"+strings.Repeat("a", 200*kibi)), limit),
		denied("GET http://"+goodHost+"/ HTTP/1.1\r\n"+strings.Repeat("a", 200*kibi), limit),
		denied(absolute(goodHost, "/", lines...), sandbox.CodeEgressRequestMalformed),
	)
}

// unreadBody has a server that breaks off while the guest is still saying a body.
func unreadBody(ctx context.Context, s *Scene) error {
	ended, err := s.serve("a server that breaks off", func(conn net.Conn) {
		_, _ = io.CopyN(io.Discard, conn, 64<<10)
	})
	if err != nil {
		return err
	}
	const chunk = 64 << 10
	piece := fmt.Appendf(nil, "%x\r\n%s\r\n", chunk, bytes.Repeat([]byte("a"), chunk))
	start := head("POST http://"+slowHost+"/ HTTP/1.1", "Host: "+slowHost, "Transfer-Encoding: chunked")
	err = s.calls(ctx, call{
		what: "a body of 4 GiB",
		visit: visit.Visit{Steps: []visit.Step{
			{Say: []byte(start)}, {Say: piece, Times: 1 << 16}, {Say: []byte("0\r\n\r\n")}, {Hear: visit.ToTheEnd},
		}},
		code: sandbox.CodeEgressUpstreamFailed,
	})
	if err == nil {
		err = within(ctx, ended)
	}
	return err
}

// endlessAnswer has a server that never stops and a guest that does.
func endlessAnswer(ctx context.Context, s *Scene) error {
	ended, err := s.serve("an endless server", func(conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			return
		}
		_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
		for piece := bytes.Repeat([]byte("a"), 64<<10); err == nil; {
			_, err = conn.Write(piece)
		}
	})
	if err != nil {
		return err
	}
	const most = 4 << 20
	err = s.calls(ctx, call{
		what:  "an endless answer",
		visit: visit.Visit{Steps: []visit.Step{{Say: []byte(absolute(slowHost, "/"))}, {Hear: most}}},
		judge: func(o visit.Outcome) error {
			if o.Bytes != most {
				return fmt.Errorf("%d of %d bytes came: %s", o.Bytes, most, sandbox.Echo(o.Failed))
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	if within(ctx, ended) != nil {
		return errors.New("the server is still read although its guest has gone")
	}
	return nil
}
