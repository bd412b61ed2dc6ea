package imageregistry

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Config is what lookups are made with.
type Config struct {
	// Registries are those that may be asked, by the host that references name them
	// with, in lower case and with a port if it has one. No other is asked.
	Registries map[string]Access
	// Keychain knows the credentials of registries whose Access asks for them. With
	// none, such a lookup is refused.
	Keychain authn.Keychain
	// Proxy is the HTTP proxy of a request, if any.
	Proxy func(*http.Request) (*url.URL, error)
	// TLS is what connections trust; nil is the system's roots.
	TLS *tls.Config
	// UserAgent is said to registries.
	UserAgent string
	// Limits bound one lookup; what is 0 has the value of [DefaultLimits].
	Limits Limits
}

// Limits bound one lookup.
type Limits struct {
	Time      time.Duration
	Bytes     int64 // of one answer
	Requests  int64
	Redirects int // in a row
	Platforms int // of one index that are looked at
}

// DefaultLimits fit every image of the large public registries.
func DefaultLimits() Limits {
	return Limits{Time: 30 * time.Second, Bytes: 4 << 20, Requests: 200, Redirects: 3, Platforms: 32}
}

// Client looks images up. It keeps nothing between lookups: a token, a connection
// and an answer belong to one.
type Client struct{ cfg Config }

// New returns a client. It asks nobody.
func New(cfg Config) *Client {
	limits := DefaultLimits()
	override(&limits.Time, cfg.Limits.Time)
	override(&limits.Bytes, cfg.Limits.Bytes)
	override(&limits.Requests, cfg.Limits.Requests)
	override(&limits.Redirects, cfg.Limits.Redirects)
	override(&limits.Platforms, cfg.Limits.Platforms)
	cfg.Limits = limits
	return &Client{cfg: cfg}
}

func override[T comparable](value *T, by T) {
	var zero T
	if by != zero {
		*value = by
	}
}

// Look asks the registry of a reference what it names. Without a platform every
// Linux platform of an index counts, since each may be the one that runs; with one,
// only that counts and the digest is its own.
//
// Errors are [*sandbox.Refusal], at reference or at platform: the reference is none
// ([sandbox.CodeImageInvalid]), the registry may not be asked or leads elsewhere
// ([sandbox.CodeRegistryNotAllowed]), asks who we are ([sandbox.CodeRegistryDenied]),
// does not have the image ([sandbox.CodeRegistryNotFound]), cannot be reached
// ([sandbox.CodeRegistryUnreachable]) or answers what is no image within the limits
// ([sandbox.CodeRegistryAnswerInvalid]), and the image does not have the platform
// ([sandbox.CodeImagePlatform]).
func (c *Client) Look(ctx context.Context, reference string, platform Platform) (Image, error) {
	host, err := CheckReference(reference)
	if err != nil {
		return Image{}, err
	}
	access, ok := c.cfg.Registries[host]
	if !ok {
		return Image{}, c.notNamed(host)
	}
	var options []name.Option
	if access.PlainHTTP {
		options = append(options, name.Insecure)
	}
	ref, err := name.ParseReference(reference, options...)
	if err != nil {
		return Image{}, badReference(reference)
	}
	auth, err := c.authenticator(host, &access, ref)
	if err != nil {
		return Image{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Limits.Time)
	defer cancel()
	g := newGuard(host, ref.Context().RegistryStr(), &access, &c.cfg)
	defer g.close()
	l := lookup{ref: ref, host: host, want: platform, limits: c.cfg.Limits, ended: ctx.Err}
	l.puller, err = remote.NewPuller(
		remote.WithTransport(g), remote.WithAuth(auth), remote.WithUserAgent(c.cfg.UserAgent),
		remote.WithRetryBackoff(remote.Backoff{Duration: 200 * time.Millisecond, Steps: 2}),
	)
	if err != nil {
		return Image{}, l.failure(err, "prepare to ask")
	}
	return l.run(ctx)
}

// authenticator is who we are to the registry: nobody, unless its access says
// otherwise.
func (c *Client) authenticator(host string, access *Access, ref name.Reference) (authn.Authenticator, error) {
	if !access.Credentials {
		return authn.Anonymous, nil
	}
	if c.cfg.Keychain == nil {
		return nil, denied(host, "no keychain to take credentials from", nil)
	}
	auth, err := c.cfg.Keychain.Resolve(ref.Context())
	if err != nil {
		return nil, denied(host, "credentials that cannot be read", err)
	}
	return auth, nil
}

func (c *Client) notNamed(host string) error {
	return sandbox.Finding{
		Code: sandbox.CodeRegistryNotAllowed, Path: referencePath(), Found: "registry " + sandbox.Echo(host),
		Required: "a registry that the provider block names, since a plan asks no other",
		Remedy:   `add registries = { ` + sandbox.Echo(host) + ` = {} } to the provider block`,
	}.Refusal(nil)
}
