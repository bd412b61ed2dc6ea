package guestagent_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// principal is how a test's agent runs.
type principal struct {
	name string
	uid  int // of the work directory
	// start makes the command, which runs the agent.
	start func(agent string) *exec.Cmd
}

const nobody = 65534

// principals are a plain child, one that has given up root, and as in a sandbox
// the first process of namespaces of its own, with its own /proc and nobody's
// rights.
func principals() []principal {
	return []principal{asSelf(), asNobody(), asFirst()}
}

func asSelf() principal {
	return principal{"self", os.Getuid(), func(agent string) *exec.Cmd { return exec.Command(agent) }}
}

func asNobody() principal {
	return principal{"nobody", nobody, func(agent string) *exec.Cmd {
		cmd := exec.Command(agent)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		return cmd
	}}
}

func asFirst() principal {
	const drop = `--no-new-privs --inh-caps=-all --bounding-set=-all`
	if os.Getuid() != 0 {
		return principal{"process 1", os.Getuid(), inNamespaces("exec setpriv "+drop, []int{os.Getuid()}, []int{os.Getgid()})}
	}
	script := "exec setpriv --reuid=65534 --regid=65534 --clear-groups " + drop
	return principal{"process 1", nobody, inNamespaces(script, []int{0, nobody}, []int{0, nobody})}
}

// inNamespaces runs the agent by a script that is root in namespaces of its own.
// There the first of the ids is 0 and the others are themselves.
func inNamespaces(script string, uids, gids []int) func(agent string) *exec.Cmd {
	mappings := func(ids []int) (list []syscall.SysProcIDMap) {
		for i, id := range ids {
			list = append(list, syscall.SysProcIDMap{ContainerID: min(i, 1) * id, HostID: id, Size: 1})
		}
		return list
	}
	return func(agent string) *exec.Cmd {
		cmd := exec.Command("/bin/sh", "-c", "mount -t proc proc /proc && "+script+` env -i "$1"`, "sh", agent)
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
			UidMappings: mappings(uids), GidMappings: mappings(gids), GidMappingsEnableSetgroups: os.Getuid() == 0,
		}
		return cmd
	}
}

// asRootInside is process 1 with all rights of its own namespaces and none outside.
func asRootInside() principal {
	return principal{"root inside", os.Getuid(), inNamespaces("exec", []int{os.Getuid()}, []int{os.Getgid()})}
}

// executables are the embedded agent, and this very test for its probes, where
// every user can run them.
var executables = sync.OnceValues(func() (string, error) {
	program, err := guestagent.ProgramFor(runtime.GOARCH)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "guestagent-test")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return "", err
	}
	return dir, errors.Join(os.WriteFile(filepath.Join(dir, "agent"), program.Bytes, 0o755),
		os.WriteFile(filepath.Join(dir, "probe"), self, 0o755))
})

func removeExecutables() {
	if dir, err := executables(); err == nil {
		_ = os.RemoveAll(dir)
	}
}

// box is one agent that runs, and a directory that it works in.
type box struct {
	*guestagent.Client
	t   testing.TB
	dir string // where it works
	bin string // where the executables are
	cmd *exec.Cmd
}

func start(tb testing.TB, as principal, options guestagent.Options) *box {
	tb.Helper()
	if (as.name == "nobody" || as.uid != os.Getuid()) && os.Getuid() != 0 {
		tb.Skip("only root can start an agent as somebody else")
	}
	bin, err := executables()
	if err != nil {
		tb.Fatal(err)
	}
	b := &box{t: tb, dir: workDir(tb, as.uid), bin: bin, cmd: as.start(filepath.Join(bin, "agent"))}
	b.cmd.Env, b.cmd.Dir = []string{}, "/"
	stdin, stdout := pipes(tb, b.cmd)
	if err := b.cmd.Start(); errors.Is(err, os.ErrPermission) && os.Getenv("CI") == "" {
		tb.Skip("no user namespaces here: ", err)
	} else if err != nil {
		tb.Fatal(err)
	}
	for _, end := range []any{b.cmd.Stdin, b.cmd.Stdout} {
		if f, ok := end.(*os.File); ok {
			f.Close()
		}
	}
	ctx, cancel := context.WithTimeout(tb.Context(), 20*time.Second)
	defer cancel()
	b.Client, err = guestagent.Connect(ctx, stdout, stdin, options)
	tb.Cleanup(func() {
		if b.Client != nil {
			_ = b.Close()
		}
		_ = b.cmd.Wait()
	})
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// pipes are plain ones: those of package exec belong to its Wait.
func pipes(tb testing.TB, cmd *exec.Cmd) (stdin, stdout *os.File) {
	tb.Helper()
	childIn, stdin, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, childOut, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout = childIn, childOut
	return stdin, stdout
}

// workDir is a directory of that user's which everybody can reach.
func workDir(tb testing.TB, uid int) string {
	tb.Helper()
	dir := tb.TempDir()
	for _, at := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(at, 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	if os.Getuid() == 0 {
		if err := os.Chown(dir, uid, uid); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func (b *box) ref(name string) engine.FileRef {
	return engine.FileRef{Root: b.dir, Path: filepath.Join(b.dir, name), Access: guestagent.Access()}
}

// ran is what came of a program.
type ran struct {
	code           int
	err            error
	stdout, stderr string
}

const path = "PATH=/usr/local/bin:/usr/bin:/bin"

// run runs a program in the work directory.
func (b *box) run(ctx context.Context, stdin io.Reader, args ...string) ran {
	var stdout, stderr bytes.Buffer
	code, err := b.Exec(ctx, engine.ExecRequest{
		Args: args, Dir: b.dir, Env: []string{path}, Stdin: stdin, Stdout: &stdout, Stderr: &stderr,
	})
	return ran{code, err, stdout.String(), stderr.String()}
}

func (b *box) sh(script string) ran { return b.run(b.t.Context(), nil, "/bin/sh", "-c", script) }

// probe runs a program of probes_linux_test.go in the guest.
func (b *box) probe(ctx context.Context, name string, args ...string) ran {
	var stdout, stderr bytes.Buffer
	code, err := b.Exec(ctx, engine.ExecRequest{
		Args: append([]string{filepath.Join(b.bin, "probe")}, args...), Dir: b.dir,
		Env: []string{path, probeVariable + "=" + name}, Stdout: &stdout, Stderr: &stderr,
	})
	return ran{code, err, stdout.String(), stderr.String()}
}

func (b *box) write(name, content string) {
	b.t.Helper()
	if err := b.Write(b.t.Context(), b.ref(name), strings.NewReader(content), int64(len(content))); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) read(name string) string {
	b.t.Helper()
	r, _, err := b.Open(b.t.Context(), b.ref(name))
	if err != nil {
		b.t.Fatal(err)
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(content)
}

// list answers the names in a directory with their kinds.
func (b *box) list(name string) map[string]engine.Info {
	b.t.Helper()
	found := map[string]engine.Info{}
	err := b.List(b.t.Context(), b.ref(name), func(i engine.Info) bool {
		found[i.Name] = i
		return true
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

// alive fails the test when the agent no longer does its work.
func (b *box) alive() {
	b.t.Helper()
	if r := b.sh("echo alive"); r.err != nil || r.stdout != "alive\n" {
		b.t.Fatalf("afterwards: %+v, %v", r, b.Err())
	}
}
