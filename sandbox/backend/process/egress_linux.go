package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/guestenv"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Where a sandbox with an allowlist finds its proxy and what it is to trust.
const (
	proxyHost   = "127.0.0.1"
	proxyPort   = 3128
	proxySocket = "/run/egress/proxy.sock"
	trustPEM    = "/run/egress/ca.pem"
	trustPKCS12 = "/run/egress/ca.p12"
)

// outlet is one sandbox's way to what its rules admit. It is the only thing of
// the host that the sandbox can speak to.
type outlet struct {
	proxy  *egressproxy.Proxy
	socket *egressproxy.Socket
	env    []string  // what its programs are told
	files  view.View // what it sees of it
	rules  *egress.Set
	served sync.WaitGroup
	lost   chan struct{} // closed when the proxy ended by itself
}

// openOutlet makes the outlet of a sandbox; nil for one without a network. On an
// error nothing of it is left.
func (e *Engine) openOutlet(ctx context.Context, g *guest, spec sandbox.Egress) (*outlet, error) {
	if spec.Mode != sandbox.EgressAllowlist {
		return nil, nil //nolint:nilnil // no network, no outlet
	}
	if err := e.host.outlets.missing; err != nil {
		return nil, err
	}
	rules, err := rulesOf(spec)
	if err != nil {
		return nil, err
	}
	config, err := e.proxyConfig(g.id, g.name)
	if err != nil {
		return nil, err
	}
	config.Rules = rules
	o := &outlet{lost: make(chan struct{}), rules: rules}
	if o.proxy, err = egressproxy.New(config); err != nil {
		return nil, err
	}
	if err := o.open(e, g.user); err != nil { //nolint:contextcheck // its life is not its caller's
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer cancel()
		return nil, errors.Join(err, o.close(undo))
	}
	return o, nil
}

// open makes the socket, and starts to serve it.
func (o *outlet) open(e *Engine, user *user) (err error) {
	if o.socket, err = egressproxy.Listen(e.host.outlets.dir); err != nil {
		return err
	}
	if err := admit(o.socket, user); err != nil {
		return err
	}
	if err := o.tell(e.config); err != nil {
		return err
	}
	o.served.Go(func() { o.serve(e.config.Notice) })
	return nil
}

// serve takes connections until the outlet is closed. Where the socket breaks
// before, it ends the proxy: what runs reaches nothing from then on, which the proxy
// itself tells its observer.
func (o *outlet) serve(notice func(string)) {
	ctx := context.Background()
	err := o.proxy.Serve(ctx, o.socket)
	if err == nil || errors.Is(err, egressproxy.ErrClosed) {
		return
	}
	close(o.lost)
	notice("the egress proxy of a sandbox has ended: " + err.Error())
	ctx, cancel := context.WithTimeout(ctx, cleanupTime)
	defer cancel()
	if err := o.proxy.Close(ctx); err != nil { // it is tried again with the sandbox
		notice("the egress proxy of a sandbox has ended, and not everything that went through it: " + err.Error())
	}
}

// ended reports whether the proxy ended before the sandbox.
func (o *outlet) ended() bool {
	if o == nil {
		return false
	}
	select {
	case <-o.lost:
		return true
	default:
		return false
	}
}

// tell writes down what the sandbox's programs are told.
func (o *outlet) tell(c Config) error {
	port := strconv.Itoa(proxyPort)
	o.files = view.View{{Kind: view.ShowSocket, Path: proxySocket, Source: o.socket.Path()}}
	o.env = guestenv.Proxy(proxyHost, port)
	authority := o.proxy.CAPEM()
	if authority == nil {
		o.env = append(o.env, guestenv.Java(proxyHost, port, ""))
		return nil
	}
	roots, err := c.guestRoots()
	if err != nil {
		return err
	}
	trust, err := guestenv.NewTrust(roots, authority)
	if err != nil {
		return err
	}
	o.files = append(o.files,
		view.Entry{Kind: view.File, Path: trustPEM, Content: trust.PEM, Mode: 0o444},
		view.Entry{Kind: view.File, Path: trustPKCS12, Content: trust.PKCS12, Mode: 0o444})
	o.env = append(append(o.env, guestenv.Bundle(trustPEM)...), guestenv.Java(proxyHost, port, trustPKCS12))
	return nil
}

// guestRoots are the authorities that a guest is shown beside its own.
func (c Config) guestRoots() ([]byte, error) {
	if c.Egress.RootsPEM != nil {
		return c.Egress.RootsPEM, nil
	}
	if c.RootFS != "" {
		if roots, err := guestenv.Roots(c.RootFS); err != nil || roots != nil {
			return roots, err
		}
	}
	return guestenv.Roots("/")
}

// connect makes the proxy answer in the sandbox.
func (o *outlet) connect(ctx context.Context, agent *guestagent.Client) error {
	if o == nil {
		return nil
	}
	return agent.Forward(ctx, guestagent.Forwarding{Port: proxyPort, Socket: proxySocket})
}

// shown is what the sandbox sees of it.
func (o *outlet) shown() view.View {
	if o == nil {
		return nil
	}
	return o.files
}

// variables are what the sandbox's programs are told.
func (o *outlet) variables() []string {
	if o == nil {
		return nil
	}
	return o.env
}

// close ends whatever goes through the outlet, and removes it. It may be called
// again after an error.
func (o *outlet) close(ctx context.Context) error {
	if o == nil {
		return nil
	}
	err := o.proxy.Close(ctx)
	served := make(chan struct{})
	go func() {
		defer close(served)
		o.served.Wait() // the proxy has closed the listener
	}()
	select {
	case <-served:
	case <-ctx.Done(): // an observer, or what connects for the host, does not come back
		return errors.Join(err, fmt.Errorf("end the egress proxy of a sandbox: %w", context.Cause(ctx)))
	}
	if o.socket != nil {
		err = errors.Join(err, o.socket.Close())
	}
	return err
}

// admit lets the user of a sandbox through to its socket, and nobody else: the
// directory is the host's, and it is the sandbox's group that may pass.
func admit(socket *egressproxy.Socket, user *user) error {
	if user == nil {
		return nil // it is the host's own
	}
	dir := socket.Directory()
	if err := errors.Join(os.Chown(dir, -1, int(user.id)), os.Chmod(dir, 0o710)); err != nil {
		return fmt.Errorf("let a sandbox through to its egress socket: %w", err)
	}
	return nil
}

// proxyConfig is what the sandbox's proxy is made of, without its rules.
func (e *Engine) proxyConfig(id, name string) (egressproxy.Config, error) {
	c := e.config.Egress
	roots, err := c.roots()
	if err != nil {
		return egressproxy.Config{}, err
	}
	config := egressproxy.Config{Pool: e.host.outlets.pool, RootCAs: roots, Connect: c.Connect, Upstream: c.upstream()}
	config.Limits.DenialsPerSecond = c.DenialsPerSecond
	if c.Resolver != nil {
		config.Resolver = c.Resolver
	}
	if c.Observer != nil {
		config.Observer = c.Observer(id)
	}
	if c.Judge != nil {
		if judge := c.Judge(name); judge != nil {
			config.Judge = judge
		}
	}
	return config, nil
}

// rulesOf compiles a spec's egress, which was judged before: what is refused here
// was not.
func rulesOf(spec sandbox.Egress) (*egress.Set, error) {
	var rules []egress.Rule
	for i, host := range spec.Hosts {
		rule, findings := egress.ParseShort(host, sandbox.Path("egress_hosts", i))
		if len(findings) > 0 {
			return nil, findings[0].Refusal(nil)
		}
		rules = append(rules, rule)
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Rules)) {
		path := sandbox.Path("egress_rules").Append(sandbox.MapKey(name))
		rule, findings := egress.ParseRule(name, spec.Rules[name], path)
		if len(findings) > 0 {
			return nil, findings[0].Refusal(nil)
		}
		rules = append(rules, rule)
	}
	return egress.NewSet(rules), nil
}

// adopt answers a sandbox that runs, unless it would be taken for one with other
// rules: where the labels differ as well, they tell.
func (g *guest) adopt(req engine.StartRequest) (engine.Started, error) {
	if maps.Equal(g.labels, req.Labels) && !sameEgress(g.egress, req.Egress) {
		return engine.Started{}, sandbox.Finding{
			Code:     sandbox.CodeReuseDiffers,
			Found:    "a sandbox of this name whose egress differs",
			Required: "the egress that it was made with",
			Remedy:   "dispose the sandbox, then start it",
		}.Refusal(nil)
	}
	return engine.Started{Guest: g, Origin: sandbox.OriginAdopted, Labels: maps.Clone(g.labels)}, nil
}

// sameEgress compares what was asked for as it was written: no mode is closed.
func sameEgress(a, b sandbox.Egress) bool {
	allowlist := a.Mode == sandbox.EgressAllowlist
	if allowlist != (b.Mode == sandbox.EgressAllowlist) {
		return false
	}
	return !allowlist || slices.Equal(a.Hosts, b.Hosts) && maps.EqualFunc(a.Rules, b.Rules, sameRule)
}

func sameRule(a, b sandbox.EgressRule) bool {
	return a.Host == b.Host && slices.Equal(a.Ports, b.Ports) && slices.Equal(a.Methods, b.Methods) && slices.Equal(a.Paths, b.Paths)
}
