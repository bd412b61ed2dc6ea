package objectsink

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

// Options are the options of [New].
type Options struct {
	// Prefix is put before every key, such as "outputs/": lower case letters, digits
	// and -._/ only, at most 100 bytes.
	Prefix string
	// Existing says what becomes of an output that landed under the same name before.
	Existing output.Existing
	// Quota bounds what stands for one owner and scope. Zero bounds are those of
	// [output.DefaultQuota].
	Quota output.Quota
	// MaxDuration is how long a landing may take; 0 is an hour. Room that a host
	// reserved before it died is free again after that time.
	MaxDuration time.Duration
	// Now is the clock, [time.Now] if nil. Clocks of hosts that share a store may
	// differ by much less than MaxDuration.
	Now func() time.Time
	// Display is the line about a landed artifact that a model may see, by default
	// that of [output.DisplayOf].
	Display func(output.Artifact) string
}

const (
	defaultMaxDuration = time.Hour
	maxPrefix          = 100
	// cleanupTime is how long a clean-up may take, whatever became of the context of
	// what it cleans up after.
	cleanupTime = 30 * time.Second
)

// Sink lands outputs in a store, apart for each owner, key and call. Make one with
// [New]; it is safe for concurrent use, also by many hosts on one store.
type Sink struct {
	store   Store
	options Options
	quota   output.Quota
}

var _ output.Sink = (*Sink)(nil)

var plainKey = regexp.MustCompile(`^[a-z0-9._/-]*$`)

// New makes a sink on a store. It asks nothing of the store yet.
func New(store Store, options Options) (*Sink, error) {
	switch {
	case store == nil:
		return nil, fmt.Errorf("opening an object sink: no store")
	case len(options.Prefix) > maxPrefix || !plainKey.MatchString(options.Prefix):
		return nil, fmt.Errorf("opening an object sink: prefix %s is not of at most %d lower case letters, digits and -._/",
			sandbox.Echo(options.Prefix), maxPrefix)
	case options.MaxDuration < 0:
		return nil, fmt.Errorf("opening an object sink: a negative time for a landing")
	}
	if options.MaxDuration == 0 {
		options.MaxDuration = defaultMaxDuration
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Display == nil {
		options.Display = output.DisplayOf
	}
	return &Sink{store: store, options: options, quota: options.Quota.Or(output.DefaultQuota())}, nil
}

// Begin opens one landing. The store is not asked for anything yet.
func (s *Sink) Begin(ctx context.Context, from output.Origin) (output.Delivery, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &delivery{
		sink: s, scope: from.Key.Scope, keys: s.keysOf(from), landing: strings.ToLower(rand.Text()),
		detached: context.WithoutCancel(ctx), until: s.options.Now().Add(s.options.MaxDuration),
	}, nil
}

// Landed answers what an origin has landed, in the order in which it did. It is the
// way to read a store that outputs land in.
func (s *Sink) Landed(ctx context.Context, from output.Origin) ([]Entry, error) {
	index, err := s.readIndex(ctx, s.keysOf(from).index())
	if err != nil {
		return nil, err
	}
	return index.Entries, nil
}

// Locate is the address of an entry's object for the host, without any credential.
func (s *Sink) Locate(e Entry) string { return s.store.Locate(e.Object) }

// keys are those of one origin.
type keys struct{ scope, call string } // each ends in a slash

const (
	indexName  = "index.json"
	ledgerName = "ledger.json"
)

func (s *Sink) keysOf(from output.Origin) keys {
	scope := s.options.Prefix + from.ScopeName() + "/"
	return keys{scope: scope, call: scope + from.CallName() + "/"}
}

func (k keys) index() string                 { return k.call + indexName }
func (k keys) ledger() string                { return k.scope + ledgerName }
func (k keys) landing(id string) string      { return k.call + id + "/" }
func (k keys) object(id, name string) string { return k.landing(id) + name }

// landingOf is the landing that a key below a scope is an object of, or "" for an
// index and a ledger: scope/call/landing/object.
func landingOf(scope, key string) string {
	parts := strings.Split(strings.TrimPrefix(key, scope), "/")
	if len(parts) != 3 {
		return ""
	}
	return parts[1]
}

// failed is a refusal for what the store did not do. What says already why it failed,
// and the caller's own cancellation, pass through.
func failed(doing string, err error) error {
	if err == nil || sandbox.RefusalOf(err) != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return refused(doing, err)
}

func refused(doing string, err error) error {
	return sandbox.Finding{
		Code: sandbox.CodeLandingFailed, Found: "a failure of the store, " + doing,
		Required: "a store that takes objects", Remedy: "see the underlying error",
	}.Refusal(err)
}

func exists(name string) error {
	return sandbox.Finding{
		Code: sandbox.CodeLandingExists, Found: "an output that landed as " + sandbox.Echo(name),
		Required: "a free name", Remedy: "land under another call, remove it, or open the sink to replace outputs",
	}.Refusal(nil)
}
