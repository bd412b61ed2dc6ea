package gvisor

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// Oldest is the day of the oldest gVisor that [Open] accepts: the one that this
// repository builds and tests with. Earlier ones lack some of [Settings].
const Oldest = "20260905"

// Module is where runsc is built from.
const Module = "gvisor.dev/gvisor"

// Program is a runsc on this machine. The file that was looked at is the file
// that is started, also when something else stands at its path later.
type Program struct {
	file *os.File
	// Version is what it says of itself: a release, or the version of the Go
	// module that it was built from.
	Version string
}

// Unfit says why a program cannot be used as runsc.
type Unfit struct{ Found, Required string }

// Error is what was found.
func (u *Unfit) Error() string { return u.Found }

// versionTime bounds the milliseconds that a program takes to say its version.
const versionTime = 10 * time.Second

// Open looks at the program at path, or at the runsc on PATH when that is empty,
// and asks it for its version. The error is an [*Unfit] when there is none, or
// none that can be used.
func Open(ctx context.Context, path string) (*Program, error) {
	if path == "" {
		found, err := exec.LookPath("runsc")
		if err != nil {
			return nil, &Unfit{"no runsc on PATH", "gVisor's runsc of " + Oldest + " or later"}
		}
		path = found
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &Unfit{"no runsc that can be opened", "gVisor's runsc of " + Oldest + " or later"}
	}
	p := &Program{file: f}
	if err := p.identify(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// Open answers the program's file, for a child that executes it through the
// descriptor: it then needs no directory that the child may not enter.
func (p *Program) Open() (*os.File, error) {
	f, err := os.Open(p.path())
	if err != nil {
		return nil, fmt.Errorf("open runsc: %w", err)
	}
	return f, nil
}

func (p *Program) path() string { return fmt.Sprintf("/proc/self/fd/%d", p.file.Fd()) }

// Close lets go of the program. What runs goes on.
func (p *Program) Close() error { return p.file.Close() }

func (p *Program) identify(ctx context.Context) error {
	info, err := p.file.Stat()
	if err != nil {
		return fmt.Errorf("look at runsc: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return &Unfit{"a runsc that is no program", "an executable file"}
	}
	if info.Mode().Perm()&0o022 != 0 {
		return &Unfit{"a runsc that others may write to", "a program that only its owner may change (chmod go-w)"}
	}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.path(), "--version")
	cmd.Env, cmd.Dir, cmd.WaitDelay = []string{}, "/", time.Second
	said, err := cmd.Output()
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("ask runsc for its version: %w", context.Cause(ctx))
		}
		return &Unfit{"a runsc that does not say its version", "gVisor's runsc"}
	}
	p.Version, err = version(said, p.file)
	return err
}

// says is the first line of "runsc --version".
var says = regexp.MustCompile(`(?m)^runsc version ([0-9A-Za-z._-]{1,80})$`)

// day finds the day in a release's name (release-20260901.0) or a module's version.
var day = regexp.MustCompile(`(?:^release-|^g[a-z]*-|^v\d+\.\d+\.\d+-(?:\d+\.)?)(\d{8})`)

// version is the program's: what it says, or what the Go toolchain wrote into it,
// since a runsc that is built from its module has nothing to say.
func version(said []byte, program io.ReaderAt) (string, error) {
	match := says.FindSubmatch(bytes.ReplaceAll(said, []byte("\r"), nil))
	if match == nil {
		return "", &Unfit{"a program that does not call itself runsc", "gVisor's runsc"}
	}
	v := string(match[1])
	if v == "VERSION_MISSING" {
		info, err := buildinfo.Read(program)
		if err != nil {
			return "", &Unfit{"a runsc without a version", "gVisor's runsc of " + Oldest + " or later"}
		}
		v = moduleVersion(info)
	}
	of := day.FindStringSubmatch(v)
	if of == nil {
		return "", &Unfit{"a runsc without a dated version", "gVisor's runsc of " + Oldest + " or later"}
	}
	if strings.Compare(of[1], Oldest) < 0 {
		return "", &Unfit{"runsc of " + of[1], "gVisor's runsc of " + Oldest + " or later"}
	}
	return v, nil
}

func moduleVersion(info *buildinfo.BuildInfo) string {
	if info.Main.Path == Module {
		return info.Main.Version
	}
	for _, dep := range info.Deps {
		if dep.Path == Module {
			return dep.Version
		}
	}
	return ""
}
