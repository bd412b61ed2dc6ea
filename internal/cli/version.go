package cli

import (
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// build is what this binary is made of.
type build struct {
	Version   string            `json:"version"`
	Go        string            `json:"go"`
	Platform  string            `json:"platform"`
	Documents string            `json:"documents"`
	Backends  []string          `json:"backends"`
	Guests    map[string]string `json:"guests"`
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "What this binary is, and the digests of the guests in it",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := build{
				Version: a.env.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
				Documents: manifest.APIVersion, Backends: slices.Sorted(maps.Keys(a.env.Backends)), Guests: a.env.Guests,
			}
			if asJSON || a.format == "json" {
				return a.printJSON(b)
			}
			page := show.NewPage(0, 12)
			page.Row("sandboxctl", b.Version)
			page.Row("documents", b.Documents)
			page.Row("built with", b.Go+" for "+b.Platform)
			page.Row("runs", wordsOrNone(b.Backends))
			for _, name := range slices.Sorted(maps.Keys(b.Guests)) {
				page.Row("guest", name+" "+b.Guests[name])
			}
			_, err := fmt.Fprint(a.out, page.String())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	a.formatFlag(cmd, "text", "json")
	return cmd
}
