package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/operate"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func (a *app) imageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "The disk images of a group on Azure: list, import, and the catalogue",
		Long: `image is about what sandboxes on Azure are made from: the group's own disk images,
which are imported from registries, and the service's catalogue of prebuilt ones.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.imageLsCommand(), a.imageCatalogueCommand(), a.imageImportCommand())
	return cmd
}

func (a *app) imageLsCommand() *cobra.Command {
	var o azure
	var labels []string
	cmd := &cobra.Command{
		Use:   "ls --group NAME",
		Short: "The disk images of a group",
		Long: `ls lists the disk images of a group as they come, with the reference that each was
imported from.` + "\n\n" + azureHelp + "\n\n" + azureExitHelp,
		Example: "  sandboxctl image ls --group agents",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.imageLs(cmd.Context(), o, labels) },
	}
	o.flags(cmd.Flags())
	cmd.Flags().StringArrayVar(&labels, "label", nil, "only images with this label, KEY=VALUE (repeatable)")
	a.formatFlag(cmd, "text", "json")
	return cmd
}

// imageRow is a disk image in a list.
type imageRow struct {
	ID        string      `json:"id"`
	Name      string      `json:"name,omitempty"`
	Reference string      `json:"reference,omitempty"`
	State     string      `json:"state"`
	CreatedAt string      `json:"created_at,omitempty"`
	SizeMB    float64     `json:"size_mb,omitzero"`
	Ours      bool        `json:"ours"`
	Labels    wire.Labels `json:"labels"`
}

func imageRowOf(i wire.Image) imageRow {
	row := imageRow{
		ID: i.ID, Name: cmp.Or(i.Labels["name"], i.Name), Reference: i.Reference(), State: i.State(), SizeMB: i.SizeInMB,
		Ours: operate.Ours(i.Labels), Labels: i.Labels,
	}
	if row.Labels == nil {
		row.Labels = wire.Labels{}
	}
	if i.Status != nil {
		if at, err := time.Parse(time.RFC3339, i.Status.CreatedAt); err == nil {
			row.CreatedAt = at.UTC().Format(time.RFC3339)
		}
	}
	return row
}

func (r imageRow) line() string {
	whose := "not ours"
	if r.Ours {
		whose = "ours"
	}
	return strings.TrimRight(fmt.Sprintf("%-36s  %-9s  %-8s  %s", r.ID, cmp.Or(show.Clip(r.State, 24), "not said"), whose,
		cmp.Or(r.Reference, "not from a registry")), " ")
}

func (a *app) imageLs(ctx context.Context, o azure, labels []string) error {
	filter, err := labelFilter(labels)
	if err != nil {
		return err
	}
	r, closed, err := a.reach(ctx, o)
	if err != nil {
		return err
	}
	defer closed()
	list := newListing(a, r, "images")
	head := fmt.Sprintf("%-36s  %-9s  %-8s  %s", "disk image", "state", "whose", "reference")
	for image, err := range r.Images(ctx, filter) {
		if err != nil {
			return list.fail(advise(err, sandbox.CodeServiceNotFound, wrongGroup))
		}
		row := imageRowOf(image)
		if err := list.add(head, row.line, row); err != nil {
			return err
		}
	}
	return list.end("disk image", filter)
}

func (a *app) imageCatalogueCommand() *cobra.Command {
	var o azure
	cmd := &cobra.Command{
		Use:     "catalogue --group NAME [IMAGE]",
		Aliases: []string{"catalog"},
		Short:   "The service's prebuilt images, in the group's region",
		Long: `catalogue lists the prebuilt images that the service has in the group's region. The
version is part of a name; there are no tags. With a name it says whether that one is
there, and if not what is called nearly so.` + "\n\n" + azureHelp + "\n\n" + azureExitHelp,
		Example: `  sandboxctl image catalogue --group agents
  sandboxctl image catalogue --group agents python-3.13`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return badInput("give one name, or none\nsee %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.imageCatalogue(cmd.Context(), o, args) },
	}
	o.flags(cmd.Flags())
	a.formatFlag(cmd, "text", "json")
	return cmd
}

// prebuiltRow is one image of the catalogue.
type prebuiltRow struct {
	ID          string `json:"id,omitempty"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	State       string `json:"state,omitempty"`
}

// catalogue is the whole of it, which is short.
type catalogue struct {
	target

	Images []prebuiltRow `json:"images"`
}

func (a *app) imageCatalogue(ctx context.Context, o azure, args []string) error {
	r, closed, err := a.reach(ctx, o)
	if err != nil {
		return err
	}
	defer closed()
	c := catalogue{target: r.target(), Images: []prebuiltRow{}}
	for image, err := range r.PublicImages(ctx) {
		if err != nil {
			return advise(err, sandbox.CodeServiceNotFound, wrongGroup)
		}
		c.Images = append(c.Images, prebuiltRow{image.ID, image.Name, image.Description, image.State()})
	}
	slices.SortFunc(c.Images, func(a, b prebuiltRow) int { return strings.Compare(a.Name, b.Name) })
	if len(args) == 1 {
		if c.Images, err = find(c.Images, args[0]); err != nil {
			return err
		}
	}
	if a.format == "json" {
		return a.printJSON(c)
	}
	fmt.Fprintf(a.out, "%s\n\n", plaintext.Value(r.place()))
	for _, image := range c.Images {
		text := show.Pad(image.Name, 16) + "  " + image.Description
		if image.State != "" && !usable(image.State) {
			text += " (" + image.State + ")"
		}
		fmt.Fprintln(a.out, strings.TrimRight(plaintext.Value(text), " "))
	}
	if len(args) == 0 {
		fmt.Fprintf(a.out, "\n%s\n", show.Plural(len(c.Images), "prebuilt image"))
	}
	return nil
}

// find is the image of that name, or the refusal that names what there is.
func find(images []prebuiltRow, name string) ([]prebuiltRow, error) {
	var names []string
	for _, image := range images {
		if image.Name == name {
			return []prebuiltRow{image}, nil
		}
		names = append(names, image.Name)
	}
	f := sandbox.Finding{
		Code: sandbox.CodeServiceNotFound, Subject: "prebuilt image " + sandbox.Echo(name),
		Found: "no such name in the catalogue", Required: "one of " + wordsOrNone(names),
	}
	near, ok := facts.Nearest(name, names)
	switch {
	case len(names) == 0:
		f.Found, f.Required = "an empty catalogue", "a group in a region that has one"
	case ok:
		f.Remedy = "did you mean " + near + "?"
	case strings.ContainsAny(name, ":/"):
		f.Remedy = "a reference with a registry or a tag is no prebuilt image; sandboxctl image import makes a disk image of it"
	}
	return nil, f.Refusal(errors.New("the version is part of a name, and there are no tags"))
}
