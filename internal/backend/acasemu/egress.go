package acasemu

import (
	"context"
	"net/http"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

// checkEgress is what the service holds a policy to.
func checkEgress(p *wire.EgressPolicy) error {
	if p == nil {
		return nil
	}
	if !slices.Contains([]string{"", wire.EgressAllow, wire.EgressDeny}, p.DefaultAction) {
		return invalid("defaultAction is Allow or Deny")
	}
	if !slices.Contains([]string{"", wire.InspectFull, wire.InspectPartial, wire.InspectNone, wire.InspectLegacy}, p.TrafficInspection) {
		return invalid("trafficInspection is Full, Partial, None or Legacy")
	}
	for i, r := range p.HostRules {
		if r.Pattern == "" || !slices.Contains([]string{wire.EgressAllow, wire.EgressDeny}, r.Action) {
			return invalid("hostRules[%d] has a pattern, and Allow or Deny as its action", i)
		}
	}
	for i, r := range p.Rules {
		if !slices.Contains([]string{wire.EgressAllow, wire.EgressDeny, wire.EgressTransform, wire.EgressRewrite}, r.Action.Type) {
			return invalid("rules[%d].action.type is Allow, Deny, Transform or Rewrite", i)
		}
		for j, h := range r.Action.Headers {
			if h.Name == "" || !slices.Contains([]string{"Set", "Insert", "Remove"}, h.Operation) {
				return invalid("rules[%d].action.headers[%d] has a name, and Set, Insert or Remove as its operation", i, j)
			}
		}
	}
	return nil
}

// policyOf is the policy that a create asks for: its own, or one of the group's by
// id.
func (e *Emulator) policyOf(tx *store.Tx, c *call, b *wire.CreateSandbox) (*wire.EgressPolicy, error) {
	if b.EgressPolicyID == "" {
		return b.EgressPolicy, nil
	}
	r, exists, err := store.Get[policyRecord](tx, kindPolicy, append(c.groupKey(), b.EgressPolicyID))
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, refuse(http.StatusNotFound, "EgressPolicyNotFound", "the group has no egress policy of that id")
	}
	var policy wire.EgressPolicy
	return &policy, tx.Unseal(purposeEgress, r.Policy, &policy)
}

// egressFor is what a guest may reach. Secrets are read when a request needs them,
// as they are then.
func (e *Emulator) egressFor(c *call, policy *wire.EgressPolicy) Egress {
	group := c.groupKey()
	return Egress{Policy: policy, Secret: func(ctx context.Context, id, key string) (string, error) {
		var values map[string]string
		err := e.store.View(ctx, func(tx *store.Tx) error {
			r, exists, err := store.Get[secretRecord](tx, kindSecret, append(slices.Clip(group), id))
			if err != nil || !exists {
				return err
			}
			return tx.Unseal(purposeSecret, r.Values, &values)
		})
		if err != nil {
			return "", err
		}
		value, ok := values[key]
		if !ok {
			return "", refuse(http.StatusNotFound, "SecretNotFound", "there is no such secret")
		}
		return value, nil
	}}
}

// egressSet replaces the whole policy of a running sandbox.
func (e *Emulator) egressSet(ctx context.Context, c *call) (answer, error) {
	var body wire.EgressPolicy
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	wire.Known(&body)
	body.HTTP = nil
	if err := checkEgress(&body); err != nil {
		return answer{}, err
	}
	f, err := e.change(ctx, c, false, func(tx *store.Tx, f *found) (err error) {
		s := &f.sandbox
		if !wire.SameState(s.Doc.State, wire.StateRunning) {
			return notRunning(s.Doc.ID, wire.TitleNotRunningEgress)
		}
		s.Doc.EgressPolicyID = ""
		s.Egress, err = tx.Seal(purposeEgress, body)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	id := f.sandbox.Doc.ID
	if err := e.cfg.Guests.SetEgress(ctx, id, e.egressFor(c, &body)); err != nil {
		return answer{}, e.guestFailure(ctx, c, id, err)
	}
	return ok(echoed(body))
}

func (e *Emulator) egressDecisions(ctx context.Context, c *call) (answer, error) {
	f, err := e.sandbox(ctx, c)
	if err != nil {
		return answer{}, err
	}
	log, err := e.cfg.Guests.Decisions(ctx, f.sandbox.Doc.ID)
	if err != nil {
		return answer{}, e.guestFailure(ctx, c, f.sandbox.Doc.ID, err)
	}
	log.Allowed, log.Denied = lastFifty(log.Allowed), lastFifty(log.Denied)
	doc := wire.Decisions{LastUpdated: stamp(c.now)}
	if c.version == wire.V0901 {
		doc.HTTP = &log
	} else {
		doc.NetworkEgress = &log
	}
	return ok(doc)
}

func lastFifty(all []wire.DecisionEntry) []wire.DecisionEntry {
	return append([]wire.DecisionEntry{}, all[max(0, len(all)-50):]...)
}

func (c *call) policyKey() store.Key { return append(c.groupKey(), c.seg[wire.SegPolicy]) }

func (e *Emulator) policyPut(ctx context.Context, c *call) (answer, error) {
	var body wire.NamedEgressPolicy
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	wire.Known(&body)
	if err := checkEgress(&body.EgressPolicy); err != nil {
		return answer{}, err
	}
	body.ID, body.HTTP = c.seg[wire.SegPolicy], nil
	status := http.StatusOK
	err := e.store.Update(ctx, func(tx *store.Tx) error {
		if _, err := e.dataGroup(tx, c); err != nil {
			return err
		}
		r, exists, err := store.Get[policyRecord](tx, kindPolicy, c.policyKey())
		if err != nil {
			return err
		}
		if status = http.StatusOK; !exists {
			status = http.StatusCreated
			r = policyRecord{ID: body.ID}
			if r.Seq, err = tx.Next(); err != nil {
				return err
			}
		}
		if r.Policy, err = tx.Seal(purposeEgress, body.EgressPolicy); err != nil {
			return err
		}
		return store.Put(tx, kindPolicy, c.policyKey(), r)
	})
	if err != nil {
		return answer{}, err
	}
	return answer{status: status, doc: body}, nil
}

func readPolicy(tx *store.Tx, r *policyRecord) (wire.NamedEgressPolicy, error) {
	doc := wire.NamedEgressPolicy{ID: r.ID}
	return doc, tx.Unseal(purposeEgress, r.Policy, &doc.EgressPolicy)
}

func (e *Emulator) policyGet(ctx context.Context, c *call) (answer, error) {
	return one(ctx, e, c, kindPolicy, c.policyKey(), "EgressPolicyNotFound", readPolicy)
}

func (e *Emulator) policyList(ctx context.Context, c *call) (answer, error) {
	all, err := every(ctx, e, c, kindPolicy, func(r *policyRecord) uint64 { return r.Seq }, readPolicy)
	if err != nil {
		return answer{}, err
	}
	return ok(wire.EgressPolicyDocument{EgressPolicies: all})
}

func (e *Emulator) policyDelete(ctx context.Context, c *call) (answer, error) {
	return e.removeOne(ctx, c, kindPolicy, c.policyKey(), "EgressPolicyNotFound")
}
