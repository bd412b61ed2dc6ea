package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/prober"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// foothold is the prober in one sandbox.
type foothold struct{ path string }

// proberName is the prober's file in the work directory.
const proberName = ".prober"

// execBound is how long a program of the probes may run unless it says otherwise.
const execBound = time.Minute

// enter uploads the prober, if it is not there yet, and sees that it runs.
func (s *Scene) enter(ctx context.Context) (*foothold, error) {
	if s.inside != nil {
		return s.inside, nil
	}
	program, err := prober.Program(s.subject.Architecture)
	if err != nil {
		return nil, notShown("%v", err)
	}
	if err := s.WriteFile(ctx, proberName, bytes.NewReader(program), int64(len(program))); err != nil {
		return nil, notShown("uploading the prober: %v", err)
	}
	in := &foothold{path: s.work + "/" + proberName}
	start := func() (sandbox.ExecResult, error) {
		return s.Exec(ctx, sandbox.Command{Args: []string{in.path, "nothing"}, Timeout: execBound})
	}
	result, err := start()
	for _, change := range changeMode {
		if err == nil && result.ExitCode == 0 {
			break
		}
		// Uploaded files need not be programs; the guest can say that this one is.
		_, _ = s.Exec(ctx, sandbox.Command{Args: append(slices.Clone(change), in.path), Timeout: execBound})
		result, err = start()
	}
	if err != nil || result.ExitCode != 0 {
		return nil, notShown("the uploaded prober does not run (exit code %d, %s): %v", result.ExitCode, sandbox.Echo(sandbox.Text(result.Stderr)), err)
	}
	s.inside = in
	return in, nil
}

// changeMode are the ways in which guests make a file a program; the file's path
// follows.
var changeMode = [][]string{
	{"chmod", "0755"},
	{"busybox", "chmod", "0755"},
	{"/bin/sh", "-c", `chmod 0755 "$0"`},
	{"python3", "-c", "import os, sys; os.chmod(sys.argv[1], 0o755)"},
}

// run runs the prober with the command's arguments.
func (s *Scene) run(ctx context.Context, cmd sandbox.Command) (sandbox.ExecResult, error) {
	in, err := s.enter(ctx)
	if err != nil {
		return sandbox.ExecResult{}, err
	}
	cmd.Args = append([]string{in.path}, cmd.Args...)
	if cmd.Timeout == 0 {
		cmd.Timeout = execBound
	}
	return s.Exec(ctx, cmd)
}

// do runs the prober and wants it to end well.
func (s *Scene) do(ctx context.Context, args ...string) ([]byte, error) {
	result, err := s.run(ctx, sandbox.Command{Args: args})
	return outcomeOf(args, result, err)
}

func outcomeOf(args []string, result sandbox.ExecResult, err error) ([]byte, error) {
	what := strings.Join(args, " ")
	switch {
	case judge(err) != Fail && err != nil:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s in the guest: %w", sandbox.Echo(what), err)
	case result.ExitCode != 0:
		if cannot(result.Stderr) {
			return nil, &ending{ErrGuestCannot, fmt.Sprintf("the guest cannot %s: %s", sandbox.Echo(what), sandbox.Echo(strings.TrimSpace(sandbox.Text(result.Stderr))))}
		}
		return nil, &programEnded{what, result.ExitCode, strings.TrimSpace(sandbox.Text(result.Stderr))}
	}
	return result.Stdout, nil
}

// programEnded is a program of the guest that ended badly.
type programEnded struct {
	what   string
	code   int
	stderr string
}

func (p *programEnded) Error() string {
	return fmt.Sprintf("%s in the guest ended with %d: %s", sandbox.Echo(p.what), p.code, sandbox.Echo(p.stderr))
}

var errnoLine = regexp.MustCompile(`^errno (\d+):`)

// cannot reports whether a program failed because the guest may not do that.
func cannot(stderr []byte) bool {
	m := errnoLine.FindSubmatch(stderr)
	if m == nil {
		return false
	}
	// Linux's numbers, whatever this machine is.
	switch string(m[1]) {
	case "1", "13", "16", "18", "30": // not permitted, no access, busy, another device, read-only
		return true
	}
	return false
}

// answer is what an attack found; guest/main.go has the other side.
type answer struct {
	Tried   int      `json:"tried"`
	Reached []string `json:"reached"`
	More    int      `json:"more"`
	Note    string   `json:"note"`
}

// attack makes an attack from within and fails if it reached anything.
func (s *Scene) attack(ctx context.Context, args ...string) error {
	a, err := s.ask(ctx, sandbox.Command{Args: args})
	if err != nil {
		return err
	}
	return a.judge(args[0])
}

func (s *Scene) ask(ctx context.Context, cmd sandbox.Command) (answer, error) {
	result, err := s.run(ctx, cmd)
	out, err := outcomeOf(cmd.Args, result, err)
	if err != nil {
		return answer{}, err
	}
	var a answer
	if err := json.Unmarshal(out, &a); err != nil {
		return answer{}, notShown("%s gave no answer: %v", cmd.Args[0], err)
	}
	return a, nil
}

func (a answer) judge(what string) error {
	switch {
	case len(a.Reached) > 0:
		more := ""
		if a.More > 0 {
			more = fmt.Sprintf(" and %d more", a.More)
		}
		return fmt.Errorf("reached %s%s", sandbox.Text([]byte(strings.Join(a.Reached, "; "))), more)
	case a.Tried == 0:
		return notShown("%s tried nothing: %s", what, a.Note)
	}
	return nil
}

// relocate moves the work directory aside and puts a link to its neighbour there.
func (in *foothold) relocate(s *Scene) error {
	aside := s.work + "-moved"
	guest, ok := s.guest.(*insideGuest)
	if !ok {
		return errors.New("the guest was not opened from within")
	}
	if _, err := s.do(guest.ctx, "relocate", s.work, aside, s.outside); err != nil {
		return err
	}
	in.path = aside + "/" + proberName
	return nil
}

// insideGuest plants with the prober: as the guest's own principal, with its reach.
type insideGuest struct {
	ctx   context.Context // the probe's: a Guest's methods have none
	scene *Scene
}

func (g *insideGuest) do(stdin io.Reader, args ...string) ([]byte, error) {
	result, err := g.scene.run(g.ctx, sandbox.Command{Args: args, Stdin: stdin})
	return outcomeOf(args, result, err)
}

func (g *insideGuest) Mkdir(path string) error {
	_, err := g.do(nil, "mkdir", path)
	return err
}

func (g *insideGuest) WriteFile(path string, data []byte) error {
	_, err := g.do(bytes.NewReader(data), "write", path)
	return err
}

func (g *insideGuest) Symlink(path, target string) error {
	_, err := g.do(nil, "link", path, target)
	return err
}

func (g *insideGuest) Mkfifo(path string) error {
	_, err := g.do(nil, "pipe", path)
	return err
}

func (g *insideGuest) ReadFile(path string) ([]byte, error) { return g.do(nil, "read", path) }

// Exists answers true where the guest cannot be asked: absence is never assumed.
func (g *insideGuest) Exists(path string) bool {
	out, err := g.do(nil, "exists", path)
	return err != nil || string(out) != "no"
}

func (g *insideGuest) Remove(path string) error {
	_, err := g.do(nil, "remove", path)
	return err
}
