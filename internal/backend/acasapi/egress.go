package acasapi

import (
	"context"
	"errors"
	"iter"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// SetEgress replaces the whole of what the sandbox may reach, and gives what the
// service says holds now. The sandbox must run. Read it back with [Sandbox.Egress]
// before relying on it.
func (s *Sandbox) SetEgress(ctx context.Context, policy wire.EgressPolicy) (wire.EgressPolicy, error) {
	policy.HTTP, policy.ValidationWarnings = nil, nil
	c := s.call(wire.EgressSet)
	c.body = policy
	return ask(ctx, s.plane(), c, checkEgress)
}

func checkEgress(p *wire.EgressPolicy) error {
	if p.DefaultAction == "" {
		return errors.New("an egress policy without defaultAction")
	}
	return nil
}

// Egress is what the sandbox may reach, as the service shows it, and what in it this
// client does not know. No policy at all means that it may reach everything. A policy
// with anything unknown in it cannot be compared with another.
func (s *Sandbox) Egress(ctx context.Context) (policy *wire.EgressPolicy, unknown []string, err error) {
	doc, err := s.Get(ctx)
	if err != nil || doc.EgressPolicy == nil {
		return nil, nil, err
	}
	return doc.EgressPolicy, wire.Unknown(doc.EgressPolicy), nil
}

// EgressDecisions is the log of what the sandbox's requests were answered. It lags.
func (s *Sandbox) EgressDecisions(ctx context.Context) (wire.DecisionLog, error) {
	decisions, err := ask(ctx, s.plane(), s.call(wire.EgressDecisions), func(d *wire.Decisions) error {
		if d.NetworkEgress == nil && d.HTTP == nil {
			return errors.New("a decision log without decisions")
		}
		return nil
	})
	return decisions.Log(), err
}

func (g *Group) egressPolicy(op wire.Op, id string) (call, error) {
	return g.on(op, "egress policy", wire.SegPolicy, id), checkID("egress policy", id)
}

// PutEgressPolicy makes or replaces a policy of the group, in the newer version of
// the service.
func (g *Group) PutEgressPolicy(ctx context.Context, id string, policy wire.EgressPolicy) (wire.NamedEgressPolicy, error) {
	c, err := g.egressPolicy(wire.EgressPolicyPut, id)
	if err != nil {
		return wire.NamedEgressPolicy{}, err
	}
	c.body = policy
	return ask[wire.NamedEgressPolicy](ctx, g.plane, c, nil)
}

// EgressPolicy reads a policy of the group.
func (g *Group) EgressPolicy(ctx context.Context, id string) (wire.NamedEgressPolicy, error) {
	c, err := g.egressPolicy(wire.EgressPolicyGet, id)
	if err != nil {
		return wire.NamedEgressPolicy{}, err
	}
	return ask[wire.NamedEgressPolicy](ctx, g.plane, c, nil)
}

// EgressPolicies gives the group's policies.
func (g *Group) EgressPolicies(ctx context.Context) iter.Seq2[wire.NamedEgressPolicy, error] {
	return listing[wire.NamedEgressPolicy]{
		call: g.call(wire.EgressPolicyList), key: "egressPolicies",
		check: func(p *wire.NamedEgressPolicy) error {
			if p.ID == "" {
				return errors.New("an egress policy without id")
			}
			return nil
		},
		id: func(p *wire.NamedEgressPolicy) string { return p.ID },
	}.all(ctx, g.plane)
}

// DeleteEgressPolicy removes a policy of the group. One that does not exist is
// success.
func (g *Group) DeleteEgressPolicy(ctx context.Context, id string) error {
	c, err := g.egressPolicy(wire.EgressPolicyDelete, id)
	if err != nil {
		return err
	}
	return gone(g.do(ctx, c))
}
