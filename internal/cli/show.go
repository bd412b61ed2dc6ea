package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

const showLong = `show prints what a manifest demands, allows and asks, on one screen, with the answer
for each workload. It always ends with 0 when the manifest can be read; check is
the command that judges.

With --sandbox it shows a sandbox of a group on Azure instead, as the service says it
is: what it may reach rule by rule, who may come in, and whose it is. Values of the
environment, of headers and of arguments are never shown.`

func (a *app) showCommand() *cobra.Command {
	var facts []string
	var o azure
	var live string
	cmd := &cobra.Command{
		Use:   "show MANIFEST | show --sandbox ID --group NAME",
		Short: "The posture of a manifest, or of a sandbox on Azure, in words",
		Long:  showLong + "\n\n" + azureHelp + "\n\n" + azureExitHelp,
		Example: `  terraform output -raw manifest | sandboxctl show -
  sandboxctl show --sandbox 7b0c2f3e-1d5a-4f0e-9a51-2f6d0c1e8b44 --group agents`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case live == "" && !cmd.Flags().Changed("sandbox"):
				return one("MANIFEST: a file, or - for standard input; or --sandbox with an id")(cmd, args)
			case len(args) > 0:
				return badInput("give a manifest or --sandbox, not both\nsee %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.showSandbox(cmd.Context(), o, live)
			}
			return a.showManifest(args[0], facts)
		},
	}
	cmd.Flags().StringArrayVar(&facts, "facts", nil, "a backend's facts, in place of the shipped ones (repeatable)")
	cmd.Flags().StringVar(&live, "sandbox", "", "a sandbox of a group on Azure, by id")
	o.flags(cmd.Flags())
	a.formatFlag(cmd, "text", "json")
	return cmd
}

func (a *app) showManifest(name string, facts []string) error {
	book, err := a.readFactbook(facts)
	if err != nil {
		return err
	}
	b, err := a.readFile(name, manifest.MaxDocument)
	if err != nil {
		return err
	}
	m, err := openManifest(b, "")
	if err != nil {
		return inInput(name, err)
	}
	p := posture(m, manifest.DigestOf(b), book)
	if a.format == "json" {
		return a.printJSON(p)
	}
	_, err = fmt.Fprint(a.out, p.Text())
	return err
}

func posture(m manifest.Manifest, digest manifest.Digest, book factbook) show.Posture {
	decisions := map[string]sandbox.Decision{}
	answers, rows := decide(m, book)
	for _, d := range answers {
		decisions[d.Workload] = d.Decision
	}
	backends := map[string]show.BackendInPosture{}
	for _, row := range rows {
		if d, _, err := book.lookup(row.Backend, ""); err == nil {
			backends[row.Backend] = show.BackendInPosture{
				Isolation: d.Isolation.String(), Evidence: d.IsolationEvidence.Kind.String(), Facts: row.Source,
			}
		}
	}
	return show.Of(m, digest, decisions, backends)
}
