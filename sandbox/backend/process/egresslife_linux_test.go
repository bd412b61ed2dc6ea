package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egresstrial"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// listener keeps what one sandbox's observer was told.
type listener struct {
	mu     sync.Mutex
	events []egress.Event
	more   chan struct{} // has one after each
}

func newListener() *listener { return &listener{more: make(chan struct{}, 1000)} }

// Observe implements [egress.Observer].
func (l *listener) Observe(e egress.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	l.more <- struct{}{}
}

func (l *listener) all() []egress.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]egress.Event(nil), l.events...)
}

// listening is a configuration whose observers can be found by their sandbox.
func listening(c Config) (Config, func(id string) *listener) {
	var mu sync.Mutex
	of := map[string]*listener{}
	c.Egress.Observer = func(id string) egress.Observer {
		mu.Lock()
		defer mu.Unlock()
		of[id] = newListener()
		return of[id]
	}
	return c, func(id string) *listener {
		mu.Lock()
		defer mu.Unlock()
		return of[id]
	}
}

func TestEgressIsToldOfByTheSandboxItIsOf(t *testing.T) {
	t.Parallel()
	world := newWorld(t, "api.example.com")
	c, told := listening(inWorld(t, world))
	e := newEngine(t, c)
	spec := sandbox.Egress{Rules: map[string]sandbox.EgressRule{"plain": rule("api.example.com", "80", "*", "*")}}
	a, b := startWith(t, e, "a", spec), startWith(t, e, "b", spec)
	a.prints(curl + "http://api.example.com/")
	b.prints(curl + "http://other.example.com/")
	for _, box := range []box{a, b} {
		if err := e.Delete(t.Context(), box.ID()); err != nil { // by then all has been told
			t.Fatal(err)
		}
	}
	if got := told(a.ID()).all(); len(got) != 1 || !got[0].Allowed || got[0].Rule != "plain" {
		t.Errorf("of a: %+v", got)
	}
	if got := told(b.ID()).all(); len(got) != 1 || got[0].Code != sandbox.CodeEgressDenied || got[0].Host != "other.example.com" {
		t.Errorf("of b: %+v", got)
	}
}

// A start that fails at any stage, and a sandbox that is deleted.
func TestNothingOfEgressOutlivesItsSandbox(t *testing.T) {
	t.Parallel()
	c, told := listening(testConfig(t))
	e := newEngine(t, c)
	sockets := func() int {
		entries, err := os.ReadDir(e.host.outlets.dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	good := sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"api.example.com"}}
	bad := good
	bad.Hosts = []string{"https://api.example.com/"}
	unfinished := good
	unfinished.Rules = map[string]sandbox.EgressRule{"x": {Host: "api.example.com"}}
	for name, req := range map[string]engine.StartRequest{
		"a host that is none":          {WorkDir: "/work", Egress: bad},
		"a rule that is unfinished":    {WorkDir: "/work", Egress: unfinished},
		"a work directory in its way":  {WorkDir: "/run/egress", Egress: good},
		"a work directory that is its": {WorkDir: "/run/egress/proxy.sock/x", Egress: good},
	} {
		req.Name = "bad"
		if _, err := e.Start(t.Context(), req); sandbox.RefusalOf(err) == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Start(ended, engine.StartRequest{Name: "late", WorkDir: "/work", Egress: good}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if n := sockets(); n != 0 {
		t.Errorf("%d sockets are left of sandboxes that did not start", n)
	}
	b := startWith(t, e, "a", good)
	if n := sockets(); n != 1 {
		t.Errorf("%d sockets", n)
	}
	private(t, b)
	if err := e.Delete(t.Context(), b.ID()); err != nil {
		t.Fatal(err)
	}
	if n := sockets(); n != 0 || told(b.ID()) == nil {
		t.Errorf("%d sockets are left", n)
	}
}

// private looks whom the socket's directory lets through.
func private(t *testing.T, b box) {
	t.Helper()
	var s syscall.Stat_t
	if err := syscall.Stat(b.outlet.socket.Directory(), &s); err != nil {
		t.Fatal(err)
	}
	mode, group := uint32(0o700), s.Gid
	if b.user != nil {
		mode, group = 0o710, b.user.id
	}
	if s.Mode&0o777 != mode || s.Gid != group || int(s.Uid) != os.Geteuid() {
		t.Errorf("mode %o, of user %d and group %d", s.Mode&0o777, s.Uid, s.Gid)
	}
}

func TestASandboxIsNotReusedWithOtherEgress(t *testing.T) {
	t.Parallel()
	e := newEngine(t, testConfig(t))
	spec := sandbox.Egress{
		Mode: sandbox.EgressAllowlist, Hosts: []string{"api.example.com"},
		Rules: map[string]sandbox.EgressRule{"read": rule("api.example.com", "443", "GET", "/v1")},
	}
	b := startWith(t, e, "a", spec)
	again := func(labels map[string]string, change func(*sandbox.Egress)) error {
		wanted := sandbox.Egress{Mode: spec.Mode, Hosts: []string{"api.example.com"}, Rules: map[string]sandbox.EgressRule{"read": spec.Rules["read"]}}
		change(&wanted)
		started, err := e.Start(t.Context(), engine.StartRequest{Name: "a", Labels: labels, WorkDir: "/work", Egress: wanted})
		if err == nil && (started.Guest.ID() != b.ID() || started.Origin != sandbox.OriginAdopted) {
			t.Errorf("another sandbox: %+v", started)
		}
		return err
	}
	if err := again(nil, func(*sandbox.Egress) {}); err != nil {
		t.Errorf("the same egress: %v", err)
	}
	for name, change := range map[string]func(*sandbox.Egress){
		"closed":       func(e *sandbox.Egress) { *e = sandbox.Egress{} },
		"a host more":  func(e *sandbox.Egress) { e.Hosts = append(e.Hosts, "b.example.com") },
		"a host less":  func(e *sandbox.Egress) { e.Hosts = nil },
		"a rule less":  func(e *sandbox.Egress) { e.Rules = nil },
		"other method": func(e *sandbox.Egress) { e.Rules["read"] = rule("api.example.com", "443", "*", "/v1") },
		"other path":   func(e *sandbox.Egress) { e.Rules["read"] = rule("api.example.com", "443", "GET", "/") },
		"other port":   func(e *sandbox.Egress) { e.Rules["read"] = rule("api.example.com", "*", "GET", "/v1") },
	} {
		if err := again(nil, change); !errors.Is(err, sandbox.CodeReuseDiffers) {
			t.Errorf("%s: %v", name, err)
		}
		// Labels that differ tell whoever set them, and more.
		if err := again(map[string]string{"spec": name}, change); err != nil {
			t.Errorf("%s, with a label that says so: %v", name, err)
		}
	}
}

func TestWhereTheEgressProxyIsLostProgramsAreRefused(t *testing.T) {
	t.Parallel()
	world := newWorld(t, "api.example.com")
	c, told := listening(inWorld(t, world))
	noticed := make(chan string, 10)
	c.Notice = func(text string) { noticed <- text }
	e := newEngine(t, c)
	b := startWith(t, e, "a", sandbox.Egress{Rules: map[string]sandbox.EgressRule{"plain": rule("api.example.com", "80", "*", "*")}})
	neighbour := startWith(t, e, "b", sandbox.Egress{Rules: map[string]sandbox.EgressRule{"plain": rule("api.example.com", "80", "*", "*")}})
	b.prints(curl + "http://api.example.com/")
	<-told(b.ID()).more
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started, gone := make(chan struct{}), make(chan struct{})
	running := make(chan string, 1)
	go func() {
		out := &signalled{started: started, gone: gone}
		_, _ = b.Exec(ctx, engine.ExecRequest{Args: []string{"/bin/sh", "-c", "echo; read x; " + curl + "http://api.example.com/ 2>&1; exit 0"}, Dir: "/work", Stdin: out, Stdout: out})
		running <- out.text()
	}()
	<-started
	if err := b.outlet.socket.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	<-told(b.ID()).more
	if text := <-noticed; !strings.Contains(text, "egress proxy") {
		t.Errorf("%q", text)
	}
	events := told(b.ID()).all()
	if last := events[len(events)-1]; last.Code != sandbox.CodeEgressProxyLost || last.Allowed || last.Count != 1 || last.Time.IsZero() {
		t.Errorf("%+v", last)
	}
	if _, _, err := b.try(t.Context(), "/bin/true"); !errors.Is(err, engine.ErrNoEgress) {
		t.Errorf("a program is started: %v", err)
	}
	close(gone)
	if got := <-running; strings.Contains(got, "GET api") || !strings.Contains(got, "curl:") {
		t.Errorf("a program that runs still reaches: %q", got)
	}
	if _, err := b.Stat(t.Context(), b.ref("/work")); err != nil {
		t.Errorf("its files: %v", err)
	}
	if got := neighbour.prints(curl + "http://api.example.com/"); got != "GET api.example.com/" {
		t.Errorf("the neighbour: %q", got)
	}
}

// signalled is the output of a program that says when it began, and an input that
// comes when the proxy is gone.
type signalled struct {
	started chan struct{}
	gone    chan struct{}
	once    sync.Once
	mu      sync.Mutex
	said    strings.Builder
}

func (s *signalled) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.started) })
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Write(p)
}

func (s *signalled) Read([]byte) (int, error) {
	<-s.gone
	return 0, io.EOF
}

func (s *signalled) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}

func TestTheEndOfAnOutletIsNotWaitedForBeyondItsContext(t *testing.T) {
	t.Parallel()
	proxy, err := egressproxy.New(egressproxy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	o := &outlet{proxy: proxy}
	hung := make(chan struct{})
	o.served.Go(func() { <-hung }) // as an observer that is told of the loss may
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.close(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("it answers %v", err)
	}
	close(hung)
	if err := o.close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestEgressThatCannotBeIsRefusedAndNotDeclared(t *testing.T) {
	t.Parallel()
	e := newEngine(t, testConfig(t))
	missing := sandbox.Finding{Code: sandbox.CodeEgressNotEnforced, Found: "no place", Required: "allowlist", Remedy: "make one"}.Refusal(nil)
	without := *e.host
	without.outlets.missing = missing
	lame := &Engine{host: &without, config: e.config, guests: map[string]*guest{}, life: e.life}
	if _, err := lame.Start(t.Context(), engine.StartRequest{Name: "a", WorkDir: "/work", Egress: sandbox.Egress{Mode: sandbox.EgressAllowlist}}); !errors.Is(err, sandbox.CodeEgressNotEnforced) {
		t.Errorf("%v", err)
	}
	report := Report{}
	if err := lame.probeEgress(t.Context(), &report); err != nil {
		t.Fatal(err)
	}
	report.declare(e.config, "x")
	d := report.Declarations
	if d.EgressModes != sandbox.SetOf(sandbox.EgressClosed) || d.Capabilities.Has(sandbox.CapabilityEgressPorts) || len(report.Egress) != 1 || report.Egress[0].Held {
		t.Errorf("%v, %v, %+v", d.EgressModes, d.Capabilities, report.Egress)
	}
	if _, sni := d.Guarantees[sandbox.GuaranteeSNIBound]; sni || len(d.Guarantees) != 5 {
		t.Errorf("%v", d.Guarantees)
	}
}

func TestAnEgressWallThatFellIsNotDeclared(t *testing.T) {
	t.Parallel()
	e := newEngine(t, testConfig(t))
	report := Report{}
	if err := e.probeEgress(t.Context(), &report); err != nil {
		t.Fatal(err)
	}
	whole := report
	whole.declare(e.config, "x")
	if d := whole.Declarations; !d.EgressModes.Has(sandbox.EgressAllowlist) || len(d.Guarantees) != len(sandbox.Guarantees()) {
		t.Fatalf("the neighbour: %v, %v", d.EgressModes, d.Guarantees)
	}
	capability := map[sandbox.Guarantee]sandbox.Capability{}
	for c, g := range egressCapabilities {
		capability[g] = c
	}
	for i, w := range report.walls {
		fell := Report{walls: append([]egresstrial.Wall(nil), report.walls...)}
		fell.walls[i].Held = false
		fell.declare(e.config, "x")
		d := fell.Declarations
		if len(w.Proves) == 0 && (d.EgressModes.Has(sandbox.EgressAllowlist) || d.Capabilities.Has(sandbox.CapabilityEgressPorts)) {
			t.Errorf("without %q: %v, %v", w.Name, d.EgressModes, d.Capabilities)
		}
		for _, g := range w.Proves {
			if _, given := d.Guarantees[g]; given || len(d.Guarantees) != len(sandbox.Guarantees())-len(w.Proves) {
				t.Errorf("without %q: %v", w.Name, d.Guarantees)
			}
			if c, ok := capability[g]; ok && d.Capabilities.Has(c) {
				t.Errorf("without %q: %v", w.Name, d.Capabilities)
			}
		}
	}
}

// Nobody else's directory, and none that the sandboxes' users cannot get to.
func TestEgressSocketsStandWhereTheirSandboxesCanGet(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody")
	}
	open := openDir(t)
	dir := func(name string, mode os.FileMode) string {
		at := filepath.Join(open, name)
		if err := errors.Join(os.Mkdir(at, 0o700), os.Chmod(at, mode)); err != nil {
			t.Fatal(err)
		}
		return at
	}
	passing, shut, theirs := dir("passing", 0o711), dir("shut", 0o700), dir("theirs", 0o755)
	if err := os.Chown(theirs, 1_900_000_000, -1); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(theirs, "state")
	if err := errors.Join(os.Mkdir(below, 0o711), os.Chmod(below, 0o711)); err != nil {
		t.Fatal(err)
	}
	c := Config{Users: Users{First: 1_900_000_000, Count: 2}}
	for state, here := range map[string]bool{passing: true, shut: false, below: false} {
		o, err := newOutlets(c, state)
		if err != nil || o.missing != nil || (o.in == state) != here {
			t.Errorf("%s: sockets are in %s, %v, %v", filepath.Base(state), o.in, o.missing, err)
		}
	}
	if o, err := newOutlets(Config{}, shut); err != nil || o.in != shut { // a host that becomes nobody
		t.Errorf("sockets are in %s, %v", o.in, err)
	}
}

func TestEgressBoundsAndRootsAreChecked(t *testing.T) {
	t.Parallel()
	for path, change := range map[string]func(*EgressConfig){
		"Egress.DenialsPerSecond":     func(c *EgressConfig) { c.DenialsPerSecond = -1 },
		"Egress.Together.Connections": func(c *EgressConfig) { c.Together.Connections = -7 },
		"Egress.Together.Dials":       func(c *EgressConfig) { c.Together.Dials = -1 },
		"Egress.RootsPEM":             func(c *EgressConfig) { c.RootsPEM = []byte("none") },
	} {
		c := testConfig(t)
		change(&c.Egress)
		if _, err := New(t.Context(), c); sandbox.RefusalOf(err) == nil || sandbox.RefusalOf(err).Path.String() != path {
			t.Errorf("%s: %v", path, err)
		}
		nothingLeft(t, c)
	}
}

func TestEachSandboxesProxyIsHeldToTheConfiguredPace(t *testing.T) {
	t.Parallel()
	for _, pace := range []int{0, 7} {
		c := testConfig(t)
		c.Egress.DenialsPerSecond = pace
		config, err := newEngine(t, c).proxyConfig("id", "name")
		if err != nil || config.Limits != (egressproxy.Limits{DenialsPerSecond: pace}) {
			t.Errorf("%d: %+v, %v", pace, config.Limits, err)
		}
	}
}

//nolint:paralleltest // it counts what this process holds
func TestManySandboxesWithEgressComeAndGoWithoutATrace(t *testing.T) {
	world := newWorld(t, "api.example.com")
	e := newEngine(t, inWorld(t, world))
	const sandboxes = 100
	round := func(n int) {
		var all sync.WaitGroup
		boxes := make([]box, n)
		for i := range n {
			all.Go(func() {
				started, err := e.Start(t.Context(), engine.StartRequest{Name: fmt.Sprintf("s%d", i), WorkDir: "/work", Egress: sandbox.Egress{
					Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{"plain": rule("api.example.com", "80", "*", "*")},
				}})
				if err != nil {
					t.Error(err)
					return
				}
				boxes[i] = boxOf(t, started.Guest)
				out, _, err := boxes[i].try(t.Context(), "/bin/sh", "-c", curl+"http://api.example.com/")
				if err != nil || out != "GET api.example.com/" {
					t.Errorf("%q, %v", out, err)
				}
			})
		}
		all.Wait()
		for _, b := range boxes {
			all.Go(func() {
				if b.guest == nil {
					return
				}
				if err := e.Delete(t.Context(), b.ID()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	round(10) // what is made once is made
	world.Forget()
	fds, memory, threads := descriptors(t), heap(), runtime.NumGoroutine()
	round(sandboxes)
	// What connections held goes a moment after they end, and what Go keeps of them
	// with a collection or two.
	left := func() bool {
		return descriptors(t) > fds+8 || runtime.NumGoroutine() > threads+8 || heap() > memory+(8<<20)
	}
	patience, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for left() && patience.Err() == nil {
		select {
		case <-again.C:
		case <-patience.Done():
			t.Errorf("%d descriptors, %d before; %d goroutines, %d before; %d bytes of heap, %d before",
				descriptors(t), fds, runtime.NumGoroutine(), threads, heap(), memory)
		}
	}
	if entries, err := os.ReadDir(e.host.outlets.dir); err != nil || len(entries) != 0 {
		t.Errorf("%d sockets are left, %v", len(entries), err)
	}
	t.Logf("%d sandboxes: descriptors %d → %d, goroutines %d → %d, heap %d → %d KiB", sandboxes, fds, descriptors(t), threads, runtime.NumGoroutine(), memory>>10, heap()>>10)
}

// socketsOf finds the directories for egress sockets of the hosts that a state
// directory knows.
func socketsOf(t *testing.T, stateDir string) []string {
	t.Helper()
	records, err := filepath.Glob(stateDir + "/host-*/record.json")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range records {
		content, err := os.ReadFile(file)
		_, dir, named := strings.Cut(string(content), `"sockets":"`)
		dir, _, _ = strings.Cut(dir, `"`)
		if err != nil || !named {
			t.Errorf("a record without its sockets: %s, %v", content, err)
		}
		found = append(found, dir)
	}
	return found
}
