// Package cli is sandboxctl: the same engine that plans and routes, as one
// command. It reads documents, plans and configurations, says what they would
// allow, and runs programs from an accepted manifest.
//
// [Main] is the whole of it, and [Env] everything it touches, so that tests run
// it in their own process. exit.go is the one place that says what exit codes
// mean. Every byte that others wrote leaves through package plaintext.
package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// Env is what the command touches outside itself.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Environ is the environment, NAME=value.
	Environ []string
	// Version is the release, and Guests what is linked into it, by name: for
	// `sandboxctl version`.
	Version string
	Guests  map[string]string
	// Backends are those this binary can run, by name.
	Backends map[string]Backend
	// GuestEngines are what can run inside an emulator's sandboxes, by name.
	GuestEngines map[string]GuestEngine
	// Terminal says that somebody watches Stderr, so that a line may change.
	Terminal bool
	// Service opens a client of the service for sandboxes on Azure; nil is
	// [acasapi.New].
	Service func(acasapi.Config) (*acasapi.Client, error)
}

// Backend is a backend that this binary can run.
type Backend struct {
	// Declarations are what it says of itself before it is started.
	Declarations func() sandbox.Declarations
	// Probe, for a backend that depends on its machine, looks at this one.
	Probe func(ctx context.Context) (sandbox.Declarations, error)
	// Start makes it. notice may be called with lines for a person. stop is never
	// nil where err is.
	Start func(ctx context.Context, notice func(text string)) (b router.Backend, stop func(context.Context) error, err error)

	// Watch is Start of a backend whose sandboxes have proxies: observer is asked, by
	// the sandbox's id, who is told of what they decide. Nil where there are none.
	Watch func(
		ctx context.Context, notice func(text string), observer func(id string) egress.Observer,
	) (b router.Backend, stop func(context.Context) error, err error)

	// FirstStart is why the first start on a machine takes a while, to be read after
	// "starting the sandbox"; empty where it does not.
	FirstStart string

	// StartIn, for a backend that serves allowlists, makes it with a world to reach in
	// place of the internet, and says there how a sandbox's proxy is ended.
	StartIn func(ctx context.Context, notice func(text string), world *conformance.Egress) (b router.Backend, stop func(context.Context) error, err error)

	// Reach, for a backend that makes its sandboxes in a group on Azure, is the
	// backend of that group; it has Start and Probe.
	Reach func(Remote) Backend

	// Programs, Bounds, Holds and Except are what conformance needs to know of it:
	// sources in its language, what one sandbox may use up as Start configures it, what
	// the names begin with of all that it makes on the machine, and the probes, as
	// SUITE/probe, of what it does not promise, each with its reason.
	Programs conformance.Programs
	Bounds   conformance.Bounds
	Holds    string
	Except   map[string]string

	// Runtimes are the same backend built in another way, by the name that
	// --runtime takes. Theirs are not looked at.
	Runtimes map[string]Backend
}

// app is one invocation.
type app struct {
	env    Env
	out    *plaintext.Writer
	errs   *plaintext.Writer
	format string
	// runtime is what builds the sandboxes of the backend that is started or probed;
	// empty leaves it to the backend.
	runtime string
	// remote is the group of a backend that has one.
	remote remote
}

// Main runs the command line and returns its exit code. It returns when ctx ends
// and what was started is cleaned up.
func Main(ctx context.Context, env Env, args []string) int {
	if env.Stdin != nil {
		env.Stdin = &interruptible{ctx: ctx, from: env.Stdin}
	}
	a := &app{env: env, out: plaintext.NewWriter(env.Stdout), errs: plaintext.NewWriter(env.Stderr)}
	root := a.root() //nolint:contextcheck // cobra hands each command the context that it is executed with
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(a.out)
	root.SetErr(a.errs)
	err := root.ExecuteContext(ctx)
	code := a.end(ctx, err)
	if err := errors.Join(a.out.Flush(), a.errs.Flush()); err != nil && code == ExitAllowed {
		return ExitBadInput // nobody read the answer
	}
	return code
}

const long = `sandboxctl answers, from the same rules that plan and run, whether sandboxes are
confined as their policy says, and runs programs in them.

It needs no cloud and no credentials, except for what looks at a group on Azure: ls,
show --sandbox, reap, image and import --from-group.`

const examples = `  sandboxctl show manifest.json                      the posture in words
  sandboxctl check manifest.json                     is every workload admitted?
  sandboxctl check ./policies                        plan a directory of pure objects and judge it
  terraform show -json plan | sandboxctl check -     judge a plan
  sandboxctl why --manifest manifest.json --host cdn.example.net
  sandboxctl learn events.jsonl                      the allowlist that a program asked for
  sandboxctl diff deployed.json manifest.json        does anything permit more than before?
  sandboxctl facts --backend wasm                    what a backend promises, and on what evidence
  sandboxctl conformance --backend process           attack a backend on this machine
  sandboxctl emulate --ca-out ca.pem                 Azure Container Apps Sandboxes on this machine
  sandboxctl run --manifest manifest.json --accept sha256:… --workload report -- program.js
  sandboxctl reap --group agents --older-than 2h --dry-run   what hosts have left on Azure
  sandboxctl import --from-group agents --out agents.tf      configuration for a group that exists`

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "sandboxctl",
		Short:         "Check, show and run sandboxes from their policies",
		Long:          long + "\n\n" + exitHelp,
		Example:       examples,
		Version:       a.env.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return badInput("%w\nsee %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(
		a.showCommand(), a.checkCommand(), a.whyCommand(), a.learnCommand(), a.diffCommand(), a.factsCommand(), a.runCommand(),
		a.emulateCommand(), a.conformanceCommand(), a.lsCommand(), a.reapCommand(), a.imageCommand(),
		a.importCommand(), a.importPolicyCommand(), a.canonicalCommand(), a.digestCommand(), a.explainCommand(), a.versionCommand(),
	)
	return root
}

// formatFlag adds --format with the formats a command has; the first is the
// default.
func (a *app) formatFlag(cmd *cobra.Command, formats ...string) {
	format := cmd.Flags().String("format", formats[0], "how to print: "+strings.Join(formats, " or "))
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if a.format = *format; slices.Contains(formats, a.format) {
			return run(cmd, args)
		}
		return badInput("--format %s: not one of %s", sandbox.Echo(a.format), strings.Join(formats, ", "))
	}
}
