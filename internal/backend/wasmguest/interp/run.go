package interp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/wasi"
)

// Program is one run of the interpreter.
type Program struct {
	// Args is the interpreter's name and its arguments, none with a NUL.
	Args []string
	// Source is given to our own guest; other interpreters never ask for it.
	Source []byte
	Mounts []wasi.Mount
	// Stdin may be nil.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run runs one program in a fresh instance and answers the status it exits with.
// When a writer fails the program is stopped and the writer's error is answered.
func (i *Interpreter) Run(ctx context.Context, program Program) (status uint32, err error) {
	ctx, cancel := i.within(ctx)
	defer cancel()
	m, err := i.module(ctx)
	if err == nil {
		err = i.take(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			return 0, fmt.Errorf("%w: %w", ErrQueued, why(ctx))
		}
		return 0, err
	}
	defer func() { <-i.slots }()
	return i.run(ctx, m, program)
}

// within is ctx, ended by Close as well, which waits for whoever has it.
func (i *Interpreter) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		cancel(ErrClosed)
		return ctx, func() {}
	}
	i.works.Add(1)
	stop := context.AfterFunc(i.life, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		i.works.Done()
	}
}

func (i *Interpreter) take(ctx context.Context) error {
	if ctx.Err() != nil {
		return why(ctx)
	}
	select {
	case i.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return why(ctx)
	}
}

func (i *Interpreter) run(ctx context.Context, m *module, program Program) (status uint32, err error) {
	process := &wasi.Process{
		Args:        program.Args,
		Source:      program.Source,
		MemoryLimit: i.options.MemoryBytes,
		Mounts:      program.Mounts,
		Stdin:       program.Stdin,
		Stdout:      program.Stdout,
		Stderr:      program.Stderr,
		Now:         i.options.Now,
		Rand:        i.options.Rand,
	}
	limited := &memoryLimit{bytes: uint64(i.options.MemoryBytes)}
	if i.options.Fragile {
		process.Stderr = untilRefused{limited, program.Stderr}
	}
	bound := experimental.WithMemoryAllocator(process.Bind(ctx), limited)
	defer func() { err = errors.Join(err, process.Close()) }()

	instance, err := m.runtime.InstantiateModule(bound, m.compiled,
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return 0, fmt.Errorf("start the interpreter: %w", err)
	}
	defer func() { err = errors.Join(err, instance.Close(context.WithoutCancel(ctx))) }()
	_, err = instance.ExportedFunction("_start").Call(bound)
	status, err = outcome(ctx, process.Err(), limited.refused.Load(), err)
	if errors.Is(err, ErrMemory) {
		err = fmt.Errorf("%w: its limit is %d MiB", err, i.options.MemoryBytes>>20)
	}
	return status, err
}

// outcome tells the ends of a run apart by what the host saw.
func outcome(ctx context.Context, ended error, refused bool, err error) (uint32, error) {
	var exit *sys.ExitError
	isExit := errors.As(err, &exit)
	switch {
	case ended != nil && ctx.Err() != nil:
		return 0, why(ctx)
	case ended != nil:
		return 0, ended
	case isExit && interrupted(exit.ExitCode()) && ctx.Err() != nil:
		return 0, why(ctx)
	case err == nil:
		return 0, nil
	case refused && (!isExit || exit.ExitCode() != 0):
		return 0, ErrMemory
	case isExit:
		return exit.ExitCode(), nil
	case strings.HasPrefix(err.Error(), "wasm error: stack overflow"):
		return 0, ErrStack
	default:
		return 0, fmt.Errorf("%w: %w", ErrCrashed, err)
	}
}

func interrupted(status uint32) bool {
	return status == sys.ExitCodeContextCanceled || status == sys.ExitCodeDeadlineExceeded
}

// memoryLimit allocates the memory of one instance. The limit stands here and
// not in the engine's configuration, since the engine does not say that it
// refused.
type memoryLimit struct {
	bytes   uint64
	refused atomic.Bool
}

// Allocate implements [experimental.MemoryAllocator].
func (l *memoryLimit) Allocate(_, _ uint64) experimental.LinearMemory {
	return &linearMemory{limit: l}
}

// untilRefused passes writes on until the limit has refused memory.
type untilRefused struct {
	limit *memoryLimit
	to    io.Writer
}

func (w untilRefused) Write(p []byte) (int, error) {
	if w.limit.refused.Load() {
		return len(p), nil
	}
	return w.to.Write(p)
}

type linearMemory struct {
	limit *memoryLimit
	data  []byte
}

// Reallocate grows the memory, by at least a half of what there is, so that a
// guest that grows in small steps does not copy itself each time.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > m.limit.bytes {
		m.limit.refused.Store(true)
		return nil
	}
	if size > uint64(cap(m.data)) {
		grown := make([]byte, size, min(max(size, uint64(len(m.data))*3/2), m.limit.bytes))
		copy(grown, m.data)
		m.data = grown
	}
	m.data = m.data[:size]
	return m.data
}

// Free drops the memory.
func (m *linearMemory) Free() { m.data = nil }
