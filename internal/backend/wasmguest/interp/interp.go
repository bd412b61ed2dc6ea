// Package interp runs language interpreters that are WASI modules: one module,
// compiled once, and a fresh instance of it for every program. Two programs
// share nothing but the directories they are given.
//
// Read [Options] for what it is made from and [Interpreter.Run] for how a run
// ends. Bounds on memory, time and concurrency are observed from the host's
// side; nothing rests on what a guest says.
package interp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/wasi"
)

// The ways in which a run ends other than by the program's own exit, for
// errors.Is. A run whose context ends answers the context's cause.
var (
	// ErrQueued: the context ended while the run waited for the module to be
	// compiled or for its turn. Nothing ran.
	ErrQueued = errors.New("program did not start in time")
	// ErrMemory: more memory was asked for than the limit, and the program died.
	ErrMemory = errors.New("program ran out of memory")
	// ErrStack: calls were nested deeper than the stack.
	ErrStack = errors.New("program ran out of stack")
	// ErrCrashed: the interpreter ended by a fault instead of an exit.
	ErrCrashed = errors.New("interpreter crashed")
	// ErrClosed: the interpreter was closed.
	ErrClosed = errors.New("interpreter is closed")
)

// Options say what an interpreter is made from.
type Options struct {
	// Module answers the module's bytes, checked; it is called when the first
	// program runs.
	Module func() ([]byte, error)
	// Yields says that the module calls sched_yield in every loop, so that the
	// engine need not check each one for the end of the context, which costs
	// several times the speed.
	Yields bool
	// Fragile says that the module cannot go on when it is refused memory. What
	// it then writes to standard error is not the program's and is dropped.
	Fragile bool
	// MemoryBytes is the memory limit of one run, a multiple of [PageBytes].
	MemoryBytes uint32
	// CacheDir is a directory for compiled code that [PrepareCacheDir] accepted,
	// or empty for none.
	CacheDir string
	// Concurrent is how many programs run at once, at least 1.
	Concurrent int
	// Compiled is told about the first use: how long loading and compiling the
	// module, or reading it from the cache, took. It may be nil.
	Compiled func(took time.Duration)
	// Now and Rand are the guest's clock and randomness.
	Now  func() time.Time
	Rand io.Reader
}

// PageBytes is the unit of a guest's memory.
const PageBytes = 64 << 10

// Interpreter is one module, ready to run programs. Make it with [New] and
// close it.
type Interpreter struct {
	options Options
	slots   chan struct{}
	// life ends with Close; every compilation and run lives within it.
	life  context.Context
	end   context.CancelCauseFunc
	works sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	building *building
}

// building is one attempt to compile; done is closed when it is over.
type building struct {
	done   chan struct{}
	module *module
	err    error
}

// module is a compiled module in its runtime.
type module struct {
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
}

// New makes an interpreter. It does nothing yet.
func New(options Options) *Interpreter {
	life, end := context.WithCancelCause(context.Background())
	return &Interpreter{
		options: options,
		slots:   make(chan struct{}, max(options.Concurrent, 1)),
		life:    life,
		end:     end,
	}
}

// Prepare compiles the module, or waits for whoever is doing so. It is done
// once; a failure is not kept, so a later call tries again.
func (i *Interpreter) Prepare(ctx context.Context) error {
	_, err := i.module(ctx)
	return err
}

func (i *Interpreter) module(ctx context.Context) (*module, error) {
	i.mu.Lock()
	if i.closed {
		i.mu.Unlock()
		return nil, ErrClosed
	}
	b := i.building
	if b == nil {
		b = &building{done: make(chan struct{})}
		i.building = b
		i.works.Go(func() { i.build(b) }) //nolint:contextcheck // outlives its first caller: it lives as long as i
	}
	i.mu.Unlock()
	select {
	case <-b.done:
		return b.module, b.err
	case <-ctx.Done():
		return nil, why(ctx)
	}
}

// why is the error of a context that has ended, with its cause if that says more.
func why(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

func (i *Interpreter) build(b *building) {
	defer close(b.done)
	start := time.Now()
	b.module, b.err = i.compile()
	if b.err != nil {
		i.mu.Lock()
		i.building = nil
		i.mu.Unlock()
		return
	}
	i.options.Module = nil // which may hold the module's bytes
	if i.options.Compiled != nil {
		i.options.Compiled(time.Since(start))
	}
}

func (i *Interpreter) compile() (_ *module, err error) {
	bytes, err := i.options.Module()
	if err != nil {
		return nil, err
	}
	config := wazero.NewRuntimeConfig().
		WithDebugInfoEnabled(false).
		WithCloseOnContextDone(!i.options.Yields)
	m := &module{}
	if i.options.CacheDir != "" {
		if m.cache, err = wazero.NewCompilationCacheWithDir(i.options.CacheDir); err != nil {
			return nil, fmt.Errorf("open the cache of compiled code: %w", err)
		}
		config = config.WithCompilationCache(m.cache)
	}
	m.runtime = wazero.NewRuntimeWithConfig(i.life, config)
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close(context.WithoutCancel(i.life)))
		}
	}()
	if err := wasi.Instantiate(i.life, m.runtime); err != nil {
		return nil, fmt.Errorf("prepare the host functions: %w", err)
	}
	// More than one worker also makes the compiler watch its context.
	ctx := experimental.WithCompilationWorkers(i.life, max(2, runtime.GOMAXPROCS(0)))
	if m.compiled, err = m.runtime.CompileModule(ctx, bytes); err != nil {
		return nil, fmt.Errorf("compile the interpreter: %w", err)
	}
	return m, i.fits(m.compiled)
}

// fits refuses a module that could not even start within the memory limit.
func (i *Interpreter) fits(compiled wazero.CompiledModule) error {
	memory, ok := compiled.ExportedMemories()["memory"]
	if !ok {
		return errors.New("the interpreter exports no memory: it is not a WASI program")
	}
	if _, ok := compiled.ExportedFunctions()["_start"]; !ok {
		return errors.New("the interpreter exports no _start: it is not a WASI program")
	}
	if need := uint64(memory.Min()) * PageBytes; need > uint64(i.options.MemoryBytes) {
		return fmt.Errorf("the interpreter starts with %d bytes of memory, over the limit of %d", need, i.options.MemoryBytes)
	}
	return nil
}

func (m *module) close(ctx context.Context) error {
	err := m.runtime.Close(ctx)
	if m.cache != nil {
		err = errors.Join(err, m.cache.Close(ctx))
	}
	return err
}

// Close ends every run, waits for them and releases the compiled code. Closing
// again is nothing.
func (i *Interpreter) Close(ctx context.Context) error {
	i.mu.Lock()
	closed := i.closed
	i.closed = true
	i.mu.Unlock()
	if closed {
		return nil
	}
	i.end(ErrClosed)
	i.works.Wait()
	if b := i.building; b != nil && b.module != nil {
		return b.module.close(ctx)
	}
	return nil
}
