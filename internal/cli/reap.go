package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/operate"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// markerLabel is what everything carries that this project's client makes.
const markerLabel = acasapi.MarkerLabel

// reapOptions are the flags of reap.
type reapOptions struct {
	azure

	olderThan span
	labels    []string
	dryRun    bool
	allOwners bool
	confirm   string
	timeout   span
}

const reapLong = `reap deletes the sandboxes of a group that were made longer ago than --older-than,
in use or not, and waits until each is seen gone. Hosts delete their own; this is for
what they left when they were killed.

It touches only sandboxes with the label ` + markerLabel + `, which everything carries
that this project's client makes, unless --all-owners says otherwise. One that does
not say when it was made is kept. Ages are counted by the service's clock.

--dry-run prints what would be deleted, and deletes nothing. Several may run at once.`

const reapExitHelp = `Exit codes:
  0    all that was to go is gone, or nothing was
  1    not permitted: nothing was deleted
  2    there is no answer: bad input, or the service gave none; nothing was deleted
  5    some of it is not gone, and is listed
  130  interrupted; what is gone by then is listed`

func (a *app) reapCommand() *cobra.Command {
	var o reapOptions
	cmd := &cobra.Command{
		Use:   "reap --group NAME --older-than AGE",
		Short: "Delete the old sandboxes of a group on Azure",
		Long:  reapLong + "\n\n" + azureHelp + "\n\n" + reapExitHelp,
		Example: `  sandboxctl reap --group agents --older-than 2h --dry-run
  sandboxctl reap --group agents --older-than 7d --label run=nightly`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.reap(cmd.Context(), o) },
	}
	o.flags(cmd.Flags())
	flags := cmd.Flags()
	flags.Var(&o.olderThan, "older-than", "how long ago a sandbox was made that goes, such as 90m, 2h or 7d")
	flags.StringArrayVar(&o.labels, "label", nil, "only sandboxes with this label, KEY=VALUE (repeatable)")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print what would go, and delete nothing")
	flags.BoolVar(&o.allOwners, "all-owners", false, "also sandboxes that something else made; needs --confirm")
	flags.StringVar(&o.confirm, "confirm", "", "the group's name, to confirm --all-owners")
	flags.Var(&o.timeout, "timeout", "how long each deletion may take (default 5m)")
	_ = cmd.MarkFlagRequired("older-than") // fails only for a flag that does not exist
	a.formatFlag(cmd, "text", "json")
	return cmd
}

func (a *app) reap(ctx context.Context, o reapOptions) error {
	filter, err := labelFilter(o.labels)
	if err != nil {
		return err
	}
	r, closed, err := a.reach(ctx, o.azure)
	if err != nil {
		return err
	}
	defer closed()
	if err := o.confirmed(r.ID().Name); err != nil {
		return err
	}
	survey, err := operate.Look(ctx, r.Group, operate.Criteria{OlderThan: o.olderThan.Duration, Labels: filter, AllOwners: o.allOwners})
	if err != nil {
		return advise(err, sandbox.CodeServiceNotFound, wrongGroup)
	}
	a.tellSkew(survey.Ahead)
	report := &reapReport{app: a, of: r, survey: survey, olderThan: o.olderThan.Duration, dryRun: o.dryRun, filter: filter, told: map[string]operate.Outcome{}}
	report.begin()
	old := survey.Of(operate.Old)
	if o.dryRun {
		for _, c := range old {
			report.tell(operate.Removal{Candidate: c})
		}
		return report.end()
	}
	report.removals, err = operate.Remove(ctx, r.Group, old, o.timeout.Duration, report.tell)
	if printErr := report.end(); printErr != nil {
		return printErr
	}
	return report.verdict(ctx, err)
}

// confirmed asks for the group's name where what others made is to go.
func (o reapOptions) confirmed(group string) error {
	switch {
	case o.confirm != "" && !o.allOwners:
		return badInput("--confirm belongs to --all-owners")
	case !o.allOwners || o.dryRun || o.confirm == group:
		return nil
	case o.confirm == "":
		return badInput("--all-owners deletes sandboxes that something else made: look with --dry-run, then add --confirm %s", group)
	default:
		return badInput("--confirm %s is not the name of the group, %s", sandbox.Echo(o.confirm), group)
	}
}

// noticeable is how far two clocks may differ without a word.
const noticeable = time.Minute

func (a *app) tellSkew(ahead time.Duration) {
	word := "ahead of"
	if ahead < 0 {
		ahead, word = -ahead, "behind"
	}
	if ahead > noticeable {
		fmt.Fprintf(a.errs, "sandboxctl: the service's clock is %s %s this machine's; ages are counted by the service's\n", ago(ahead), word)
	}
}

// reapReport is what was found, and what became of it.
type reapReport struct {
	app       *app
	of        *reached
	survey    operate.Survey
	olderThan time.Duration
	dryRun    bool
	filter    wire.Labels
	removals  []operate.Removal
	// told is what was printed of each while it went on.
	told map[string]operate.Outcome
}

// verdict is the error for what did not go. Each is named with what the service said.
func (r *reapReport) verdict(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	var refusals sandbox.Refusals
	if one := sandbox.RefusalOf(err); one != nil {
		refusals = append(refusals, one)
	}
	gone, forbidden := 0, 0
	for _, one := range r.removals {
		why := sandbox.RefusalOf(one.Err)
		switch {
		case one.Outcome == operate.Gone:
			gone++
			continue
		case errors.Is(one.Err, sandbox.ErrPermission):
			forbidden++
		}
		if why != nil {
			refusals = append(refusals, why)
		}
	}
	switch {
	case err == nil && gone == len(r.removals):
		return nil
	case err == nil && gone == 0 && forbidden > 0 && forbidden == len(refusals):
		return &exit{ExitRefused, refusals}
	default:
		return &exit{ExitUnfinished, refusals}
	}
}

// begin names the group and what is looked for.
func (r *reapReport) begin() {
	if r.app.format == "json" {
		return
	}
	text := "sandboxes that were made more than " + ago(r.olderThan) + " ago"
	if len(r.filter) > 0 {
		text += ", with " + r.filter.Filter()
	}
	if r.dryRun {
		text = "dry run, nothing is deleted: " + text
	}
	fmt.Fprintf(r.app.out, "%s\n%s\n\n", plaintext.Value(r.of.place()), plaintext.Value(text))
}

// tell prints what became of one, at once.
func (r *reapReport) tell(one operate.Removal) {
	if r.app.format == "json" {
		return
	}
	r.told[one.ID] = one.Outcome
	fmt.Fprintln(r.app.out, plaintext.Value(r.line(one)))
}

func (r *reapReport) line(one operate.Removal) string {
	return strings.TrimRight(fmt.Sprintf("%-13s  %-36s  %-9s  %-7s  %s", r.word(one), one.ID, one.State, ago(one.Age), labelWords(one.Labels)), " ")
}

func (r *reapReport) word(one operate.Removal) string {
	if r.dryRun {
		return "would delete"
	}
	return outcomeWords[one.Outcome]
}

var outcomeWords = map[operate.Outcome]string{
	operate.NotBegun: "not begun", operate.Asked: "not seen gone", operate.Refused: "not deleted", operate.Gone: "gone",
}
