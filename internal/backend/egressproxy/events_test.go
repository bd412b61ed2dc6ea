package egressproxy

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func TestEachDecisionIsAnEventWithItsRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	s := newScene(t, w, setting{rules: map[string]sandbox.EgressRule{
		"api": rule(goodHost, "80", "*", "*"), "opened": rule(goodHost, "443", "GET", "/v1"),
	}})
	must(t, s.rawAllowed(absolute(goodHost, "/a?token=secret", "Authorization: Bearer secret", "Cookie: secret")))
	must(t, s.rawRefused(absolute(goodHost+":8080", "/a?token=secret", "Authorization: Bearer secret"), sandbox.CodeEgressDenied))
	must(t, s.rawRefused(absolute("e\x1b[31m.example.com", "/"), sandbox.CodeEgressRequestMalformed))
	must(t, s.rawRefused(absolute("user:secret@"+strings.Repeat("a", 300)+".example.com", "/"), sandbox.CodeEgressRequestMalformed))
	client := s.client(t, true)
	for _, path := range []string{"/v1/x?token=secret", "/v2?token=secret"} {
		_, err := get(client, "https://"+goodHost+path)
		must(t, err)
	}
	must(t, s.events.await(func(e egress.Event) bool { return e.Layer == egress.LayerOpened && !e.Allowed }))
	var got []string
	for _, e := range s.events.all() {
		text := fmt.Sprintf("%+v", e)
		if strings.Contains(text, "token") || strings.ContainsRune(text, 0x1b) || len(text) > 2000 {
			t.Errorf("an event says too much: %s", text)
		}
		got = append(got, fmt.Sprintf("%v %s %s %s %s:%d %s %s", e.Allowed, e.Code, e.Layer, e.Rule, e.Host, e.Port, e.Method, e.Path))
	}
	for _, line := range []string{
		"true  request api api.example.com:80 GET /a",
		"false egress.denied request api api.example.com:8080 GET /a",
		"false egress.request_malformed request  :0  ",
		"true  opened opened api.example.com:443 GET /v1/x",
		"false egress.denied opened opened api.example.com:443 GET /v2",
	} {
		if !strings.Contains(strings.Join(got, "\n")+"\n", line+"\n") {
			t.Errorf("no event %q among\n%s", line, strings.Join(got, "\n"))
		}
	}
	if st := s.proxy.Stats(); st.Allowed != 2 || st.Denied != 4 || st.Dropped != 0 {
		t.Errorf("%+v", st)
	}
}

func TestAPathThatARuleCouldNameIsToldWhole(t *testing.T) {
	t.Parallel()
	seen := newRecorder()
	e := testEvents(t, seen, time.Now, Limits{})
	long := "/packages/" + strings.Repeat("a", longestPath-len("/packages/"))
	_, findings := egress.ParseRule("", rule(goodHost, "443", "GET", long), nil)
	_, tooLong := egress.ParseRule("", rule(goodHost, "443", "GET", long+"a"), nil)
	if len(findings) > 0 || len(tooLong) == 0 {
		t.Fatalf("another path is the longest that a rule names: %v", findings)
	}
	for _, path := range []string{long, long + "a", "/a\"b", "/a\x1b"} {
		d := denialOf("api", 0)
		d.request.Path = path
		e.deny(egress.LayerOpened, d)
		e.allow(egress.LayerOpened, "api", destination{name: goodHost, port: 443}, "GET", path)
	}
	must(t, e.close(context.Background()))
	for i, event := range seen.all() {
		switch whole := event.Path == long; {
		case whole != (i < 2), !whole && (event.Path[0] != '"' || len(event.Path) > 200):
			t.Errorf("event %d has the path %s", i, event.Path)
		}
	}
}

func TestTheGuestIsToldTheChangeThatWhySays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	s := newScene(t, w, setting{rules: map[string]sandbox.EgressRule{"api": rule(goodHost, "80", "GET", "/v1")}})
	for _, c := range []struct{ request, want string }{
		{
			absolute(goodHost, "/v2/x?y"),
			`{"code":"egress.denied","summary":"Request is outside the sandbox's egress rules","host":"api.example.com:80 (GET /v2/x)",` +
				`"rule":"api","found":"a rule covers the host and not the rest",` +
				`"change":"add to egress_rules: api = { host = \"api.example.com\", ports = [80], methods = [\"GET\"], paths = [\"/v2/x\"] }"}`,
		},
		{
			absolute(goodHost, "/v2/*"), // which no rule can name: there it is a pattern
			`{"code":"egress.denied","summary":"Request is outside the sandbox's egress rules","host":"api.example.com:80 (GET /v2/*)",` +
				`"rule":"api","found":"a rule covers the host and not the rest"}`,
		},
		{
			strings.Replace(absolute(goodHost, "/v2"), "GET", "*", 1),
			`{"code":"egress.denied","summary":"Request is outside the sandbox's egress rules","host":"api.example.com:80 (* /v2)",` +
				`"rule":"api","found":"a rule covers the host and not the rest"}`,
		},
		{
			"CONNECT cdn.example.net:443 HTTP/1.0\r\n\r\n",
			`{"code":"egress.denied","summary":"Request is outside the sandbox's egress rules","host":"cdn.example.net:443",` +
				`"found":"no rule admits it","change":"add to egress_hosts: \"cdn.example.net\""}`,
		},
	} {
		r, _, err := s.raw(c.request)
		if err != nil || strings.TrimSpace(r.body) != c.want || r.status != 403 || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("%d %s, %v\nwant %s", r.status, r.body, err, c.want)
		}
	}
}

// clock is set by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func testEvents(t *testing.T, observer egress.Observer, clock func() time.Time, l Limits) *events {
	t.Helper()
	l, err := l.withDefaults()
	must(t, err)
	e := newEvents(observer, clock, l)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		must(t, e.close(ctx))
	})
	return e
}

func denialOf(rule string, i int) *denial {
	d := deny(sandbox.CodeEgressDenied, 403, "no rule admits it")
	d.rule, d.request = rule, egress.Request{Host: fmt.Sprintf("h%d.example.com", i), Port: 443}
	return d
}

func TestDenialsAreToldOneByOneAndThenCounted(t *testing.T) {
	t.Parallel()
	seen, now := newRecorder(), &clock{now: time.Unix(1, 0)}
	e := testEvents(t, seen, now.Now, Limits{DenialsPerRule: 3, DenialWindow: time.Minute})
	for i := range 10 {
		e.deny(egress.LayerRequest, denialOf("api", i))
	}
	e.deny(egress.LayerRequest, denialOf("other", 0)) // another rule is told on its own
	now.add(time.Minute)
	e.deny(egress.LayerRequest, denialOf("api", 11))
	e.deny(egress.LayerRequest, denialOf("api", 12))
	must(t, e.close(context.Background()))
	var got []string
	total := 0
	for _, event := range seen.all() {
		got = append(got, fmt.Sprint(event.Rule, " ", event.Host, " ", event.Count, " ", event.Summary))
		total += event.Count
	}
	want := "api h0.example.com 1 false,api h1.example.com 1 false,api h2.example.com 1 false,other h0.example.com 1 false," +
		"api  7 true,api h11.example.com 1 false,api h12.example.com 1 false"
	if strings.Join(got, ",") != want || total != 13 {
		t.Errorf("%d in %s\nwant %s", total, strings.Join(got, ","), want)
	}
}

func TestAMillionDenialsKeepOneCountARule(t *testing.T) {
	t.Parallel()
	now := &clock{now: time.Unix(1, 0)}
	seen := newRecorder()
	e := testEvents(t, seen, now.Now, Limits{})
	n := 1_000_000
	if raced {
		n /= 10
	}
	for i := range n {
		e.deny(egress.LayerRequest, denialOf(fmt.Sprint("rule", i%8), i))
	}
	if len(e.repeat.counts) != 8 || cap(e.queue) != 1024 {
		t.Errorf("%d counts are kept for 8 rules, %d events wait", len(e.repeat.counts), cap(e.queue))
	}
	if st := e.stats(); st.Denied != uint64(n) {
		t.Errorf("%+v", st)
	}
	must(t, e.close(context.Background()))
	if told := len(seen.all()); told > 8*(100+1) {
		t.Errorf("%d events were told of 8 rules", told)
	}
}

type blocked struct{ until chan struct{} }

func (b blocked) Observe(egress.Event) { <-b.until }

func TestASlowObserverDropsEventsAndHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	observer := blocked{make(chan struct{})}
	s := newScene(t, w, setting{rules: plainRules(), config: func(c *Config) {
		c.Observer, c.Limits = observer, Limits{Events: 2}
	}})
	for range 10 {
		must(t, s.rawAllowed(absolute(goodHost, "/")))
	}
	st := s.proxy.Stats()
	close(observer.until)
	if st.Allowed != 10 || st.Dropped < 7 {
		t.Errorf("%+v", st)
	}
}

// gated is an observer that takes an event for each token.
type gated struct {
	*recorder
	tokens chan struct{}
}

func (g gated) Observe(e egress.Event) {
	<-g.tokens
	g.recorder.Observe(e)
}

// shown is what events say of who missed what.
func shownEvents(all []egress.Event) (got []string) {
	for _, e := range all {
		got = append(got, fmt.Sprint(e.Host, e.Code, " ", e.Allowed, " ", e.Count, " ", e.Lost))
	}
	return got
}

func TestAnObserverThatWasTooSlowIsToldWhatItMissed(t *testing.T) {
	t.Parallel()
	ask := func(e *events, allowed, refused int) {
		for range allowed {
			e.allow(egress.LayerRequest, "api", destination{name: goodHost, port: 80}, "GET", "/")
		}
		for i := range refused {
			e.deny(egress.LayerRequest, denialOf("api", i))
		}
	}
	first, lost := goodHost+" true 1 false", []string{" false 3 true", " true 2 true"}
	for name, c := range map[string]struct {
		then func(*events, gated) error
		want []string
	}{
		"as soon as it has caught up": {func(e *events, g gated) error {
			close(g.tokens)
			return g.await(func(e egress.Event) bool { return e.Lost && e.Allowed })
		}, append([]string{first, first}, lost...)},
		"before the next that there is room for": {func(e *events, g gated) error {
			g.tokens <- struct{}{} // the first is taken, and the second waits no more
			if err := g.await(func(egress.Event) bool { return true }); err != nil {
				return err
			}
			for len(e.queue) > 0 { // until it is in the observer's hands
				runtime.Gosched()
			}
			ask(e, 1, 0)
			close(g.tokens)
			return g.await(func(e egress.Event) bool { return e.Lost && e.Allowed })
		}, []string{first, first, lost[0], " true 3 true"}},
		"at the end": {func(e *events, g gated) error {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if e.close(ctx) == nil {
				return errors.New("close says that the observer was told")
			}
			close(g.tokens)
			return e.close(context.Background())
		}, append([]string{first, first}, lost...)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gated{newRecorder(), make(chan struct{})}
			e := testEvents(t, g, time.Now, Limits{Events: 1})
			ask(e, 1, 0)
			for len(e.queue) > 0 { // until it is in the observer's hands
				runtime.Gosched()
			}
			ask(e, 3, 3) // one waits
			must(t, c.then(e, g))
			if got := shownEvents(g.all()); !slices.Equal(got, c.want) {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheEndOfAProxyIsToldEvenWhereItCannotBeClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	g := gated{newRecorder(), make(chan struct{})}
	s := newScene(t, w, setting{rules: plainRules(), broke: true, config: func(c *Config) { c.Observer, c.Limits = g, Limits{Events: 1} }})
	for range 5 { // far more than there is room for
		must(t, s.rawAllowed(absolute(goodHost, "/")))
	}
	must(t, s.socket.Listener.Close())
	if err := <-s.served; err == nil {
		t.Error("a proxy whose socket broke says that it was told to end")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s.proxy.Close(ctx) == nil {
		t.Error("close says that the observer was told")
	}
	close(g.tokens)
	must(t, g.code(sandbox.CodeEgressProxyLost))
	must(t, s.proxy.Close(context.Background()))
	all := g.all()
	if last := all[len(all)-1]; last.Code != sandbox.CodeEgressProxyLost || last.Count != 1 || last.Time.IsZero() {
		t.Errorf("told %q", shownEvents(all))
	}
}

func TestCloseDoesNotWaitForAnObserverBeyondItsContext(t *testing.T) {
	t.Parallel()
	observer := blocked{make(chan struct{})}
	e := newEvents(observer, time.Now, Limits{Events: 1})
	e.allow(egress.LayerRequest, "api", destination{name: goodHost, port: 80}, "GET", "/")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if e.close(ctx) == nil {
		t.Error("close says that the observer was told")
	}
	close(observer.until)
	must(t, e.close(context.Background()))
}
