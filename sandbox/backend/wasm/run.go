package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/interp"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// engineError says in the engine seam's words how a run ended.
func engineError(err error) error {
	for _, row := range []struct{ is, as error }{
		{interp.ErrMemory, engine.ErrMemory},
		{interp.ErrStack, engine.ErrStack},
		{interp.ErrCrashed, engine.ErrCrashed},
		{interp.ErrClosed, engine.ErrGone},
	} {
		if errors.Is(err, row.is) {
			return fmt.Errorf("%w: %w", row.as, err)
		}
	}
	if errors.Is(err, interp.ErrQueued) && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", engine.ErrQueued, err)
	}
	return err
}

// RunCode runs one program in a fresh instance of the interpreter. Its relative
// paths start at req.Dir, which must be below the work directory.
func (g *guest) RunCode(ctx context.Context, req engine.CodeRequest) (exitCode int, err error) {
	leave, err := g.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alive := context.AfterFunc(g.life, func() { cancel(engine.ErrGone) }) //nolint:contextcheck // the sandbox's life, not the call's
	defer alive()

	program, err := g.program(req)
	if err != nil {
		return 0, err
	}
	status, err := g.engine.interp.Run(ctx, program)
	if err != nil {
		return 0, engineError(err)
	}
	return g.engine.exit(status)
}

func (g *guest) program(req engine.CodeRequest) (interp.Program, error) {
	program := interp.Program{
		Source: req.Source,
		Stdin:  req.Stdin,
		Stdout: req.Stdout,
		Stderr: req.Stderr,
	}
	var err error
	if program.Mounts, err = g.mounts(req.Dir); err != nil {
		return program, err
	}
	if i := g.engine.interpreter; i != nil {
		var stdin []byte
		if program.Args, stdin = i.command(req.Source, req.Args); stdin != nil {
			if req.Stdin != nil {
				return program, errors.New("the interpreter reads the program from its standard input, so the program can have none of its own")
			}
			program.Stdin = bytes.NewReader(stdin)
		}
	} else {
		program.Args = append([]string{"program.js"}, req.Args...)
	}
	for _, arg := range program.Args {
		if bytes.IndexByte([]byte(arg), 0) >= 0 {
			return program, errors.New("an argument of the program contains NUL")
		}
	}
	return program, nil
}

// exit reads the interpreter's status.
func (e *Engine) exit(status uint32) (int, error) {
	if e.interpreter != nil {
		return int(int32(status)), nil
	}
	code, err := wasmguest.Exit(status)
	if err != nil {
		return 0, engineError(err)
	}
	return code, nil
}
