package sandboxtest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/frame"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// acasExec runs a command in a guest.
type acasExec = func(ctx context.Context, files *ACASFiles, req engine.ExecRequest) (exitCode int, err error)

// programs is the shell of guests that have none: of a script of the backend acas it
// runs the program, and carries its streams as the script would. Everything else it
// passes on as it came.
func programs(run acasExec) acasExec {
	return func(ctx context.Context, files *ACASFiles, req engine.ExecRequest) (int, error) {
		if len(req.Args) != 3 {
			return run(ctx, files, req)
		}
		p, most, ok := frame.Read(req.Args[2])
		if !ok {
			return run(ctx, files, req)
		}
		if _, err := files.Read(p.Dir); !errors.Is(err, engine.ErrNotRegular) {
			return 0, say(req.Stdout, p.Token+" "+frame.NoDir)
		}
		stdout, stderr := &carried{left: most}, &carried{left: most}
		asked := engine.ExecRequest{
			Args: p.Args, Env: append(append([]string(nil), req.Env...), p.Env...), Dir: p.Dir, Stdout: stdout, Stderr: stderr,
		}
		if p.Stdin != frame.NoStdin {
			input, err := files.Read(p.Stdin)
			if err != nil {
				return 0, err
			}
			asked.Stdin = bytes.NewReader(input)
		}
		code, err := run(ctx, files, asked)
		if errors.Is(err, io.ErrClosedPipe) && (stdout.left == 0 || stderr.left == 0) {
			code, err = brokenPipe, nil
		}
		if err != nil {
			return 0, err
		}
		if code < 0 || code > 255 {
			return 0, fmt.Errorf("the exit code %d is none: write one of 0 to 255", code)
		}
		return 0, errors.Join(say(req.Stdout, stdout.text()), say(req.Stdout, fmt.Sprintf("%s %d", p.Token, code)), say(req.Stderr, stderr.text()))
	}
}

func say(to io.Writer, line string) error {
	_, err := io.WriteString(to, line+"\n")
	return err
}

// brokenPipe is how a program ends that writes to who reads no more.
const brokenPipe = 141

// carried is a stream of which the beginning is kept, and which is closed then, as
// head does.
type carried struct {
	kept bytes.Buffer
	left int
}

func (c *carried) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	c.kept.Write(p[:n])
	if n < len(p) {
		return n, io.ErrClosedPipe
	}
	return n, nil
}

func (c *carried) text() string { return base64.StdEncoding.EncodeToString(c.kept.Bytes()) }
