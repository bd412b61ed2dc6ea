package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/cgroup"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/launch"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// guest is one sandbox. Its files and programs are the agent's; what it is made
// of and its end are this host's.
type guest struct {
	*guestagent.Client

	engine  *Engine
	id      string
	name    string
	labels  map[string]string
	workDir string
	egress  sandbox.Egress

	user    *user
	root    *root // nil for a guest that is one user
	group   *cgroup.Group
	sandbox *launch.Sandbox
	outlet  *outlet // nil without a network

	killsAtEnd atomic.Int64 // of the group, which goes

	removing chan struct{} // holds one, of whoever removes it
	removed  bool
}

var (
	_ engine.Guest  = (*guest)(nil)
	_ engine.Execer = (*guest)(nil)
)

// ID is the sandbox's name with a number that no other sandbox ever has.
func (g *guest) ID() string { return g.id }

func (g *guest) carries(match map[string]string) bool {
	for key, value := range match {
		if got, ok := g.labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// lost reports whether the sandbox has ended or is about to.
func (g *guest) lost() bool {
	select {
	case <-g.Done():
	case <-g.sandbox.Done():
	default:
		return false
	}
	return true
}

// Exec runs a program with the variables that programs expect, unless the request
// sets them. A program that the kernel killed because the sandbox had used up its
// memory is [engine.ErrMemory]; with gVisor the kernel can only kill the sandbox,
// and it is [engine.ErrGone] too.
func (g *guest) Exec(ctx context.Context, cmd engine.ExecRequest) (int, error) {
	return g.run(ctx, cmd, g.Client.Exec)
}

// run gives a program what all have, and tells what ended it.
func (g *guest) run(ctx context.Context, cmd engine.ExecRequest, exec func(context.Context, engine.ExecRequest) (int, error)) (int, error) {
	if g.outlet.ended() {
		return 0, engine.ErrNoEgress
	}
	if g.root != nil {
		cmd.Env, cmd.Dir = g.root.variables(g.outlet.variables(), cmd.Env), g.root.dir(cmd.Dir)
	} else {
		cmd.Env = environment(g.workDir, g.outlet.variables(), cmd.Env)
	}
	before := g.memoryKills()
	code, err := exec(ctx, cmd)
	const killed = 128 + 9
	if err == nil && code == killed && g.memoryKills() > before {
		return code, fmt.Errorf("%w: the kernel killed it", engine.ErrMemory)
	}
	if errors.Is(err, engine.ErrGone) && g.memoryKills() > before {
		return code, fmt.Errorf("%w: the kernel killed the sandbox: %w", engine.ErrMemory, err)
	}
	return code, err
}

// memoryKills is what the kernel has counted, also of a sandbox that is gone.
func (g *guest) memoryKills() int64 {
	if g.group == nil {
		return 0
	}
	return max(g.group.Events().MemoryKills, g.killsAtEnd.Load())
}

// environment is what programs expect to be set and what they are told, under what
// is asked for.
func environment(workDir string, told, asked []string) []string {
	standard := append([]string{
		"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
		"HOME=" + workDir, "USER=" + view.User, "LANG=C.UTF-8", "TMPDIR=/tmp",
	}, told...)
	env := slices.DeleteFunc(standard, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.ContainsFunc(asked, func(a string) bool { return strings.HasPrefix(a, name+"=") })
	})
	return append(env, asked...)
}

// remove ends the sandbox and all that was made for it, and returns when it is
// seen to be gone. It may be called at any stage of the making, and again.
func (g *guest) remove(ctx context.Context) error {
	select {
	case g.removing <- struct{}{}:
		defer func() { <-g.removing }()
	case <-ctx.Done():
		return fmt.Errorf("wait for a sandbox that is being removed: %w", context.Cause(ctx))
	}
	if g.removed {
		return nil
	}
	if g.Client != nil {
		_ = g.Client.Close() // it only waits for its own goroutines
	}
	var errs []error
	if g.sandbox != nil {
		errs = append(errs, g.sandbox.End(ctx))
	}
	if g.group != nil {
		g.killsAtEnd.Store(g.memoryKills())
		errs = append(errs, g.group.Remove(ctx))
	}
	errs = append(errs, g.outlet.close(ctx))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove a sandbox: %w", err)
	}
	g.user.giveBack()
	g.root.giveBack()
	g.removed = true
	return nil
}
