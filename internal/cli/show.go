package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

func (a *app) showCommand() *cobra.Command {
	var facts []string
	cmd := &cobra.Command{
		Use:   "show MANIFEST",
		Short: "The posture of a manifest in words",
		Long: `show prints what a manifest demands, allows and asks, on one screen, with the answer
for each workload. It always ends with 0 when the manifest can be read; check is
the command that judges.`,
		Example: "  terraform output -raw manifest | sandboxctl show -",
		Args:    one("MANIFEST: a file, or - for standard input"),
		RunE: func(_ *cobra.Command, args []string) error {
			book, err := a.readFactbook(facts)
			if err != nil {
				return err
			}
			b, err := a.readFile(args[0], manifest.MaxDocument)
			if err != nil {
				return err
			}
			m, err := openManifest(b, "")
			if err != nil {
				return inInput(args[0], err)
			}
			p := posture(m, manifest.DigestOf(b), book)
			if a.format == "json" {
				return a.printJSON(p)
			}
			_, err = fmt.Fprint(a.out, p.Text())
			return err
		},
	}
	cmd.Flags().StringArrayVar(&facts, "facts", nil, "a backend's facts, in place of the shipped ones (repeatable)")
	a.formatFlag(cmd, "text", "json")
	return cmd
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
