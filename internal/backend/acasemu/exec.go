package acasemu

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

func (e *Emulator) execShell(ctx context.Context, c *call) (answer, error) {
	var body wire.ShellCommand
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	if body.Command == "" {
		return answer{}, invalid("command is required")
	}
	req := engine.ExecRequest{Args: []string{"/bin/sh", "-c", body.Command}, Dir: body.WorkingDirectory}
	if c.version == wire.V0901 {
		req.Env = pairs(body.Environment)
		if body.Shell != "" {
			req.Args[0] = body.Shell
		}
	}
	return e.run(ctx, c, req)
}

func (e *Emulator) execCommand(ctx context.Context, c *call) (answer, error) {
	var body wire.Command
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	if body.Command == "" {
		return answer{}, invalid("command is required")
	}
	args := append([]string{body.Command}, body.Args...)
	return e.run(ctx, c, engine.ExecRequest{Args: args, Dir: body.WorkingDirectory, Env: pairs(body.Environment)})
}

func pairs(env map[string]string) []string {
	all := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		all = append(all, name+"="+env[name])
	}
	return all
}

// run runs a command to its end, or until the front end gives up on it; then it
// goes on in the guest, as it does when its client went away.
func (e *Emulator) run(ctx context.Context, c *call, req engine.ExecRequest) (answer, error) {
	for _, text := range slices.Concat(req.Args, req.Env, []string{req.Dir}) {
		if strings.ContainsRune(text, 0) {
			return answer{}, invalid("a command has no NUL in it")
		}
	}
	f, err := e.running(ctx, c)
	if err != nil {
		return answer{}, err
	}
	id := f.sandbox.Doc.ID
	guest, err := e.cfg.Guests.Guest(ctx, id)
	if err != nil {
		return answer{}, e.guestFailure(ctx, c, id, err)
	}
	if err := e.touch(ctx, c, &f.sandbox); err != nil {
		return answer{}, err
	}
	if !e.begin() {
		return answer{}, context.Canceled
	}
	done := make(chan execution, 1)
	e.busy.enter(id)
	go func() {
		defer e.work.Done()
		defer e.busy.leave(id)
		working, cancel := e.detached(ctx)
		defer cancel()
		done <- execute(working, guest, req)
	}()
	ceiling := time.NewTimer(e.cfg.ExecCeiling)
	defer ceiling.Stop()
	select {
	case x := <-done:
		if x.err != nil {
			return answer{}, e.guestFailure(ctx, c, id, x.err)
		}
		return ok(x.result)
	case <-ceiling.C:
		return answer{cut: true}, nil
	}
}

type execution struct {
	result wire.ExecResult
	err    error
}

func execute(ctx context.Context, guest Guest, req engine.ExecRequest) execution {
	var stdout, stderr output
	req.Stdout, req.Stderr = &stdout, &stderr
	began := time.Now()
	code, err := guest.Exec(ctx, req)
	if err != nil && !startFailed(err) {
		return execution{err: err}
	}
	if err != nil { // what a shell says of a command that it cannot start
		code = 127
		_, _ = stderr.Write([]byte(req.Args[0] + ": " + err.Error() + "\n"))
	}
	return execution{result: wire.ExecResult{
		ExitCode: &code, Stdout: stdout.text(), Stderr: stderr.text(), ExecutionTimeMS: time.Since(began).Milliseconds(),
	}}
}

// startFailed reports a command that was not there to be run, or whose directory
// was not: that is the command's own failure and not the guest's.
func startFailed(err error) bool {
	return errors.Is(err, engine.ErrNotExist) || errors.Is(err, engine.ErrNotDirectory) || errors.Is(err, engine.ErrPermission)
}

// maxOutput is as much of a stream as is kept; the rest is lost, as an answer of
// any length would be.
const maxOutput = 16 << 20

// output is what a command writes to one stream.
type output struct {
	mu   sync.Mutex
	kept []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = append(o.kept, p[:min(len(p), maxOutput-len(o.kept))]...)
	return len(p), nil
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return textOf(string(o.kept))
}

// textOf is s with every byte that is not UTF-8 replaced, which is what bytes come
// to in a JSON string.
func textOf(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

// touchEvery is how exactly it is known when something last happened in a sandbox.
const touchEvery = time.Second

// touch remembers that something happens in a sandbox.
func (e *Emulator) touch(ctx context.Context, c *call, s *sandboxRecord) error {
	if l := s.Doc.Lifecycle; l == nil || l.AutoSuspend == nil || !l.AutoSuspend.Enabled || c.now.Sub(s.Used) < touchEvery {
		return nil
	}
	_, err := e.change(ctx, c, false, func(_ *store.Tx, f *found) error {
		f.sandbox.Used = c.now
		return nil
	})
	return err
}
