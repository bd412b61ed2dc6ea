package guestagent_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// box is one agent that runs, and a directory that it works in.
type box struct {
	*guestagent.Client
	t   testing.TB
	dir string
	cmd *exec.Cmd
}

// principal is how a test's agent runs.
type principal struct {
	name string
	attr func() *syscall.SysProcAttr
	uid  int
}

const nobody = 65534

// asSelf is a plain child; asNobody has given up root; asFirst is process 1 of
// namespaces of its own, as in a sandbox.
var (
	asSelf   = principal{"self", func() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }, os.Getuid()}
	asNobody = principal{"nobody", func() *syscall.SysProcAttr {
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}, nobody}
	asFirst = principal{"process 1", func() *syscall.SysProcAttr {
		return &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getgid(), Size: 1}},
		}
	}, os.Getuid()}
	principals = []principal{asSelf, asNobody, asFirst}
)

// executable is the embedded agent as a file, once for all tests.
var executable = sync.OnceValues(func() (string, error) {
	program, err := guestagent.ProgramFor(runtime.GOARCH)
	if err != nil {
		return "", err
	}
	if override := os.Getenv("SANDBOX_TEST_GUEST_AGENT"); override != "" {
		return override, nil
	}
	dir, err := os.MkdirTemp("", "guestagent-test") //nolint:usetesting // outlives the first test that wants it
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "agent")
	return path, os.WriteFile(path, program.Bytes, 0o755)
})

func start(t testing.TB, as principal, options guestagent.Options) *box {
	t.Helper()
	if as.name != "self" && os.Getuid() != 0 {
		t.Skip("only root can start an agent as somebody else")
	}
	path, err := executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &box{t: t, dir: workDir(t, as.uid)}
	b.cmd = exec.Command(path)
	b.cmd.Env = []string{}
	b.cmd.SysProcAttr = as.attr()
	b.cmd.Dir = "/"
	stdin, stdout := pipes(t, b.cmd)
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	closeChilds(b.cmd)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	b.Client, err = guestagent.Connect(ctx, stdout, stdin, options)
	t.Cleanup(func() {
		if b.Client != nil {
			_ = b.Close()
		}
		_ = b.cmd.Wait()
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pipes are plain ones: those of package exec belong to its Wait.
func pipes(t testing.TB, cmd *exec.Cmd) (stdin, stdout *os.File) {
	t.Helper()
	childIn, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, childOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout = childIn, childOut
	return stdin, stdout
}

func closeChilds(cmd *exec.Cmd) {
	for _, end := range []any{cmd.Stdin, cmd.Stdout} {
		if f, ok := end.(*os.File); ok {
			_ = f.Close()
		}
	}
}

// workDir is a directory of that user's below no link.
func workDir(t testing.TB, uid int) string {
	t.Helper()
	dir := t.TempDir()
	for at := dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 {
		if err := os.Chown(dir, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (b *box) ref(name string) engine.FileRef {
	return engine.FileRef{Root: b.dir, Path: filepath.Join(b.dir, name), Access: guestagent.Access()}
}
