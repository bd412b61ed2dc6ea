package provider

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/unfinished"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func newSecretResource() resource.Resource {
	return &remoteResource[secretModel]{kind: secretKind{}}
}

// secretKind is a secret of a group. Its values are sent and never asked for.
type secretKind struct{}

var (
	_ objectKind[secretModel]   = secretKind{}
	_ configReader[secretModel] = secretKind{}
)

func (secretKind) name() string            { return "secret" }
func (secretKind) describe() schema.Schema { return secretSchema() }

func (secretKind) header(m *secretModel) header {
	return header{id: m.ID, timeouts: m.Timeouts, group: groupOf(m.Group), imported: m.Group.IsNull()}
}

func (secretKind) limits() deadlines {
	return deadlines{create: 5 * time.Minute, read: 5 * time.Minute, update: 5 * time.Minute, remove: 5 * time.Minute}
}

func (secretKind) filed(m *secretModel) string { return m.ID.ValueString() }

// create puts the values. A secret carries no mark: it is an earlier creation's when
// the service dates it within that creation's time.
func (k secretKind) create(ctx context.Context, h *home, plan, config *secretModel, a *attempt) (bool, error) {
	values, err := plan.values(config)
	if err != nil {
		return false, err
	}
	group, err := h.group(ctx, *groupOf(plan.Group))
	if err != nil {
		return false, err
	}
	name := plan.Name.ValueString()
	switch secret, there, err := findSecret(ctx, group, name); {
	case err != nil:
		return false, err
	case !there:
		a.since, _ = group.ServiceTime()
		a.begin(ctx)
	case !a.resumes(ctx, dated(secret.CreatedAt, k.limits().create)):
		return false, &existsError{
			kind: "secret", id: plan.ID.ValueString(), object: "secret " + sandbox.Echo(name), at: sandbox.Path("name"),
			hint: "After the import the values written here replace what is there",
		}
	}
	_, err = group.PutSecret(ctx, name, values)
	made := err == nil || a.afterwards(ctx, err, func(ctx context.Context) error { _, err := group.SecretKeys(ctx, name); return err })
	plan.settle()
	return made, err
}

func findSecret(ctx context.Context, group *acasapi.Group, name string) (wire.Secret, bool, error) {
	for secret, err := range group.Secrets(ctx) {
		if err != nil || secret.ID == name {
			return secret, err == nil, err
		}
	}
	return wire.Secret{}, false, nil
}

// dated is the proof of an object that carries no mark: it was made while the creation
// ran, by the service's clock.
func dated(createdAt string, limit time.Duration) func(unfinished.Creation) bool {
	at, err := time.Parse(time.RFC3339, createdAt)
	return func(c unfinished.Creation) bool {
		return err == nil && !c.Begun.IsZero() && !at.Before(c.Begun) && !at.After(c.Begun.Add(limit))
	}
}

// read compares the names inside, which is all that may be known of the values
// without the right to see them.
func (secretKind) read(ctx context.Context, h *home, m *secretModel) error {
	group, err := h.group(ctx, *groupOf(m.Group))
	if err != nil {
		return err
	}
	keys, err := group.SecretKeys(ctx, m.Name.ValueString())
	if err != nil {
		return err
	}
	m.take(keys)
	return nil
}

func (secretKind) listed(ctx context.Context, h *home, m *secretModel) (bool, error) {
	group, err := h.group(ctx, *groupOf(m.Group))
	if err != nil {
		return false, err
	}
	_, there, err := findSecret(ctx, group, m.Name.ValueString())
	return there, err
}

// update replaces the whole: the service keeps no value that is not sent.
func (secretKind) update(ctx context.Context, h *home, prior, plan, config *secretModel, _ acasapi.Wait) error {
	defer plan.settle()
	if prior.Values.Equal(plan.Values) && prior.Version.Equal(plan.Version) && prior.Keys.Equal(plan.Keys) {
		return nil
	}
	values, err := plan.values(config)
	if err != nil {
		return err
	}
	group, err := h.group(ctx, *groupOf(plan.Group))
	if err != nil {
		return err
	}
	_, err = group.PutSecret(ctx, plan.Name.ValueString(), values)
	return err
}

func (secretKind) remove(ctx context.Context, h *home, m *secretModel, _ acasapi.Wait) error {
	group, err := h.group(ctx, *groupOf(m.Group))
	if err != nil {
		return err
	}
	err = group.DeleteSecret(ctx, m.Name.ValueString())
	if errors.Is(err, sandbox.CodeServiceNotFound) {
		return nil
	}
	return err
}

func (secretKind) locate(m *secretModel, id string) error {
	group, name, err := splitChild(id, "secrets", "secret")
	if err != nil {
		return err
	}
	m.Group, m.Name, m.ID = group, types.StringValue(name), childID(group, "secrets", name)
	return nil
}
