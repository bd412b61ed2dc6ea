package adopt

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// Inventory is a group and all that is in it. Values of secrets are never read.
type Inventory struct {
	ID    acasapi.GroupID
	Group wire.Group

	Images    []wire.Image
	Volumes   []wire.Volume
	Secrets   []SecretNames
	Snapshots []wire.Snapshot
	Networks  []wire.VNetConnection

	// What no resource is written for.
	Sandboxes                []wire.Sandbox
	Policies                 []wire.NamedEgressPolicy
	Connections, Credentials []string
	Packages                 []string
	// Unlisted says of kinds of objects why it is not known whether there are any.
	Unlisted map[string]string
}

// SecretNames is a secret without its values.
type SecretNames struct {
	ID   string
	Keys []string
}

// Service is what is asked.
type Service struct {
	Client *acasapi.Client
	Group  *acasapi.Group
	// Newer is the same group spoken to in the service's newer version, which alone
	// lists some kinds of objects; nil where it cannot be.
	Newer *acasapi.Group
}

// The kinds of objects that only comments tell of.
const (
	kindSandbox    = "sandbox"
	kindPolicy     = "egress policy of the group"
	kindConnection = "connection"
	kindCredential = "credential"
	kindPackage    = "content package"
	kindSetting    = "setting of the group"
)

// Read looks at everything in the group. What a resource could be written for has to
// be readable; of everything else the inventory says what could not be listed.
func Read(ctx context.Context, s Service) (*Inventory, error) {
	id := s.Group.ID()
	group, err := s.Client.GetGroup(ctx, id)
	if err != nil {
		return nil, err
	}
	in := &Inventory{ID: spelled(id, group.ID), Group: group, Unlisted: map[string]string{}}
	if in.Images, err = all(s.Group.Images(ctx, nil)); err != nil {
		return nil, fmt.Errorf("list the disk images: %w", err)
	}
	if in.Volumes, err = all(s.Group.Volumes(ctx, nil)); err != nil {
		return nil, fmt.Errorf("list the volumes: %w", err)
	}
	if in.Snapshots, err = all(s.Group.Snapshots(ctx, nil)); err != nil {
		return nil, fmt.Errorf("list the snapshots: %w", err)
	}
	if in.Networks, err = all(s.Client.ListVNetConnections(ctx, id)); err != nil {
		return nil, fmt.Errorf("list the network connections: %w", err)
	}
	if in.Secrets, err = secrets(ctx, s.Group); err != nil {
		return nil, err
	}
	in.besides(ctx, s)
	return in, ctx.Err()
}

// spelled is the group's id as the service spells it, where it means the same.
func spelled(asked acasapi.GroupID, said string) acasapi.GroupID {
	if id, err := acasapi.ParseGroupID(said); err == nil && strings.EqualFold(id.String(), asked.String()) {
		return id
	}
	return asked
}

func secrets(ctx context.Context, g *acasapi.Group) ([]SecretNames, error) {
	listed, err := all(g.Secrets(ctx))
	if err != nil {
		return nil, fmt.Errorf("list the secrets: %w", err)
	}
	names := make([]SecretNames, len(listed))
	for i, secret := range listed {
		names[i].ID = secret.ID
		if !acasapi.IsSecretName(secret.ID) {
			continue // it cannot be asked about, and is left
		}
		if names[i].Keys, err = g.SecretKeys(ctx, secret.ID); err != nil {
			return nil, fmt.Errorf("list the names in secret %q: %w", secret.ID, err)
		}
	}
	return names, nil
}

// besides lists what no resource is written for.
func (in *Inventory) besides(ctx context.Context, s Service) {
	in.Sandboxes = tried(in, kindSandbox, s.Group.Sandboxes(ctx, nil))
	in.Connections = names(tried(in, kindConnection, s.Group.Connections(ctx)))
	if s.Newer == nil {
		for _, kind := range []string{kindPolicy, kindCredential, kindPackage} {
			in.Unlisted[kind] = "only the service's newer version lists them"
		}
		return
	}
	in.Policies = tried(in, kindPolicy, s.Newer.EgressPolicies(ctx))
	in.Credentials = names(tried(in, kindCredential, s.Newer.Credentials(ctx)))
	for _, p := range tried(in, kindPackage, s.Newer.Packages(ctx, nil)) {
		in.Packages = append(in.Packages, p.ID)
	}
}

// all is a whole list, or what broke it off.
func all[T any](items iter.Seq2[T, error]) ([]T, error) {
	var list []T
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, nil
}

// tried is a list as far as the service gives it.
func tried[T any](in *Inventory, kind string, items iter.Seq2[T, error]) []T {
	list, err := all(items)
	if err != nil {
		in.Unlisted[kind] = err.Error()
	}
	return list
}

// names are what documents call themselves. They may hold secrets, so nothing else of
// them is kept.
func names(documents []wire.Document) []string {
	list := make([]string, len(documents))
	for i, doc := range documents {
		for _, member := range []string{"id", "name"} {
			var text string
			if raw, ok := doc[member]; ok && list[i] == "" && wire.Decode(raw, &text) == nil {
				list[i] = text
			}
		}
	}
	return list
}
