package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/adopt"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const adoptLong = `import writes HCL for what exists already: a resource for each object, with the block
that imports it. A plan with it imports everything and changes nothing.

--from-group reads a group of Azure Container Apps Sandboxes and everything in it.
--from-aca reads a state of the provider Azure/aca, as terraform show -json prints it,
and asks nobody; its file lets go of the old resources, too, and deletes none.

Values of secrets are neither read nor written: a variable asks for them, and they are
sent when the line is removed that keeps them. What no resource can be written for
stands in the file as a comment, and is told.

The file goes to standard output, and what there is to know to standard error; with
--out the file goes there, and the rest to standard output. No file is overwritten
without --force. The same objects give the same bytes.`

const adoptExitHelp = `Exit codes:
  0    the file is written
  1    not there, or not permitted by the endpoint, the sign-in or the service; with
       --strict also: there is no resource for something, and the file is written
  2    there is no answer: bad input, a file that is there already, or the service
       gave none
  130  interrupted`

// importOptions are the flags of import.
type importOptions struct {
	azure

	fromACA, out  string
	force, strict bool
}

func (a *app) importCommand() *cobra.Command {
	o := importOptions{azure: azure{groupFlag: "from-group"}}
	cmd := &cobra.Command{
		Use:   "import (--from-group GROUP | --from-aca STATE)",
		Short: "Write HCL with import blocks for what exists already",
		Long:  adoptLong + "\n\n" + strings.ReplaceAll(azureHelp, "--group", "--from-group") + "\n\n" + adoptExitHelp,
		Example: `  sandboxctl import --from-group agents --resource-group rg-agents --out agents.tf
  terraform show -json | sandboxctl import --from-aca - --out sandbox.tf`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.importObjects(cmd.Context(), o) },
	}
	o.flags(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&o.fromACA, "from-aca", "", "a state of the provider Azure/aca, or - for standard input")
	flags.StringVar(&o.out, "out", "", "write the HCL to this file")
	flags.BoolVar(&o.force, "force", false, "overwrite the file that --out names")
	flags.BoolVar(&o.strict, "strict", false, "exit 1 where there is no resource for something")
	a.formatFlag(cmd, "hcl", "json")
	return cmd
}

// importObjects writes the file, and then tells what is in it.
func (a *app) importObjects(ctx context.Context, o importOptions) error {
	switch {
	case (o.group == "") == (o.fromACA == ""):
		return badInput("say what to import: --from-group GROUP or --from-aca STATE, one of them")
	case o.fromACA != "" && o.azure != (azure{groupFlag: o.groupFlag}):
		return badInput("--from-aca reads a file and asks nobody: leave out the flags of a group")
	case o.force && o.out == "":
		return badInput("--force is about the file of --out, which is not given")
	}
	if o.out != "" && !o.force && exists(o.out) {
		return fileExists(o.out)
	}
	report := importReport{app: a, file: o.out}
	var err error
	if o.fromACA != "" {
		report.adoption, err = a.adoptACA(o.fromACA)
	} else {
		err = a.adoptGroup(ctx, o.azure, &report)
	}
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := createFile(o.out, report.adoption.HCL, o.force); err != nil {
			return err
		}
	}
	if err := report.print(); err != nil {
		return err
	}
	if o.strict && len(report.adoption.Left) > 0 {
		return &exit{code: ExitRefused}
	}
	return nil
}

// maxState bounds a state that is read.
const maxState = 64 << 20

func (a *app) adoptACA(file string) (*adopt.Adoption, error) {
	b, err := a.readFile(file, maxState)
	if err != nil {
		return nil, err
	}
	adoption, err := adopt.FromACA(b)
	if err != nil {
		return nil, &exit{ExitBadInput, inInput(file, err)}
	}
	return adoption, nil
}

// adoptGroup reads the group. What only the newer version of the service lists is
// asked of that.
func (a *app) adoptGroup(ctx context.Context, o azure, report *importReport) error {
	r, closed, err := a.reach(ctx, o)
	if err != nil {
		return err
	}
	defer closed()
	service := adopt.Service{Client: r.client, Group: r.Group}
	o.version = wire.V0901
	if o.location == "" {
		o.location = r.location
	}
	newer, closedNewer, err := a.reach(ctx, o)
	if err != nil {
		return err
	}
	defer closedNewer()
	service.Newer = newer.Group
	inventory, err := adopt.Read(ctx, service)
	if err != nil {
		return advise(err, sandbox.CodeServiceNotFound, strings.ReplaceAll(wrongGroup, "--group", "--from-group"))
	}
	report.adoption, report.of = adopt.FromGroup(inventory), r
	return nil
}

// fileExists refuses to write over a file.
func fileExists(name string) error {
	return &exit{ExitBadInput, fmt.Errorf("%s is there already: choose another file, or overwrite it with --force", sandbox.Echo(name))}
}
