package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/explain"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

const diffLong = `diff says what NEW permits that OLD did not, and the other way round: for each policy
and workload, and for each axis, whether it is widened, narrowed, equal or
incomparable, with one concrete thing that became possible.

OLD and NEW are two manifests, two policies or two workloads, as Terraform writes
them. Take OLD from where the change under review cannot reach: a trusted branch, or
what hosts run now. Both are read for what they permit; whether a backend can keep
it is what check judges.`

func (a *app) diffCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "What a document permits that an earlier one did not",
		Long:  diffLong + "\n\n" + diffExitHelp,
		Example: `  sandboxctl diff deployed.json manifest.json
  git show main:manifest.json | sandboxctl diff - manifest.json --format markdown`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 2:
				return badInput("give OLD and NEW: two documents, one of them - for standard input\nsee %s --help", cmd.CommandPath())
			case args[0] == "-" && args[1] == "-":
				return badInput("OLD and NEW cannot both be standard input")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := a.diff(args[0], args[1])
			if err != nil {
				return err
			}
			switch a.format {
			case "json":
				err = a.printJSON(d)
			case "markdown":
				_, err = fmt.Fprint(a.out, d.Markdown())
			default:
				_, err = fmt.Fprint(a.out, d.Text())
			}
			if err == nil && d.Widened {
				err = &exit{code: ExitWidened}
			}
			return err
		},
	}
	a.formatFlag(cmd, "text", "markdown", "json")
	return cmd
}

func (a *app) diff(earlier, later string) (explain.Difference, error) {
	before, err := a.readDocument(earlier)
	if err != nil {
		return explain.Difference{}, err
	}
	after, err := a.readDocument(later)
	if err != nil {
		return explain.Difference{}, err
	}
	d, err := explain.Compare(before, after)
	if err != nil {
		return d, badInput("%s and %s are %w", sandbox.Echo(earlier), sandbox.Echo(later), err)
	}
	return d, nil
}

func (a *app) readDocument(name string) (explain.Document, error) {
	b, err := a.readFile(name, manifest.MaxDocument)
	if err != nil {
		return explain.Document{}, err
	}
	if err := noPlan(b); err != nil {
		return explain.Document{}, badInput("%s: %w", sandbox.Echo(name), err)
	}
	d, err := explain.Read(b)
	switch {
	case errors.Is(err, explain.ErrSort):
		return d, badInput("%s: %w", sandbox.Echo(name), err)
	case err != nil:
		return d, inInput(name, &exit{ExitBadInput, err})
	}
	return d, nil
}
