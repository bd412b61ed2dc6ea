package acasapi_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

const subscription = "00000000-0000-0000-0000-0000000000aa"

// clock is a time that passes only while somebody waits for it, and then at once.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	waits []time.Duration
}

func newClock() *clock { return &clock{now: time.Unix(1_800_000_000, 0)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.waits = append(c.waits, d)
	return nil
}

func (c *clock) waited() (all []time.Duration, sum time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.waits {
		sum += w
	}
	return append(all, c.waits...), sum
}

// credential gives tokens that name their audience, and counts.
type credential struct {
	mu     sync.Mutex
	scopes []string
	err    error
}

func (c *credential) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scopes = append(c.scopes, o.Scopes...)
	if c.err != nil {
		return azcore.AccessToken{}, c.err
	}
	aud := strings.TrimSuffix(o.Scopes[0], "/.default")
	token := "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"aud":"`+aud+`"}`)) + "."
	return azcore.AccessToken{Token: token, ExpiresOn: time.Now().Add(time.Hour)}, nil
}

func (c *credential) asked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.scopes...)
}

// events counts what was sent, by operation.
type events struct {
	mu  sync.Mutex
	all []acasapi.Event
}

func (e *events) observe(ev acasapi.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

func (e *events) count(op wire.Op) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, ev := range e.all {
		if ev.Op == op {
			n++
		}
	}
	return n
}

func (e *events) total() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.all)
}

// rig is a client of a server on this machine, with a clock that does not wait.
type rig struct {
	*acasapi.Client
	clock  *clock
	cred   *credential
	events *events
}

func newRig(t *testing.T, url string, roots *x509.CertPool, change ...func(*acasapi.Config)) *rig {
	t.Helper()
	r := &rig{clock: newClock(), cred: &credential{}, events: &events{}}
	cfg := acasapi.Config{
		ARMEndpoint: url, DataEndpoint: url, ExactEndpoints: []string{url}, RootCAs: roots,
		Credential: r.cred, Clock: r.clock, Jitter: func() float64 { return 0.5 }, Observe: r.events.observe,
	}
	for _, c := range change {
		c(&cfg)
	}
	client, err := acasapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	r.Client = client
	return r
}

func groupID(name string) acasapi.GroupID {
	return acasapi.GroupID{Subscription: subscription, ResourceGroup: "rg", Name: name}
}

func (r *rig) group(t *testing.T, name string) *acasapi.Group {
	t.Helper()
	g, err := r.Group(groupID(name))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// smallest is the smallest request for a sandbox.
func smallest() wire.CreateSandbox {
	return wire.CreateSandbox{
		SourcesRef: &wire.SourcesRef{DiskImage: &wire.ImageRef{Name: "ubuntu", IsPublic: true}},
		Resources:  &wire.Resources{CPU: "1000m", Memory: "2048Mi"},
		Labels:     wire.Labels{"run": "42"},
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func second[T any](_ T, err error) error { return err }

func gathered[T any](items func(func(T, error) bool)) ([]T, error) {
	var all []T
	for item, err := range items {
		if err != nil {
			return all, err
		}
		all = append(all, item)
	}
	return all, nil
}
