package process

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/owner"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// outlets are what the outlets of all sandboxes of a host share.
type outlets struct {
	pool *egressproxy.Pool

	in      string // the directory of dir, or empty where there is none
	dir     string // where sockets are, once it is made
	missing error  // why no sandbox can have an allowlist
}

const socketsPrefix = "sandbox-egress-"

// newOutlets looks for where the sockets of this host's sandboxes can be. Sandboxes
// that become another user need a place that this user can get to. Where there is
// none the host serves sandboxes without a network alone.
func newOutlets(c Config, stateDir string) (outlets, error) {
	o := outlets{}
	if err := c.Egress.checkBounds(); err != nil {
		return o, err
	}
	b := c.Egress.Together
	var err error
	o.pool, err = egressproxy.NewPool(egressproxy.PoolLimits{
		Connections: b.Connections, Requests: b.Requests, Handshakes: b.Handshakes, Multiplexed: b.Multiplexed,
		Uploads: b.Uploads, Lookups: b.Lookups, Dials: b.Dials,
	})
	if err != nil {
		return o, err
	}
	if _, err := c.Egress.roots(); err != nil {
		return o, err
	}
	if err := c.Egress.checkUpstream(); err != nil {
		return o, err
	}
	if c.Users.Count == 0 {
		o.in = stateDir
		return o, nil
	}
	for _, dir := range []string{stateDir, os.TempDir(), "/var/tmp", "/var/lib"} {
		if dir, err := owner.Held(dir); err == nil && passable(dir) {
			o.in = dir
			return o, nil
		}
	}
	o.missing = sandbox.Finding{
		Code: sandbox.CodeEgressNotEnforced, Path: sandbox.Path("egress_mode"),
		Found:    "no directory that sandboxes' users can get to, for the sockets of their egress proxies",
		Required: "allowlist",
		Remedy:   "give the host a StateDir of mode 0711 below directories that everybody can enter, or set TMPDIR to one",
	}.Refusal(nil)
	return o, nil
}

// checkBounds refuses the first bound that is none.
func (c EgressConfig) checkBounds() error {
	b := c.Together
	for _, bound := range []struct {
		path  sandbox.FieldPath
		value int
	}{
		{sandbox.Path("Egress", "DenialsPerSecond"), c.DenialsPerSecond},
		{sandbox.Path("Egress", "Together", "Connections"), b.Connections},
		{sandbox.Path("Egress", "Together", "Requests"), b.Requests},
		{sandbox.Path("Egress", "Together", "Handshakes"), b.Handshakes},
		{sandbox.Path("Egress", "Together", "Lookups"), b.Lookups},
		{sandbox.Path("Egress", "Together", "Dials"), b.Dials},
	} {
		if bound.value < 0 {
			return sandbox.Finding{
				Code: sandbox.CodeOutOfRange, Path: bound.path, Found: strconv.Itoa(bound.value),
				Required: "a positive number, or 0 for the default",
				Remedy:   "set " + bound.path.String() + " of the process backend's configuration to such a number, or leave it out",
			}.Refusal(nil)
		}
	}
	return nil
}

// roots verify servers; nil is the system's.
func (c EgressConfig) roots() (*x509.CertPool, error) {
	if c.RootsPEM == nil {
		return nil, nil //nolint:nilnil // as package x509 has it
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(c.RootsPEM) {
		return nil, sandbox.Finding{
			Code: sandbox.CodeOptionsInvalid, Path: sandbox.Path("Egress", "RootsPEM"), Found: "no certificate",
			Required: "certificates of authorities, PEM", Remedy: "give some, or leave it out for this machine's",
		}.Refusal(nil)
	}
	return roots, nil
}

// upstream is the proxy of the network; nil is none.
func (c EgressConfig) upstream() *egressproxy.Upstream {
	if c.Upstream == nil {
		return nil
	}
	return &egressproxy.Upstream{URL: c.Upstream.URL, Authorization: c.Upstream.Authorization}
}

func (c EgressConfig) checkUpstream() error {
	if c.Upstream == nil {
		return nil
	}
	refused := sandbox.Finding{
		Code: sandbox.CodeOptionsInvalid, Path: sandbox.Path("Egress", "Upstream"),
		Found:    "a URL that is not one of a proxy", // it may hold a password
		Required: "a scheme, a host and a port, such as http://proxy.example.com:3128",
		Remedy:   "give the URL without anything else, and credentials in Authorization",
	}
	if c.Connect != nil {
		refused.Found, refused.Required, refused.Remedy = "Connect beside it", "one way to servers", "leave one of them out"
		return refused.Refusal(nil)
	}
	if err := c.upstream().Check(); err != nil {
		return refused.Refusal(err)
	}
	return nil
}

// of is the directory of a host of this id, or empty.
func (o *outlets) of(id string) string {
	if o.in == "" {
		return ""
	}
	return filepath.Join(o.in, socketsPrefix+id)
}

// make makes the directory that the host's record names.
func (o *outlets) make(id string) error {
	dir := o.of(id)
	if dir == "" {
		return nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make the directory for egress sockets: %w", err)
	}
	o.dir = dir
	if err := os.Chmod(dir, 0o711); err != nil { // what is in it is closed
		return fmt.Errorf("make the directory for egress sockets: %w", err)
	}
	return nil
}

// close removes what was made. It may be called again.
func (o *outlets) close() error {
	if err := removeNoted(o.dir); err != nil {
		return err
	}
	o.dir = ""
	return nil
}
