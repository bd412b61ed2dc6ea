package acas

import (
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/frame"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// answered reads what the script left.
func answered(result wire.ExecResult, token string, cmd engine.ExecRequest, in input) (int, error) {
	before, word, found := strings.Cut(result.Stdout, token+" ")
	word = strings.TrimSpace(word)
	switch {
	case !found && result.ExitCode != nil && *result.ExitCode < killed:
		return 0, fmt.Errorf("what the image has for /bin/sh ended with %d and did not run the script that carries a program; it has to be a POSIX shell: %w", *result.ExitCode, engine.ErrRefused)
	case !found:
		return 0, fmt.Errorf("run a program: the guest's shell did not come to its end: %w", engine.ErrCrashed)
	case word == frame.NoDir:
		return 0, fmt.Errorf("go to %s: %w", sandbox.Echo(cmd.Dir), engine.ErrNotDirectory)
	case word == frame.NoTools:
		return 0, fmt.Errorf("the image lacks base64, head or rm, which carry what a program writes: %w", engine.ErrRefused)
	case word == frame.NoTmp:
		return 0, fmt.Errorf("the image's user cannot write to /tmp, where a program's output is kept until it ends: %w", engine.ErrRefused)
	case word == frame.AllTaken && in.taken > 0:
		return 0, errInput
	}
	code, err := strconv.ParseUint(word, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("run a program: the guest's shell said %s for an exit code: %w", sandbox.Echo(word), engine.ErrCrashed)
	}
	if err := pass(before, cmd.Stdout); err != nil {
		return 0, err
	}
	return int(code), pass(result.Stderr, cmd.Stderr)
}

// pass writes a stream on.
func pass(encoded string, to io.Writer) error {
	plain, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(encoded), ""))
	if err != nil {
		return fmt.Errorf("read a program's output: it is not what the script wrote: %w", engine.ErrCrashed)
	}
	if to != nil {
		if _, err := to.Write(plain[:min(len(plain), maxStream)]); err != nil {
			return err
		}
	}
	if len(plain) > maxStream {
		return fmt.Errorf("a program wrote over %d bytes to a stream, which is more than the service carries: %w", maxStream, engine.ErrNoSpace)
	}
	return nil
}
