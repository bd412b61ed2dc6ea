package acasapi

import (
	"context"
	"iter"
	"maps"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func (g *Group) secret(op wire.Op, id string) (call, error) {
	c := g.on(op, "secret", wire.SegSecret, id)
	if !IsSecretName(id) {
		return call{}, refusal(sandbox.CodeInvalidText, "secret", sandbox.Echo(id), "3 to 64 letters, digits and hyphens", "")
	}
	return c, nil
}

// PutSecret makes a secret, or replaces the whole of the one of that id. The values
// appear in no error.
func (g *Group) PutSecret(ctx context.Context, id string, values map[string]string) (wire.Secret, error) {
	c, err := g.secret(wire.SecretPut, id)
	if err != nil {
		return wire.Secret{}, err
	}
	sent := make(map[string]string, len(values))
	maps.Copy(sent, values)
	c.body = wire.SecretValues{Values: &sent}
	return ask(ctx, g.plane, c, (*wire.Secret).Check)
}

// Secrets gives the group's secrets, without their values.
func (g *Group) Secrets(ctx context.Context) iter.Seq2[wire.Secret, error] {
	return listing[wire.Secret]{
		call: g.call(wire.SecretList), key: "secrets", numbered: false, check: (*wire.Secret).Check,
		id: func(s *wire.Secret) string { return s.ID },
	}.all(ctx, g.plane)
}

// SecretKeys gives the names inside a secret.
func (g *Group) SecretKeys(ctx context.Context, id string) ([]string, error) {
	c, err := g.secret(wire.SecretKeys, id)
	if err != nil {
		return nil, err
	}
	keys, err := ask(ctx, g.plane, c, (*wire.SecretKeyList).Check)
	if err != nil {
		return nil, err
	}
	return *keys.Keys, nil
}

// PeekSecret gives a secret in clear. It needs a permission of its own.
func (g *Group) PeekSecret(ctx context.Context, id string) (map[string]string, error) {
	c, err := g.secret(wire.SecretPeek, id)
	if err != nil {
		return nil, err
	}
	values, err := ask(ctx, g.plane, c, (*wire.SecretValues).Check)
	if err != nil {
		return nil, err
	}
	return *values.Values, nil
}

// DeleteSecret removes a secret. One that does not exist is success.
func (g *Group) DeleteSecret(ctx context.Context, id string) error {
	c, err := g.secret(wire.SecretDelete, id)
	if err != nil {
		return err
	}
	return gone(g.do(ctx, c))
}
