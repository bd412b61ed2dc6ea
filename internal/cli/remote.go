package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// Remote is a sandbox group on Azure, and how it is reached.
type Remote struct {
	Group   acasapi.GroupID
	Service acasapi.Config
	// NoIdentity is the caller's word that the group has no identity.
	NoIdentity bool
}

// remote is how a command reaches the group of a backend that has one.
type remote struct {
	azure

	noIdentity bool
}

// remoteHelp is what the help of each such command says of them.
const remoteHelp = `Backend acas makes its sandboxes in a sandbox group. It is named and reached as by
"sandboxctl ls", whose help tells of the flags and variables; an emulator is said to
be one, with --emulator.`

// remoteFlags adds the flags of backends that make their sandboxes in a group.
func (a *app) remoteFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	a.remote.flags(flags)
	flags.BoolVar(&a.remote.noIdentity, "group-has-no-identity", false, "vouch that the group has no identity, where you may not read it")
}

// reaching gives a backend that makes its sandboxes in a group the way there. Other
// backends are as they were, and take no flag about a group. where is the group, for
// people. group, of a manifest that was accepted, is taken where no flag names one;
// the endpoint is never a manifest's to say.
func (a *app) reaching(ctx context.Context, name string, b Backend, group *manifest.Group) (reached Backend, where string, err error) {
	if b.Reach == nil {
		if a.remote != (remote{}) {
			return b, "", badInput("backend %s has no sandbox group: leave out --group and what belongs to it", sandbox.Echo(name))
		}
		return b, "", nil
	}
	o := a.remote.azure
	if o.group == "" && o.subscription == "" && o.resourceGroup == "" && group != nil {
		o.group, o.location = group.ID, cmp.Or(o.location, group.Location)
	}
	r, closed, err := a.reach(ctx, o)
	if err != nil {
		return b, "", err
	}
	closed()
	return b.Reach(Remote{r.ID(), r.config, a.remote.noIdentity}), r.place(), nil
}

// groupOf is the group of a manifest that is accepted.
func (in run) groupOf() *manifest.Group {
	if m, err := manifest.Parse(in.document); err == nil && slices.Contains(in.accept, manifest.DigestOf(in.document)) {
		return m.Group
	}
	return nil
}

// remoteDeclarations are what a backend with a group declares: as it is reached where
// flags say how, and what the service itself promises where none do.
func (a *app) remoteDeclarations(ctx context.Context, name string, b Backend) (sandbox.Declarations, string, error) {
	if a.remote == (remote{}) {
		d, err := facts.Lookup(name)
		return d, shippedFacts, err
	}
	reached, where, err := a.reaching(ctx, name, b, nil)
	if err != nil {
		return sandbox.Declarations{}, "", err
	}
	d, err := reached.Probe(ctx)
	return d, where, err
}
