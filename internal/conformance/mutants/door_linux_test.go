package mutants_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressflaws"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/guestenv"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/hostengine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// door says what is wrong with the proxies of an engine whose programs are this
// machine's own, and so are confined by good manners alone.
type door struct {
	// flaw is the proxy's own.
	flaw *egressflaws.Flaw
	// config changes what a proxy is made of, and listen where it is asked.
	config func(c *egressproxy.Config)
	listen func(e *doorEngine, l net.Listener) net.Listener
	// env changes what programs are told, args what they are asked.
	env  func(env []string) []string
	args func(args []string) []string
	// sharesTrust lets programs trust the authority of every sandbox.
	sharesTrust bool
	// sharesRules gives every sandbox the rules of the first.
	sharesRules bool
	// unseen gives the suites no world to show anything in.
	unseen bool
	// stays keeps the proxy when it is ended.
	stays bool
}

// doorEngine is that engine.
type doorEngine struct {
	*hostengine.Engine
	t     *testing.T
	door  door
	world *conformance.Egress
	dir   string

	mu      sync.Mutex
	first   *egress.Set
	trusted []byte
	outlets map[string]*doorOutlet // by the sandbox's id
}

// doorOutlet is one sandbox's proxy.
type doorOutlet struct {
	proxy  *egressproxy.Proxy
	end    context.CancelFunc
	served sync.WaitGroup
	env    []string
}

// subject is a backend over the engine.
func (d door) subject(t *testing.T) conformance.Subject {
	t.Helper()
	e := &doorEngine{
		Engine: hostengine.New(hostengine.Options{}), t: t, door: d, world: newWorld(t), dir: t.TempDir(), outlets: map[string]*doorOutlet{},
	}
	declarations := e.Declarations()
	declarations.EgressModes = sandbox.SetOf(sandbox.EgressModes()[:2]...)
	declarations.Guarantees = map[sandbox.Guarantee]sandbox.Evidence{}
	for _, g := range sandbox.Guarantees() {
		declarations.Guarantees[g] = sandbox.Evidence{Kind: sandbox.EvidenceProbed, Reference: "it is none"}
	}
	capabilities := declarations.Capabilities.With(sandbox.CapabilityEgressPorts).With(sandbox.CapabilityEgressMethods).
		With(sandbox.CapabilityEgressPaths).With(sandbox.CapabilityEgressAddresses)
	declarations.Capabilities = &capabilities
	b, err := backend.New(e, declarations)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	e.world.EndProxy = e.endProxy
	shows := e.world
	if d.unseen {
		shows = nil
	}
	return conformance.Subject{
		Backend: b, Egress: shows,
		Spec: sandbox.Spec{Kind: "probe", Requires: declarations.Capabilities, WorkDir: filepath.Join(e.dir, "work"), Egress: sandbox.Egress{Mode: sandbox.EgressClosed}},
	}
}

func (e *doorEngine) Start(ctx context.Context, req engine.StartRequest) (engine.Started, error) {
	// Sandboxes of a host that holds nothing would share a work directory.
	started, err := e.Engine.Start(ctx, req)
	if err != nil {
		return started, err
	}
	run, ok := started.Guest.(engine.Execer)
	if !ok {
		return started, errors.New("a guest without exec")
	}
	id := started.Guest.ID()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.outlets[id] == nil && req.Egress.Mode == sandbox.EgressAllowlist {
		if e.outlets[id], err = e.open(ctx, id, req.Egress); err != nil {
			return started, err
		}
	}
	o := e.outlets[id]
	started.Guest = execGuest{started.Guest, run, func(ctx context.Context, run engine.Execer, req engine.ExecRequest) (int, error) {
		if o != nil {
			env := o.env
			if e.door.env != nil {
				env = e.door.env(slices.Clone(env))
			}
			req.Env = append(slices.Clone(env), req.Env...)
		}
		if e.door.args != nil {
			req.Args = e.door.args(slices.Clone(req.Args))
		}
		return run.Exec(ctx, req)
	}}
	return started, nil
}

func (e *doorEngine) Delete(ctx context.Context, id string) error {
	return errors.Join(e.close(ctx, id), e.Engine.Delete(ctx, id))
}

func (e *doorEngine) endProxy(ctx context.Context, id string) error {
	defer e.world.Observed.Of(id).Observe(egress.Event{Time: time.Now(), Code: sandbox.CodeEgressProxyLost, Layer: egress.LayerConnection, Count: 1})
	if e.door.stays {
		return nil
	}
	return e.close(ctx, id)
}

func (e *doorEngine) close(ctx context.Context, id string) error {
	e.mu.Lock()
	o := e.outlets[id]
	delete(e.outlets, id)
	e.mu.Unlock()
	if o == nil {
		return nil
	}
	o.end()
	err := o.proxy.Close(ctx)
	o.served.Wait()
	return err
}

// open makes a proxy with what is wrong with it; e.mu is held.
func (e *doorEngine) open(ctx context.Context, id string, spec sandbox.Egress) (*doorOutlet, error) {
	rules := e.rules(spec)
	config := egressproxy.Config{
		Rules: rules, Resolver: e.world.World, RootCAs: e.world.World.Roots(), Connect: e.world.World.Connect, Observer: e.world.Observed.Of(id),
	}
	if e.door.config != nil {
		e.door.config(&config)
	}
	var flaw egressflaws.Flaw
	if e.door.flaw != nil {
		flaw = *e.door.flaw
	}
	proxy, err := egressproxy.NewAltered(config, flaw.Alter)
	if err != nil {
		return nil, err
	}
	var where net.ListenConfig
	listener, err := where.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, err
	}
	o := &doorOutlet{proxy: proxy, env: guestenv.Proxy(host, port)}
	if authority := proxy.CAPEM(); authority != nil {
		if e.door.sharesTrust {
			e.trusted = append(e.trusted, authority...)
			authority = slices.Clone(e.trusted)
		}
		path := filepath.Join(e.dir, id+".pem")
		if err := os.WriteFile(path, authority, 0o644); err != nil {
			return nil, err
		}
		o.env = append(o.env, guestenv.Bundle(path)...)
	}
	if e.door.listen != nil {
		listener = e.door.listen(e, listener)
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	o.end = end
	o.served.Go(func() {
		if err := proxy.Serve(serving, listener); err != nil && !errors.Is(err, egressproxy.ErrClosed) {
			e.t.Log(err)
		}
	})
	return o, nil
}

func (e *doorEngine) rules(spec sandbox.Egress) *egress.Set {
	var rules []egress.Rule
	for _, name := range slices.Sorted(maps.Keys(spec.Rules)) {
		rule, findings := egress.ParseRule(name, spec.Rules[name], nil)
		if len(findings) > 0 {
			e.t.Error(findings)
		}
		rules = append(rules, rule)
	}
	set := egress.NewSet(rules)
	if e.first == nil {
		e.first = set
	}
	if e.door.sharesRules {
		return e.first
	}
	return set
}

// changedConns wraps every connection of a listener.
type changedConns struct {
	net.Listener
	change func(net.Conn) net.Conn
}

func (c changedConns) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return c.change(conn), nil
}

// toServers wraps every connection that a proxy makes.
func toServers(change func(net.Conn) net.Conn) func(*egressproxy.Config) {
	return func(c *egressproxy.Config) {
		connect := c.Connect
		c.Connect = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			conn, err := connect(ctx, to)
			if err != nil {
				return nil, err
			}
			return change(conn), nil
		}
	}
}
