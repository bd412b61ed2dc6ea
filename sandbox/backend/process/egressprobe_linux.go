package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egresstrial"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// probeEgress makes a sandbox with an allowlist, as all others are made, and tries
// from inside what it reaches of an internet that is in this process only. What
// fails here keeps sandboxes from having an allowlist, and from nothing else.
func (e *Engine) probeEgress(ctx context.Context, report *Report) (err error) {
	if e.host.outlets.missing != nil {
		report.lackEgress(sandbox.RefusalOf(e.host.outlets.missing).Found)
		return nil
	}
	trial, err := egresstrial.New()
	if err != nil {
		return err
	}
	defer trial.Close()
	box, err := e.tried(trial)
	if err != nil {
		return err
	}
	e.made++ // nobody else has this engine yet
	g, err := box.make(ctx, e.made, engine.StartRequest{Name: "probe-egress", WorkDir: sandbox.DefaultWorkDir, Egress: trial.Egress()})
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("probe egress: %w", err)
		}
		e.config.Notice("a sandbox with an egress allowlist could not be made, and none will be: " + err.Error())
		report.lackEgress("a sandbox with an allowlist does not start")
		return nil
	}
	defer func() {
		done, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer cancel()
		err = errors.Join(err, g.remove(done))
	}()
	var trust bytes.Buffer
	file, _, err := g.Open(ctx, engine.FileRef{Root: "/", Path: trustPEM, Access: e.Access()[0]})
	if err == nil {
		_, err = trust.ReadFrom(file)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return fmt.Errorf("probe egress: %w", err)
	}
	report.walls = trial.Run(ctx, inside{g}, netip.AddrPortFrom(netip.MustParseAddr(proxyHost), proxyPort), trust.Bytes())
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("probe egress: %w", err)
	}
	report.noteEgress()
	return nil
}

// tried is an engine whose sandboxes reach the trial's internet.
func (e *Engine) tried(trial *egresstrial.Trial) (*Engine, error) {
	box := &Engine{host: e.host, config: e.config}
	if e.host.runsc != nil {
		var err error
		if box.host, err = e.host.withAgent(); err != nil {
			return nil, err
		}
	}
	box.config.Egress = EgressConfig{Resolver: trial, RootsPEM: trial.RootsPEM(), Connect: trial.Connect}
	return box, nil
}

// inside connects as the guest's programs do.
type inside struct{ *guest }

// Dial implements [egresstrial.Guest].
func (i inside) Dial(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
	conn, err := i.Client.Dial(ctx, view.Agent, network, to)
	if errors.Is(err, guestagent.ErrNotConnected) {
		return nil, fmt.Errorf("%w: %w", egresstrial.ErrNotConnected, err)
	}
	return conn, err
}
