package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress/eventlog"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// runOptions are the flags of run.
type runOptions struct {
	manifest string
	accept   []string
	workload string
	backend  string
	out      string
	files    []string
	timeout  time.Duration
	flat     bool
	raw      bool
	events   string
	// watch are told what the sandbox's proxy decides.
	watch []func(eventlog.Entry)
	// noOutputs leaves outputs where they are.
	noOutputs bool
	// ran is filled in where it is to be printed as JSON.
	ran *ran
}

const (
	// maxProgram bounds the program's text.
	maxProgram = 16 << 20
	// defaultTimeout is how long a program may run.
	defaultTimeout = time.Minute
	// stopBound is how long stopping the backend may take.
	stopBound = 10 * time.Second
	// stdoutMarker and stderrMarker begin the lines of the program, so that none
	// can pass for one of ours.
	stdoutMarker, stderrMarker = "│ ", "┆ "
)

const runLong = `run opens a manifest whose digest is accepted, makes a sandbox for one of its
workloads, runs one program in it, collects the declared outputs and disposes the
sandbox. What the plan would have refused is refused here, with the same code.

What stands after -- follows from what the workload requires. With run_code it is a
file of this machine, the program's source, and its arguments. With exec alone it is
a command in the sandbox; what it needs beside the system's own is uploaded with
--file.

The accepted digest comes from where you trust it: the plan's output, the
deployment's configuration. It is never computed from the manifest that is opened.

The program's standard output goes to standard output, its standard error and
everything else to standard error. What it writes is escaped, each line behind a
marker; --raw passes its bytes on as they are. Outputs land below --out in a
directory of this run, or with --flat in --out itself; nothing is overwritten.

Under egress_mode allowlist the sandbox has a proxy. What it refused most is said at the
end. With --events all that it allowed and refused is written into a new file, a line
each, for "sandboxctl learn" and "sandboxctl why".

With --format json standard output is one object: the exit code, what the program
wrote, what landed, and what was refused. What is no UTF-8 stands there in base64.`

func (a *app) runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run --manifest FILE --accept DIGEST --workload NAME [flags] -- PROGRAM [ARG...]",
		Short: "Run a program in a sandbox of an accepted manifest",
		Long:  runLong + "\n\n" + remoteHelp + " Without --group it is the manifest's.\n\n" + runExitHelp,
		Example: `  sandboxctl run --manifest manifest.json --accept sha256:… --workload report -- report.js
  terraform output -raw manifest |
    sandboxctl run --manifest - --accept "$DIGEST" --workload report --file data.csv=in/data.csv -- report.js 2026
  sandboxctl run --manifest manifest.json --accept "$DIGEST" --workload chart --file plot.py=plot.py -- python3 plot.py
  sandboxctl run --manifest manifest.json --accept "$DIGEST" --workload chart --group team --emulator --endpoint-data https://localhost:8443 -- id`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return badInput("give the program after --\nsee %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.runProgram(cmd.Context(), o, args) },
	}
	a.runtimeFlag(cmd)
	a.remoteFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.manifest, "manifest", "", "the manifest, or - for standard input")
	flags.StringArrayVar(&o.accept, "accept", nil, "a digest that the manifest may have (repeatable)")
	flags.StringVar(&o.workload, "workload", "", "the workload to run as")
	flags.StringVar(&o.backend, "backend", "", "the backend to offer (default the one that the workload names)")
	flags.StringVar(&o.out, "out", "outputs", "the directory in which outputs land; made when it is not there")
	flags.StringArrayVar(&o.files, "file", nil, "a file to upload first, SOURCE=PATH in the sandbox (repeatable)")
	flags.DurationVar(&o.timeout, "timeout", defaultTimeout, "how long the program may run")
	flags.BoolVar(&o.flat, "flat", false, "land outputs in the directory itself, where nothing of that name may stand")
	flags.StringVar(&o.events, "events", "", "a new file for what the sandbox's proxy decides")
	flags.BoolVar(&o.raw, "raw", false, "pass the program's output on as it is")
	for _, name := range []string{"manifest", "accept", "workload"} {
		_ = cmd.MarkFlagRequired(name) // fails only for a flag that does not exist
	}
	a.formatFlag(cmd, "text", "json")
	return cmd
}

func (a *app) runProgram(ctx context.Context, o runOptions, args []string) error {
	if o.raw && a.format == "json" {
		return badInput("--raw and --format json: bytes that are passed on as they are cannot stand in an object; give one of them")
	}
	in, err := a.inputs(ctx, o, args)
	if err != nil {
		return err
	}
	var refused refusals
	if a.watches(in, o) {
		o.watch = append(o.watch, refused.note)
	}
	o.ran = &ran{}
	err = a.runWatched(ctx, o, in, args)
	return errors.Join(err, a.printRefused(o, &refused))
}

// runWatched runs the program, and keeps what the proxy decides where that is asked
// for.
func (a *app) runWatched(ctx context.Context, o runOptions, in run, args []string) error {
	if o.events == "" {
		return a.runIn(ctx, o, in, args)
	}
	f, err := createEvents(o.events)
	if err != nil {
		return err
	}
	o.watch = append(o.watch, f.log.Write)
	err = a.runIn(ctx, o, in, args)
	return errors.Join(err, a.closeEvents(f, err))
}

// runIn makes the backend and the router for one run.
func (a *app) runIn(ctx context.Context, o runOptions, in run, args []string) (err error) {
	var heard notices
	b, stop, err := a.start(ctx, in, o, args, &heard)
	if err != nil {
		return err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopBound)
		defer cancel()
		err = errors.Join(err, stop(stopping))
	}()
	options := in.options(b)
	options.Observer = warned{a}
	r, err := router.Open(ctx, options)
	if err != nil {
		return inInput(o.manifest, err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopBound)
		defer cancel()
		err = errors.Join(err, r.Close(closing))
	}()
	attachment, err := r.Attach(ctx, o.workload)
	if err != nil {
		if errors.Is(err, sandbox.CodeNoBackend) {
			spec, _ := unjudged(in.document, o.workload)
			return offering(err, spec)
		}
		return err
	}
	for _, f := range attachment.Findings() {
		fmt.Fprint(a.errs, block(itemOf(f), "warning"))
	}
	return a.call(ctx, attachment, o, in.program, in.uploads, &heard)
}

// offering says of a backend that the workload does not name which flag is at fault. A
// workload that runs nowhere here is refused.
func offering(err error, spec sandbox.Spec) error {
	return &exit{ExitRefused, advise(err, sandbox.CodeNoBackend,
		"leave out --backend, or name the one that the workload names: --backend "+spec.Backend)}
}

// warned says what is to be known about a sandbox that was just made.
type warned struct{ app *app }

// Observe is called before the program begins, on the goroutine that prints.
func (w warned) Observe(event any) {
	if acquired, ok := event.(router.SandboxAcquired); ok {
		for _, f := range acquired.Findings {
			fmt.Fprint(w.app.errs, block(itemOf(f), "warning"))
		}
	}
}

// start makes the backend, and has it tell of what its proxies decide where somebody
// watches.
func (a *app) start(
	ctx context.Context, in run, o runOptions, args []string, heard *notices,
) (router.Backend, func(context.Context) error, error) {
	name := a.backendFor(in.document, o)
	b, ok, err := a.backend(name)
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		err := sandbox.Finding{
			Code: sandbox.CodeNoBackend, Path: sandbox.Path("backend"), Found: sandbox.Echo(name),
			Required: "a backend that this binary runs: " + wordsOrNone(sortedKeys(a.env.Backends)),
			Remedy:   "plan the workload for such a backend, or run it in a host of that backend's",
		}.Refusal(nil)
		if spec, known := unjudged(in.document, o.workload); known && name != spec.Backend {
			return nil, nil, offering(err, spec)
		}
		return nil, nil, &exit{ExitRefused, err}
	}
	if b, _, err = a.reaching(ctx, name, b, in.groupOf()); err != nil {
		return nil, nil, err
	}
	heard.first = b.FirstStart
	switch {
	case len(o.watch) == 0:
		return b.Start(ctx, heard.hear)
	case b.Watch == nil:
		return nil, nil, badInput("sandboxes of backend %s have no proxy that tells what it decides; process has", sandbox.Echo(name))
	default:
		return b.Watch(ctx, heard.hear, o.watchers(name, args))
	}
}

// call runs the program in a sandbox that is gone afterwards.
func (a *app) call(ctx context.Context, at *router.Attachment, o runOptions, run program, uploads []upload, heard *notices) (err error) {
	sink, err := openSink(at.Spec(), o)
	if err != nil {
		return err
	}
	if sink != nil {
		defer func() { err = errors.Join(err, sink.Close()) }()
	}
	quiet := a.announce("starting the sandbox"+heard.first, heard)
	began := false
	err = at.Call(ctx, keyFor(at.Scope()), func(ctx context.Context, s *sandbox.Session) error {
		quiet()
		for _, u := range uploads {
			if err := s.WriteFile(ctx, u.path, bytes.NewReader(u.content), int64(len(u.content))); err != nil {
				return inInput("--file "+u.flag, err)
			}
		}
		began = true
		return a.execute(ctx, s, at.Spec(), sink, run, o)
	})
	quiet()
	if err == nil || !began {
		return err
	}
	return failedProgram(err)
}

// execute runs the program, prints what it wrote and collects what it made.
func (a *app) execute(
	ctx context.Context, s *sandbox.Session, spec sandbox.Spec, sink *output.DirSink, run program, o runOptions,
) error {
	started := time.Now()
	result, err := run(ctx, s)
	took := time.Since(started)
	if stopped, ok := errors.AsType[*sandbox.Stopped](err); ok {
		result = stopped.Result
	}
	if a.format == "json" {
		ended := err == nil
		var landed []output.Landed
		switch {
		case err != nil:
		case result.ExitCode != 0:
			err = &exit{code: ExitProgram}
		default:
			landed, err = collect(ctx, s, spec, sink)
		}
		o.ran.fill(s, result, ended, took, landed, err)
		return err
	}
	if printErr := a.printProgram(result, o.raw); printErr != nil {
		return errors.Join(err, printErr)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.errs, "exit code %d after %s, in a sandbox of %s\n", result.ExitCode, took.Round(time.Millisecond), s.Info().Backend)
	if result.ExitCode != 0 {
		return &exit{code: ExitProgram}
	}
	if o.noOutputs {
		return nil
	}
	landed, err := collect(ctx, s, spec, sink)
	if err != nil {
		return err
	}
	for _, l := range landed {
		fmt.Fprintf(a.errs, "landed  %s (%s)  %s\n", plaintext.Value(l.Name), show.Bytes(l.Size), plaintext.Value(l.Handle))
	}
	return nil
}

// collect lands what the program made. A workload that lands nothing has no sink.
func collect(ctx context.Context, s *sandbox.Session, spec sandbox.Spec, sink *output.DirSink) ([]output.Landed, error) {
	if sink == nil {
		return output.Collect(ctx, s, spec, nil)
	}
	return output.Collect(ctx, s, spec, sink)
}

// printProgram passes the program's output on.
func (a *app) printProgram(result sandbox.ExecResult, raw bool) error {
	if err := errors.Join(a.out.Flush(), a.errs.Flush()); err != nil {
		return err
	}
	if raw {
		_, outErr := a.env.Stdout.Write(result.Stdout)
		_, errErr := a.env.Stderr.Write(result.Stderr)
		return errors.Join(outErr, errErr)
	}
	return errors.Join(
		plaintext.Guest(a.env.Stdout, stdoutMarker, result.Stdout),
		plaintext.Guest(a.env.Stderr, stderrMarker, result.Stderr),
	)
}

// failedProgram gives what went wrong in a sandbox that ran the exit code for it.
func failedProgram(err error) error {
	if _, ok := errors.AsType[*exit](err); ok {
		return err
	}
	return &exit{ExitProgram, err}
}

// keyFor is a key that nobody else has. A workload whose sandboxes are one a call
// gets a call of its own.
func keyFor(scope sandbox.IsolationScope) sandbox.Key {
	key := sandbox.Key{Scope: "sandboxctl", Thread: rand.Text(), Agent: "run"}
	if scope == sandbox.ScopeCall {
		key.Call = rand.Text()
	}
	return key
}

// openSink opens the directory in which outputs land, nil for a workload that
// lands none.
func openSink(spec sandbox.Spec, o runOptions) (*output.DirSink, error) {
	lands := false
	for _, declared := range spec.Outputs {
		lands = lands || declared.Lands()
	}
	if !lands || o.noOutputs {
		return nil, nil
	}
	if err := os.MkdirAll(o.out, 0o700); err != nil {
		return nil, badInput("--out %s: %w", sandbox.Echo(o.out), withoutPath(err))
	}
	sink, err := output.NewDirSink(o.out, output.DirOptions{Flat: o.flat})
	if err != nil {
		return nil, badInput("--out %s: %w", sandbox.Echo(o.out), err)
	}
	return sink, nil
}
