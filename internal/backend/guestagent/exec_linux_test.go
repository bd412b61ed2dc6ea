package guestagent_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

func TestProgramGetsExactlyWhatItWasGiven(t *testing.T) {
	t.Parallel()
	for _, as := range principals() {
		t.Run(as.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, as, guestagent.Options{})
			var stdout, stderr bytes.Buffer
			code, err := b.Exec(t.Context(), engine.ExecRequest{
				Args: []string{filepath.Join(b.bin, "probe"), "", "two words", "non-UTF-8 \xff\xfe", "new\nline"},
				Dir:  b.dir, Env: []string{probeVariable + "=self", "EMPTY=", "BYTES=\xff"},
				Stdin: strings.NewReader("in\x00put"), Stdout: &stdout, Stderr: &stderr,
			})
			want := "arg \"\"\narg \"two words\"\narg \"non-UTF-8 \\xff\\xfe\"\narg \"new\\nline\"\n" +
				"env \"GUEST_PROBE=self\"\nenv \"EMPTY=\"\nenv \"BYTES=\\xff\"\n" +
				"dir \"" + b.dir + "\"\nstdin \"in\\x00put\"\nfds 0 1 2\nleader true\n"
			if err != nil || code != 42 || stdout.String() != want || stderr.String() != "to stderr\x00" {
				t.Errorf("exit %d, %v; standard error %q; standard output\n%s\nnot\n%s", code, err, stderr.String(), stdout.String(), want)
			}
		})
	}
}

func TestProgramInheritsNoSignalMaskAndIgnoresNothing(t *testing.T) {
	t.Parallel()
	for _, as := range principals() {
		t.Run(as.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, as, guestagent.Options{})
			status := b.run(t.Context(), nil, "cat", "/proc/self/status").stdout
			for _, name := range []string{"SigPnd:", "SigBlk:", "SigIgn:", "SigCgt:"} {
				if mask := field(status, name); mask != "0000000000000000" {
					t.Errorf("%s %s", name, mask)
				}
			}
		})
	}
}

func TestExitsAreTheProgramsOwn(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	for script, want := range map[string]int{
		"true": 0, "exit 1": 1, "exit 255": 255, "kill -9 $$": 137, "kill -15 $$": 143,
		"kill -11 $$": 139, "kill -6 $$": 134, "kill -64 $$": 192, "kill -1 $$": 129,
		"trap 'exit 3' TERM; kill -15 $$": 3,
	} {
		if r := b.sh(script); r.err != nil || r.code != want {
			t.Errorf("%q: exit %d, %v, not %d", script, r.code, r.err, want)
		}
	}
}

func TestProgramThatCannotStartIsAnErrorOfItsKind(t *testing.T) {
	t.Parallel()
	for _, as := range principals() {
		t.Run(as.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, as, guestagent.Options{})
			b.write("plain", "#!/bin/sh\n")
			if r := b.sh(`mkdir dir; mkfifo fifo; chmod +x fifo; ln -s loop loop; printf '\177ELF garbage' >garbage; printf '#!/no/such/interpreter\n' >script
			printf 'no header' >headless; chmod +x garbage script headless`); r.err != nil || r.code != 0 {
				t.Fatalf("%+v", r)
			}
			for name, c := range map[string]struct {
				args []string
				dir  string
				want error
			}{
				"absent":                {[]string{"/no/such/program"}, "", engine.ErrNotExist},
				"absent from PATH":      {[]string{"no-such-program"}, "", engine.ErrNotExist},
				"below a file":          {[]string{"./plain/program"}, "", engine.ErrNotDirectory},
				"a directory":           {[]string{"./dir"}, "", engine.ErrIsDirectory},
				"the root directory":    {[]string{"/"}, "", engine.ErrIsDirectory},
				"not executable":        {[]string{"./plain"}, "", engine.ErrPermission},
				"a pipe":                {[]string{"./fifo"}, "", engine.ErrNotRegular},
				"a loop":                {[]string{"./loop"}, "", engine.ErrThroughLink},
				"garbage":               {[]string{"./garbage"}, "", guestagent.ErrNotProgram},
				"no header":             {[]string{"./headless"}, "", guestagent.ErrNotProgram},
				"no interpreter":        {[]string{"./script"}, "", engine.ErrNotExist},
				"a very long name":      {[]string{"./" + strings.Repeat("n", 300)}, "", engine.ErrNotExist},
				"directory absent":      {[]string{"/bin/true"}, b.dir + "/absent", engine.ErrNotExist},
				"directory a file":      {[]string{"/bin/true"}, b.dir + "/plain", engine.ErrNotDirectory},
				"too many arguments":    {append([]string{"/bin/true"}, many(40, 100_000)...), "", guestagent.ErrTooLong},
				"too large a request":   {append([]string{"/bin/true"}, many(50, 100_000)...), "", guestagent.ErrTooLong},
				"one argument too long": {[]string{"/bin/true", strings.Repeat("a", 200_000)}, "", guestagent.ErrTooLong},
			} {
				if c.dir == "" {
					c.dir = b.dir
				}
				var stdout bytes.Buffer
				code, err := b.Exec(t.Context(), engine.ExecRequest{Args: c.args, Dir: c.dir, Env: []string{path}, Stdout: &stdout})
				if !errors.Is(err, c.want) || code != 0 || stdout.Len() > 0 {
					if name == "not executable" && as.uid == 0 && errors.Is(err, engine.ErrPermission) {
						continue
					}
					t.Errorf("%s: exit %d, %v, not %v", name, code, err, c.want)
				}
				if err != nil && len(err.Error()) > 1000 {
					t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
				}
			}
			for _, args := range [][]string{nil, {""}} {
				if _, err := b.Exec(t.Context(), engine.ExecRequest{Args: args, Dir: b.dir}); err == nil {
					t.Errorf("%q ran", args)
				}
			}
			if r := b.run(t.Context(), nil, "echo", strings.Repeat("a", 100_000)); r.err != nil || len(r.stdout) != 100_001 {
				t.Errorf("an argument as long as may be: %v", r.err)
			}
			b.alive()
		})
	}
}

func many(n, size int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.Repeat("a", size)
	}
	return list
}

func TestProgramIsFoundInThePathOfItsEnvironment(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	if r := b.sh(`mkdir a b; printf '#!/bin/sh\necho a' >a/tool; printf '#!/bin/sh\necho b' >b/tool; printf x >a/other; printf '#!/bin/sh\necho here' >here; chmod +x */tool here`); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	for name, c := range map[string]struct {
		path, program, stdout string
		want                  error
	}{
		"the first":                     {b.dir + "/a:" + b.dir + "/b", "tool", "a\n", nil},
		"past what is absent":           {"/absent::" + b.dir + "/b", "tool", "b\n", nil},
		"not in the working directory":  {":.:", "here", "", engine.ErrNotExist},
		"in the working directory":      {"", "./here", "here\n", nil},
		"there but not executable":      {b.dir + "/a", "other", "", engine.ErrPermission},
		"not in the agent's own places": {b.dir + "/a", "ls", "", engine.ErrNotExist},
	} {
		var stdout bytes.Buffer
		_, err := b.Exec(t.Context(), engine.ExecRequest{Args: []string{c.program}, Dir: b.dir, Env: []string{"PATH=" + c.path}, Stdout: &stdout})
		if !errors.Is(err, c.want) || stdout.String() != c.stdout {
			t.Errorf("%s: %q, %v", name, stdout.String(), err)
		}
	}
}

func TestStreamsAreExactWhateverTheProgramDoes(t *testing.T) {
	t.Parallel()
	for _, as := range principals() {
		t.Run(as.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, as, guestagent.Options{})
			big := make([]byte, 5<<20)
			_, _ = rand.Read(big)
			if r := b.run(t.Context(), bytes.NewReader(big), "cat"); r.err != nil || r.stdout != string(big) {
				t.Errorf("five megabytes through cat: %v, %d bytes", r.err, len(r.stdout))
			}
			if r := b.sh(`head -c 3000000 /dev/zero & head -c 3000000 /dev/zero >&2; wait`); r.err != nil || len(r.stdout) != 3_000_000 || len(r.stderr) != 3_000_000 {
				t.Errorf("floods both: %v, %d and %d bytes", r.err, len(r.stdout), len(r.stderr))
			}
			if r := b.run(t.Context(), bytes.NewReader(big), "true"); r.err != nil || r.code != 0 {
				t.Errorf("reads none of its input: %+v", r)
			}
			if r := b.run(t.Context(), bytes.NewReader(big), "head", "-c", "10"); r.err != nil || r.stdout != string(big[:10]) {
				t.Errorf("reads some of its input: %v", r.err)
			}
			if r := b.sh(`exec <&- >&- 2>&-; exit 5`); r.err != nil || r.code != 5 {
				t.Errorf("closes its streams: %+v", r)
			}
			if r := b.sh(`cat`); r.err != nil || r.stdout != "" {
				t.Errorf("without input: %+v", r)
			}
			b.alive()
		})
	}
}

// blocked is a reader that never returns until the test ends.
type blocked struct{ until chan struct{} }

func newBlocked(t *testing.T) blocked {
	t.Helper()
	b := blocked{make(chan struct{})}
	t.Cleanup(func() { close(b.until) })
	return b
}

func (b blocked) Read([]byte) (int, error) {
	<-b.until
	return 0, io.EOF
}

func TestExecEndsWithItsProgramNotWithItsInput(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	if r := b.run(t.Context(), newBlocked(t), "echo", "done"); r.err != nil || r.stdout != "done\n" {
		t.Errorf("%+v", r)
	}
}

// What this leaves behind ends with the namespace.
func TestExecEndsWithItsProgramNotWithItsChildren(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	// The child writes once it knows that its parent is gone, and lives on.
	r := b.sh(`(while kill -0 $$ 2>/dev/null; do :; done; echo after; exec sleep 1000) & echo before; exit 4`)
	if r.err != nil || r.code != 4 || !strings.HasPrefix(r.stdout, "before\n") {
		t.Errorf("%+v", r)
	}
	// A flood that goes on is cut, too.
	if r := b.sh(`yes & exit 6`); r.err != nil || r.code != 6 {
		t.Errorf("%v, exit %d", r.err, r.code)
	}
	// All that the program itself wrote is there, however much is in the pipe.
	for range 20 {
		if r := b.sh(`sleep 1000 & head -c 60000 /dev/zero`); r.err != nil || len(r.stdout) != 60000 {
			t.Errorf("%v, %d bytes", r.err, len(r.stdout))
		}
	}
}

func TestCancelledExecIsKilledWithItsGroup(t *testing.T) {
	t.Parallel()
	for _, as := range principals() {
		t.Run(as.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, as, guestagent.Options{})
			for name, script := range map[string]string{
				"sleeps":          `sleep 1000`,
				"loops":           `while :; do :; done`,
				"ignores signals": `trap '' TERM INT HUP; while :; do sleep 1000; done`,
				"stops itself":    `kill -STOP $$`,
				"has children":    `sleep 1000 & sleep 1000 & wait`,
				"floods":          `yes`,
			} {
				ctx, cancel := context.WithCancel(t.Context())
				started := newSignal()
				go func() {
					<-started.seen
					cancel()
				}()
				_, err := b.Exec(ctx, engine.ExecRequest{
					Args: []string{"/bin/sh", "-c", "echo $$ >&2; " + script}, Dir: b.dir, Env: []string{path}, Stderr: started,
				})
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", name, err)
				}
				if r := b.sh("kill -0 -- -" + strings.TrimSpace(started.text()) + " 2>&1"); r.code == 0 {
					t.Errorf("%s: its process group is still there", name)
				}
			}
			b.alive()
		})
	}
}

func TestGraceComesBeforeTheKill(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{StopGrace: 20 * time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	started := newSignal()
	go func() {
		<-started.seen
		cancel()
	}()
	_, err := b.Exec(ctx, engine.ExecRequest{
		Args: []string{"/bin/sh", "-c", `trap 'echo saved >file; exit' TERM; echo >&2; while :; do sleep 0.01; done`},
		Dir:  b.dir, Env: []string{path}, Stderr: started,
	})
	if !errors.Is(err, context.Canceled) || b.read("file") != "saved\n" {
		t.Errorf("%v", err)
	}
}

func TestDeadlineIsTheErrorAndKeepsTheOutput(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	r := b.run(ctx, nil, "/bin/sh", "-c", "echo begun; sleep 1000")
	if !errors.Is(r.err, context.DeadlineExceeded) || r.stdout != "begun\n" {
		t.Errorf("%+v", r)
	}
	cancel()
	if r := b.run(ctx, nil, "true"); !errors.Is(r.err, engine.ErrQueued) || !errors.Is(r.err, context.DeadlineExceeded) {
		t.Errorf("a call that could not begin: %v", r.err)
	}
}

func TestOneWriterForBothStreamsIsWrittenToByOneAtATime(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	const each = 1_000_000
	sh := []string{"/bin/sh", "-c", "head -c 1000000 /dev/zero & head -c 1000000 /dev/zero >&2; wait"}
	var one bytes.Buffer
	for name, c := range map[string]struct {
		out, err io.Writer
		written  func() int
	}{
		"one buffer":                      {&one, &one, one.Len},
		"a writer that can't be compared": {writers{io.Discard}, writers{io.Discard}, nil},
	} {
		code, err := b.Exec(t.Context(), engine.ExecRequest{Args: sh, Dir: b.dir, Env: []string{path}, Stdout: c.out, Stderr: c.err})
		if err != nil || code != 0 {
			t.Errorf("%s: exit code %d, %v", name, code, err)
		}
		if c.written != nil && c.written() != 2*each {
			t.Errorf("%s: %d bytes", name, c.written())
		}
	}
}

// writers is a writer whose values cannot be compared.
type writers []io.Writer

func (w writers) Write(p []byte) (int, error) { return w[0].Write(p) }

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestOutputThatCannotBeWrittenEndsTheProgram(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	full := errors.New("full")
	_, err := b.Exec(t.Context(), engine.ExecRequest{Args: []string{"yes"}, Dir: b.dir, Env: []string{path}, Stdout: failingWriter{full}})
	if !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	b.alive()
}

func TestOrphansAreReaped(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	if r := b.sh(`for i in 1 2 3 4 5 6 7 8 9 10; do (sleep 0 & exec true) & done; wait`); r.code != 0 || r.err != nil {
		t.Fatalf("%+v", r)
	}
	for {
		r := b.sh(`cat /proc/[0-9]*/stat | grep -c ' Z '`)
		if strings.TrimSpace(r.stdout) == "0" {
			return
		}
		if t.Context().Err() != nil || r.err != nil {
			t.Fatalf("%+v", r)
		}
	}
}

// signal is a writer that says when something was written.
type signal struct {
	buf  bytes.Buffer
	seen chan struct{}
}

func newSignal() *signal { return &signal{seen: make(chan struct{})} }

func (s *signal) Write(p []byte) (int, error) {
	if s.buf.Len() == 0 {
		defer close(s.seen)
	}
	return s.buf.Write(p)
}

// text is for after the exec.
func (s *signal) text() string { return s.buf.String() }

func TestClosedAgentTakesEverythingWithIt(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	started, failed := newSignal(), make(chan error, 1)
	go func() {
		_, err := b.Exec(context.Background(), engine.ExecRequest{
			Args: []string{"/bin/sh", "-c", "echo; sleep 1000"}, Dir: b.dir, Env: []string{path}, Stdout: started,
		})
		failed <- err
	}()
	<-started.seen
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, engine.ErrGone) || !errors.Is(err, guestagent.ErrClosed) {
		t.Errorf("%v", err)
	}
	if err := b.cmd.Wait(); err != nil {
		t.Errorf("the agent ended with %v", err)
	}
	if _, err := b.Stat(t.Context(), b.ref("")); !errors.Is(err, guestagent.ErrClosed) || !errors.Is(b.Err(), guestagent.ErrClosed) {
		t.Errorf("after Close: %v, %v", err, b.Err())
	}
}

func TestKilledAgentIsLost(t *testing.T) {
	t.Parallel()
	b := start(t, asFirst(), guestagent.Options{})
	started, failed := newSignal(), make(chan error, 1)
	go func() {
		_, err := b.Exec(context.Background(), engine.ExecRequest{
			Args: []string{"/bin/sh", "-c", "echo; sleep 1000"}, Dir: b.dir, Env: []string{path}, Stdout: started,
		})
		failed <- err
	}()
	<-started.seen
	if err := b.cmd.Process.Signal(os.Kill); err != nil {
		t.Fatal(err)
	}
	<-b.Done()
	if err := <-failed; !errors.Is(err, engine.ErrGone) || !errors.Is(err, guestagent.ErrLost) || !errors.Is(b.Err(), guestagent.ErrLost) {
		t.Errorf("%v, %v", err, b.Err())
	}
}
