package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// withAgent is the host with the agent in what its sandboxes see. Elsewhere
// gVisor is handed the agent without a place in the sandbox.
func (h *host) withAgent() (*host, error) {
	program, err := guestagent.ProgramFor(runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	with := *h
	with.view = append(slices.Clone(h.view), view.Entry{Kind: view.File, Path: view.Agent, Content: program.Bytes, Mode: 0o555})
	return &with, nil
}

// probeGVisor asks which kernel the sandbox has, and what that kernel says of
// process 1. It is the agent's word, from before there was any guest program.
func (e *Engine) probeGVisor(ctx context.Context, g *guest, report *Report) {
	kernel, err := readGuest(ctx, g, "/proc/version")
	kernel, _, _ = strings.Cut(kernel, "#")
	report.add("kernel", err == nil && strings.Contains(kernel, "gvisor"),
		strings.TrimSpace(kernel), "replace this runsc")
	status, err := readGuest(ctx, g, "/proc/1/status")
	said := fields(status)
	report.add("capabilities", err == nil && zero(said["CapEff"]) && zero(said["CapPrm"]) && zero(said["CapBnd"]),
		"effective "+said["CapEff"]+", bounding "+said["CapBnd"], "replace this runsc")
}

// readGuest reads a small file of the sandbox.
func readGuest(ctx context.Context, g *guest, path string) (string, error) {
	r, _, err := g.Open(ctx, engine.FileRef{Root: "/", Path: path, Access: g.engine.Access()[0]})
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.LimitReader(r, 64<<10))
	return string(content), errors.Join(err, r.Close())
}

// probeGVisorProcesses starts programs until gVisor's kernel refuses one.
func (e *Engine) probeGVisorProcesses(ctx context.Context, g *guest, report *Report) {
	began, refused := g.fill(ctx, leastProcesses)
	report.add("process limit", began > 0 && refused,
		fmt.Sprintf("of gVisor's kernel, one more program refused after %d of several threads", began), "replace this runsc")
}

// fill starts at most so many programs that do not end by themselves, until one
// is refused, and ends them.
func (g *guest) fill(ctx context.Context, most int) (began int, refused bool) {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithTimeout(ctx, fillTime)
	defer cancel()
	for range most {
		out, said := io.Pipe()
		in, hold := io.Pipe()
		defer hold.Close() //nolint:errcheck // a pipe of this process
		running.Go(func() {
			_, err := g.Exec(ctx, engine.ExecRequest{Args: []string{view.Agent}, Dir: "/", Stdin: in, Stdout: said})
			_ = said.CloseWithError(errors.Join(io.EOF, err))
		})
		// The program greets once it has all of its threads.
		if _, err := bufio.NewReader(out).ReadByte(); err != nil {
			return began, ctx.Err() == nil
		}
		go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the program
		began++
	}
	return began, false
}

// fillTime bounds the probe of the process limit.
const fillTime = 10 * time.Second

// demand refuses a machine on which a check of gVisor's did not hold: what asks
// for gVisor is not served with less.
func (r *Report) demand() error {
	for _, c := range r.Checks {
		if !c.Held {
			return sandbox.Finding{
				Code: sandbox.CodeBackendUnfit, Path: sandbox.Path("Runtime"), Found: c.Name + " of a sandbox of gVisor: " + c.Shown,
				Required: "every wall and limit of rung hardened_container", Remedy: c.Remedy,
			}.Refusal(nil)
		}
	}
	return nil
}
