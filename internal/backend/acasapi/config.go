package acasapi

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Config is how the service is reached. All of it is the host's own; nothing here
// may come from a manifest, a plan or an answer.
type Config struct {
	// Cloud is where the service lives; the zero value is [Public].
	Cloud Cloud
	// Location chooses the data plane of a region. A client without it, and
	// without DataEndpoint, serves the ARM plane only.
	Location string
	// ARMEndpoint and DataEndpoint replace the cloud's own.
	ARMEndpoint, DataEndpoint string
	// ExactEndpoints are the endpoints outside the cloud's domains that may be sent
	// a token, as emulators are: in full, scheme, host and port.
	ExactEndpoints []string
	// RootCAs replaces the system's roots, for an emulator's certificate.
	RootCAs *x509.CertPool
	// Transport replaces the network altogether, for an emulator in this process.
	Transport policy.Transporter

	// Credential is asked for a token when the first request is sent, not before.
	Credential azcore.TokenCredential
	// DataAudience replaces the data plane's token audience.
	DataAudience string

	// ARMVersion and DataVersion are the api-versions spoken; empty is the
	// default, which all shipping clients speak.
	ARMVersion, DataVersion wire.Version

	// RoleWait is how long a 403 is taken for a role that has not reached the
	// service yet. Zero is 90 seconds; negative is not at all.
	RoleWait time.Duration
	// PageSize is how many items of a list are asked for at once. Zero is 100;
	// negative asks for no pages and takes what comes.
	PageSize int

	// Observe hears of every request that was answered or failed. It is called on
	// the caller's goroutine and must not block.
	Observe func(Event)
	// Unfamiliar hears once of every field of an answer that this client does not
	// know: the first sign of a field that was added or renamed.
	Unfamiliar func(op wire.Op, field string)

	// Clock and Jitter are the system's when nil. Jitter answers in [0, 1).
	Clock  Clock
	Jitter func() float64
	// UserAgent names the host in front of this client's own name, in at most 24
	// characters.
	UserAgent string
}

// Event is one request on its way: what was sent where, and what came of it. It
// has no body, no query, no header and no token.
type Event struct {
	Op     wire.Op
	Method string
	// Attempt counts from one.
	Attempt int
	// Status is zero when there was no answer.
	Status int
	// Wait is how long the client waits before it sends the request again; zero
	// when it does not.
	Wait      time.Duration
	RequestID string
}

// Client is the ARM plane, and the way to the groups of the data plane. It is safe
// for concurrent use.
type Client struct {
	cfg    Config
	wire   policy.Transporter
	arm    *plane
	data   *plane // nil without a data-plane endpoint
	canary *canary
}

// New checks the configuration and connects to nothing.
func New(cfg Config) (*Client, error) {
	if cfg.Cloud.Name == "" {
		cfg.Cloud = Public()
	}
	if cfg.Clock == nil {
		cfg.Clock = systemClock{}
	}
	if cfg.Jitter == nil {
		cfg.Jitter = systemJitter
	}
	if cfg.RoleWait == 0 {
		cfg.RoleWait = 90 * time.Second
	}
	if cfg.PageSize == 0 {
		cfg.PageSize = 100
	}
	if cfg.Credential == nil {
		return nil, refusal(sandbox.CodeMissing, "credential", "none", "a credential", "choose a method of signing in")
	}
	cfg.ARMVersion, cfg.DataVersion = orDefault(cfg.ARMVersion), orDefault(cfg.DataVersion)
	if err := errors.Join(checkVersion(wire.ARM, cfg.ARMVersion), checkVersion(wire.Data, cfg.DataVersion)); err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, canary: newCanary(cfg.Unfamiliar), wire: cfg.Transport}
	if c.wire == nil {
		c.wire = newHTTPClient(cfg.RootCAs)
	}

	armEndpoint := cfg.ARMEndpoint
	if armEndpoint == "" {
		armEndpoint = "https://" + cfg.Cloud.ARMHost
	}
	var err error
	if c.arm, err = c.newPlane(wire.ARM, cfg.ARMVersion, armEndpoint, cfg.Cloud.ARMAudience); err != nil {
		return nil, err
	}
	dataEndpoint := cfg.DataEndpoint
	if dataEndpoint == "" && cfg.Location != "" {
		if dataEndpoint, err = cfg.Cloud.DataEndpoint(cfg.Location); err != nil {
			return nil, err
		}
	}
	if dataEndpoint == "" {
		return c, nil
	}
	audience := cfg.Cloud.DataAudience
	if cfg.DataAudience != "" {
		audience = cfg.DataAudience
	}
	c.data, err = c.newPlane(wire.Data, cfg.DataVersion, dataEndpoint, audience)
	return c, err
}

func orDefault(v wire.Version) wire.Version {
	if v == "" {
		return wire.V0201
	}
	return v
}

func (c *Client) newPlane(kind wire.Plane, version wire.Version, endpoint, audience string) (*plane, error) {
	base, err := c.cfg.Cloud.admit(kind, endpoint, c.cfg.ExactEndpoints)
	if err != nil {
		return nil, err
	}
	aud, err := url.Parse(audience)
	if err != nil || aud.Scheme != "https" || aud.Host == "" {
		return nil, refusal(sandbox.CodeInvalidText, kind.String()+" audience", sandbox.Echo(audience), "an https address", "")
	}
	p := &plane{kind: kind, version: version, base: base, client: c}
	p.pipeline = c.newPipeline(base, strings.TrimSuffix(strings.TrimSuffix(audience, "/"), "/.default")+"/.default")
	return p, nil
}

func checkVersion(kind wire.Plane, v wire.Version) error {
	if slices.Contains(kind.Versions(), v) {
		return nil
	}
	words := make([]string, 0, 2)
	for _, v := range kind.Versions() {
		words = append(words, string(v))
	}
	return refusal(sandbox.CodeUnknownWord, kind.String()+" api-version", sandbox.Echo(string(v)), strings.Join(words, " or "), "")
}

// Close lets go of the connections that are kept for the next request. What is
// under way goes on.
func (c *Client) Close() {
	if kept, ok := c.wire.(interface{ CloseIdleConnections() }); ok {
		kept.CloseIdleConnections()
	}
}

// Endpoint is where the plane's requests go, and whether that is a host of the
// cloud itself rather than one the configuration named.
func (c *Client) Endpoint(kind wire.Plane) (endpoint string, cloud bool) {
	p := c.arm
	if kind == wire.Data {
		p = c.data
	}
	if p == nil {
		return "", false
	}
	return p.base.String(), p.cloud()
}

// cloud reports that the plane is the service's own.
func (p *plane) cloud() bool {
	return p.base.Port() == "" && p.client.cfg.Cloud.owns(p.kind, strings.Split(p.base.Host, "."))
}

// loopback reports that the plane is on this machine.
func (p *plane) loopback() bool {
	ip := net.ParseIP(p.base.Hostname())
	return p.base.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// detached is a context for cleaning up after ctx has ended, with a deadline of
// its own.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 45*time.Second)
}
