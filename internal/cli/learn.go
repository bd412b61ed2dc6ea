package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/explain"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/learn"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress/eventlog"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// learnOptions are the flags of learn.
type learnOptions struct {
	dir   string
	facts []string
	check checkOptions // how a directory is planned
	run   bool
	// runs are the flags of run: the manifest and the workload are used without --run
	// too.
	runs runOptions
}

const learnLong = `learn reads what sandboxes asked for and prints the smallest allowlist that lets
exactly that through, as egress of a sandbox_workload in HCL: what was refused for
want of a rule, and what was let through. Who asked, how often and when stands in
comments. It never changes anything.

EVENTS are files of what "sandboxctl run --events" or a host's eventlog.Writer wrote,
or - for standard input. With --run they come from a run: the program after -- runs
as under "sandboxctl run", nothing is permitted that is not now, and what it is
refused is what is learnt. Where the workload is closed, its rules and its policy's are
replaced for that run by one that reaches nothing, so that there is a proxy to ask;
not where the platform has closed it.

No rule is wider than what was seen, but where rules cannot say it more narrowly: of a
tunnel the host and the port are all that is seen. Patterns that could stand for
several rules are suggestions, each with something else that it would open. What is
not offered, such as metadata services, stands apart with the reason. Programs choose
what they ask for: read the list as if its author wanted something of you, and look
twice at what is marked CHECK.

With --manifest or --dir the workload's rules that were used stay as they are, and the
posture it would have is judged: what changes, whether the policies admit it, and the
edit of the policies where they do not.

The HCL goes to standard output, everything else to standard error. With --format
json all of it is one object on standard output.`

func (a *app) learnCommand() *cobra.Command {
	var o learnOptions
	cmd := &cobra.Command{
		Use:   "learn [EVENTS...]",
		Short: "The smallest allowlist for what programs asked for",
		Long:  learnLong + "\n\n" + learnExitHelp,
		Example: `  sandboxctl learn events.jsonl
  sandboxctl learn events.jsonl --manifest manifest.json --workload report
  sandboxctl learn events.jsonl --manifest manifest.json --workload report --facts facts.json
  sandboxctl learn events.jsonl --dir ./policies --workload sandbox_workload.report
  sandboxctl learn --run --manifest manifest.json --accept "$DIGEST" --workload report -- python3 report.py`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.learn(cmd.Context(), o, args)
			if err != nil {
				return err
			}
			return a.printProposal(p)
		},
	}
	a.runtimeFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.runs.manifest, "manifest", "", "the manifest that the workload is in, or - for standard input")
	flags.StringVar(&o.dir, "dir", "", "the Terraform configuration that the workload is in, as check plans one")
	flags.StringVar(&o.runs.workload, "workload", "", "the workload: its name in the manifest, or its address with --dir (the one there is)")
	flags.StringArrayVar(&o.facts, "facts", nil, "a backend's facts, in place of the shipped ones (repeatable)")
	flags.BoolVar(&o.run, "run", false, "run the program after -- and learn from it")
	flags.StringArrayVar(&o.runs.accept, "accept", nil, "with --run, a digest that the manifest may have (repeatable)")
	flags.StringVar(&o.runs.backend, "backend", "", "with --run, the backend to offer (default the one that the workload names)")
	flags.StringArrayVar(&o.runs.files, "file", nil, "with --run, a file to upload first, SOURCE=PATH in the sandbox (repeatable)")
	flags.StringVar(&o.runs.events, "events", "", "with --run, a new file for the events")
	flags.DurationVar(&o.runs.timeout, "timeout", defaultTimeout, "how long the program may run")
	o.check.flags(cmd)
	a.formatFlag(cmd, "hcl", "json")
	return cmd
}

// learn reads or makes events, and proposes.
func (a *app) learn(ctx context.Context, o learnOptions, args []string) (learn.Proposal, error) {
	if err := o.sound(args); err != nil {
		return learn.Proposal{}, err
	}
	at, err := a.place(ctx, o)
	if err != nil {
		return learn.Proposal{}, err
	}
	t := &learn.Tally{Only: o.runs.workload}
	if at != nil {
		t.Only = at.Workload
	}
	if o.run {
		err = a.observe(ctx, o, args, t)
	} else {
		err = a.readEvents(ctx, args, t)
	}
	if err != nil {
		return learn.Proposal{}, err
	}
	return learn.Propose(t, at)
}

// sound refuses flags that mean nothing together.
func (o learnOptions) sound(args []string) error {
	stdin := 0
	for _, name := range append(slices.Clip(args), o.runs.manifest) {
		if name == "-" {
			stdin++
		}
	}
	switch {
	case o.run && (o.runs.manifest == "" || o.runs.workload == "" || len(o.runs.accept) == 0 || len(args) == 0):
		return badInput("--run takes --manifest, --accept, --workload, and the program after --")
	case !o.run && len(args) == 0:
		return badInput("give EVENTS: files, or - for standard input")
	case !o.run && len(o.runs.accept)+len(o.runs.files)+len(o.runs.backend)+len(o.runs.events) > 0:
		return badInput("--accept, --backend, --file and --events are for --run")
	case o.dir != "" && o.runs.manifest != "":
		return badInput("give --manifest or --dir, one of them")
	case o.dir != "" && o.runs.workload == "":
		return badInput("--dir takes --workload, the address of a sandbox_workload")
	case o.run && o.runs.manifest == "-":
		return badInput("--run reads the manifest twice: give a file")
	case stdin > 1:
		return badInput("only one of EVENTS and --manifest can be standard input")
	default:
		return nil
	}
}

// place is the workload that is asked about, nil where none is.
func (a *app) place(ctx context.Context, o learnOptions) (*learn.Place, error) {
	if o.runs.manifest == "" && o.dir == "" {
		return nil, nil //nolint:nilnil // the events stand alone
	}
	book, err := a.readFactbook(o.facts)
	if err != nil {
		return nil, err
	}
	m, name, err := a.home(ctx, o, book)
	if err != nil {
		return nil, err
	}
	at, err := learn.NewPlace(m, name, book.known())
	if err != nil {
		return nil, inInput(o.runs.manifest, err)
	}
	at.Advise = book.advise
	return at, nil
}

// home is the manifest that the workload is in, or would be, and its name there. Facts
// that a configuration gives it go into the book.
func (a *app) home(ctx context.Context, o learnOptions, book factbook) (manifest.Manifest, string, error) {
	if o.dir != "" {
		return a.plannedWorkload(ctx, o, book)
	}
	b, err := a.readFile(o.runs.manifest, manifest.MaxDocument)
	if err != nil {
		return manifest.Manifest{}, "", err
	}
	m, err := openManifest(b, "")
	if err != nil {
		return m, "", inInput(o.runs.manifest, err)
	}
	name := o.runs.workload
	if names := m.WorkloadNames(); name == "" && len(names) == 1 {
		name = names[0]
	}
	if name == "" {
		return m, "", badInput("give --workload: the manifest has %s", strings.Join(m.WorkloadNames(), ", "))
	}
	return m, name, explain.HasWorkload(m, name)
}

// readEvents counts the events of files. One that was cut off in its last line is
// read up to there.
func (a *app) readEvents(ctx context.Context, names []string, t *learn.Tally) error {
	for _, name := range names {
		err := a.readEventsOf(ctx, name, t)
		switch {
		case errors.Is(err, eventlog.ErrCutOff):
			fmt.Fprintln(a.errs, "sandboxctl: "+sandbox.Echo(name)+" ends in the middle of a line, which is left out")
		case err != nil:
			return err
		}
	}
	return nil
}

func (a *app) readEventsOf(ctx context.Context, name string, t *learn.Tally) error {
	f, err := a.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	r := eventlog.NewReader(f)
	for ctx.Err() == nil {
		switch e, err := r.Next(); {
		case err == nil:
			t.Add(e)
		case errors.Is(err, io.EOF):
			return nil
		default:
			return inLog(name, err)
		}
	}
	return context.Cause(ctx)
}

func (a *app) printProposal(p learn.Proposal) error {
	var err error
	if a.format == "json" {
		err = a.printJSON(p)
	} else {
		_, err = fmt.Fprint(a.out, p.HCL)
		fmt.Fprint(a.errs, p.Notes())
	}
	switch {
	case err != nil || p.Outcome == nil:
		return err
	case p.Outcome.Verdict != sandbox.Allow:
		return &exit{code: ExitRefused}
	case p.Outcome.Widens:
		return &exit{code: ExitWidened}
	default:
		return nil
	}
}
