package process

import (
	"context"
	"errors"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
)

// New makes the backend: it cleans up after hosts that were killed, probes the
// machine with a sandbox of its own, and serves with what that showed. A machine
// that lacks the basics is refused with [sandbox.CodeBackendUnfit] and what to
// install or enable. Closing the backend ends every sandbox.
func New(ctx context.Context, config Config, options ...backend.Option) (*backend.Backend, error) {
	e, report, err := open(ctx, config)
	if err != nil {
		return nil, err
	}
	b, err := backend.New(e, report.Declarations, options...)
	if err != nil {
		return nil, errors.Join(err, e.discard(ctx))
	}
	return b, nil
}

// NewEngine makes the engine alone, with what the probe showed.
func NewEngine(ctx context.Context, config Config) (*Engine, sandbox.Declarations, error) {
	e, report, err := open(ctx, config)
	if err != nil {
		return nil, sandbox.Declarations{}, err
	}
	return e, report.Declarations, nil
}

// Probe says what this machine can promise, and leaves nothing behind. It fails
// as [New] does.
func Probe(ctx context.Context, config Config) (Report, error) {
	e, report, err := open(ctx, config)
	if err != nil {
		return Report{}, err
	}
	return report, e.discard(ctx)
}

func open(ctx context.Context, config Config) (*Engine, Report, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, Report{}, err
	}
	h, err := newHost(ctx, config)
	if err != nil {
		return nil, Report{}, err
	}
	e := &Engine{host: h, config: config, guests: map[string]*guest{}}
	e.life, e.end = context.WithCancel(context.Background())
	report, err := e.probe(ctx)
	if err != nil {
		return nil, Report{}, errors.Join(err, e.discard(ctx))
	}
	return e, report, nil
}

// discard closes an engine that nobody was given, also for a caller that has gone.
func (e *Engine) discard(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	return e.Close(ctx)
}
