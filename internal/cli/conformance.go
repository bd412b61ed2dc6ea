package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// conformanceOptions are the flags of conformance.
type conformanceOptions struct {
	backend string
	report  string
	only    []string
	image   string
}

// conformanceReports are the forms of its report; the first is the default.
var conformanceReports = []string{"text", "json", "junit", "markdown"}

// quiet is how long a command may be silent.
const quiet = 2 * time.Second

const conformanceLong = `conformance makes sandboxes of a backend and attacks them: from outside, through the
calls a host makes, and from within, with a program that it uploads. It says of
every promise whether it held here, and ends with what the backend declares.

A probe whose capability the backend does not have is skipped, and named; a suite
that --only names is refused then. An attack that could not be staged shows nothing
and counts as a failure.

A backend that serves egress allowlists is given an internet inside this command,
with names, addresses and servers of its own; nothing is asked of the real one.

While it runs there are canaries on this machine that no sandbox may find: files and
sockets named sandbox-conformance-* in temporary directories, your home and the
current directory, for root also in /usr/local, and listeners on every address.`

const conformanceExitHelp = `Exit codes:
  0    every probe held or was skipped
  1    one failed, or could not be shown
  2    the backend could not be started or probed
  130  interrupted`

func (a *app) conformanceCommand() *cobra.Command {
	var o conformanceOptions
	cmd := &cobra.Command{
		Use:   "conformance --backend NAME",
		Short: "Attack a backend on this machine and report what held",
		Long:  conformanceLong + "\n\n" + remoteHelp + "\n\n" + conformanceExitHelp,
		Example: `  sandboxctl conformance --backend process
  sandboxctl conformance --backend wasm --report junit > conformance.xml
  sandboxctl conformance --backend process --only BOUNDARY --only EXEC/exit-codes-are-exact`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.conform(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.backend, "backend", "", "the backend to attack")
	flags.StringVar(&o.report, "report", conformanceReports[0], "how to report: "+strings.Join(conformanceReports, ", "))
	flags.StringArrayVar(&o.only, "only", nil, "a suite to run, or one probe as SUITE/probe (repeatable; default all)")
	flags.StringVar(&o.image, "image", "", "what sandboxes are made from, a catalogue name or a reference, for a backend that needs one")
	a.runtimeFlag(cmd)
	a.remoteFlags(cmd)
	_ = cmd.MarkFlagRequired("backend") // fails only for a flag that does not exist
	return cmd
}

func (a *app) conform(ctx context.Context, o conformanceOptions) (err error) {
	if !slices.Contains(conformanceReports, o.report) {
		return badInput("--report %s: not one of %s", sandbox.Echo(o.report), strings.Join(conformanceReports, ", "))
	}
	b, ok, err := a.backend(o.backend)
	if err != nil {
		return err
	}
	if !ok {
		return badInput("--backend %s: this binary runs %s", sandbox.Echo(o.backend), wordsOrNone(sortedKeys(a.env.Backends)))
	}
	if b, _, err = a.reaching(ctx, o.backend, b, nil); err != nil {
		return err
	}
	started, world, stop, err := startIn(ctx, b)
	if err != nil {
		return err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopBound)
		defer cancel()
		if failed := stop(stopping); failed != nil {
			err = errors.Join(err, failed)
		}
	}()
	subject := conformance.Subject{Programs: b.Programs, Bounds: b.Bounds, Except: b.Except, Egress: world}
	if b.Holds != "" {
		subject.Left = conformance.MachineHolds(b.Holds)
	}
	declared := started.Declarations()
	if declared.Isolation < sandbox.IsolationContainer {
		// Below a container nothing claims to bound what many processes hold together.
		subject.Bounds.MemoryBytes, subject.Bounds.Files = 0, 0
	}
	requires := sandbox.DefaultCapabilities()
	if declared.Capabilities != nil {
		requires = declared.Capabilities.Minus(sandbox.SetOf(sandbox.CapabilityReclaim)) // nobody may require it
	}
	subject.Backend = started
	subject.Spec = sandbox.Spec{Kind: "conformance", Requires: &requires, Egress: sandbox.Egress{Mode: sandbox.EgressClosed}}
	subject.Spec.Image = imageOf(o.image)
	if len(o.only) > 0 {
		subject.Only = o.only
	}
	for _, name := range o.only {
		suite, _, _ := strings.Cut(name, "/")
		subject.Must = append(subject.Must, suite)
	}
	progress := progress{to: a, begun: time.Now()}
	subject.Progress = progress.hear
	results, err := conformance.Run(ctx, subject)
	if err != nil {
		return err
	}
	progress.end()
	r := conformanceReport{backend: o.backend, suites: conformance.BySuite(results), tally: conformance.Count(results), declared: declared}
	if err := a.printConformance(r, o.report); err != nil {
		return err
	}
	if r.tally.Failed > 0 {
		return &exit{ExitRefused, nil}
	}
	return nil
}

// imageOf is an image by the spelling of its name.
func imageOf(name string) sandbox.Image {
	if sandbox.NamesPrebuilt(name) {
		return sandbox.Image{Prebuilt: name}
	}
	return sandbox.Image{Reference: name}
}

// startIn starts a backend to be attacked: with a world of its own where it serves
// allowlists.
func startIn(ctx context.Context, b Backend) (router.Backend, *conformance.Egress, func(context.Context) error, error) {
	var heard notices
	if b.StartIn == nil {
		started, stop, err := b.Start(ctx, heard.hear)
		return started, nil, stop, err
	}
	world, err := conformance.NewEgress()
	if err != nil {
		return nil, nil, nil, err
	}
	started, stop, err := b.StartIn(ctx, heard.hear, world)
	if err != nil {
		world.World.Close()
		return nil, nil, nil, err
	}
	return started, world, func(ctx context.Context) error {
		err := stop(ctx)
		world.World.Close()
		return err
	}, nil
}

// progress says on standard error which suites are done, once the command has been
// silent for a while.
type progress struct {
	to      *app
	begun   time.Time
	current []conformance.Result
}

func (p *progress) hear(r conformance.Result) {
	if len(p.current) > 0 && p.current[0].Suite != r.Suite {
		p.end()
	}
	p.current = append(p.current, r)
}

// end says what became of the suite that has just ended.
func (p *progress) end() {
	if len(p.current) > 0 && time.Since(p.begun) > quiet {
		fmt.Fprintf(p.to.errs, "%-20s %s\n", p.current[0].Suite, counts(conformance.Count(p.current)))
		_ = p.to.errs.Flush() // somebody may be waiting
	}
	p.current = nil
}

// counts reads "12 held, 1 failed, 2 skipped"; what there is none of is left out.
func counts(t conformance.Tally) string {
	var parts []string
	for _, part := range []struct {
		n    int
		word string
	}{{t.Passed, "held"}, {t.Failed, "failed"}, {t.Skipped, "skipped"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.word))
		}
	}
	if len(parts) == 0 {
		return "nothing to probe"
	}
	return strings.Join(parts, ", ")
}
