package adopt

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/operate"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasegress"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/translate"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const (
	whySandbox = "hosts make them from workloads and delete them; sandboxctl ls, show and reap are for those that are there"
	whyPolicy  = "rules belong to a sandbox_policy or a workload, which each sandbox is given; the lines say the same, to begin from"
)

// besides tells of what no resource is written for.
func (d *draft) besides(in *Inventory) {
	for _, s := range ordered(in.Sandboxes, func(s wire.Sandbox) string { return s.ID }, func(wire.Sandbox) string { return "" }) {
		d.leave(Left{Kind: kindSandbox, Name: s.ID, What: sandboxText(s), Why: whySandbox})
	}
	for _, p := range ordered(in.Policies, func(p wire.NamedEgressPolicy) string { return p.ID }, func(wire.NamedEgressPolicy) string { return "" }) {
		d.leave(Left{Kind: kindPolicy, Name: p.ID, What: policyText(&p.EgressPolicy), Why: whyPolicy, instead: policyHCL(p.ID, &p.EgressPolicy)})
	}
	for _, other := range []struct {
		kind string
		ids  []string
	}{{kindConnection, in.Connections}, {kindCredential, in.Credentials}, {kindPackage, in.Packages}} {
		for _, id := range slices.Sorted(slices.Values(other.ids)) {
			d.leave(Left{Kind: other.kind, Name: id, Why: "this provider neither makes nor changes them"})
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(in.Unlisted)) {
		d.leave(Left{Kind: kind, Name: "unknown", What: in.Unlisted[kind], Why: "whether the group has any could not be found out"})
	}
}

// sandboxText is a sandbox in a line: its state, whose it is and what it reaches.
func sandboxText(s wire.Sandbox) string {
	whose := "not ours"
	if operate.Ours(s.Labels) {
		whose = "ours"
	}
	return s.State + ", " + whose + ", egress " + egressText(acasegress.ReadSandbox(s))
}

func policyText(p *wire.EgressPolicy) string { return "egress " + egressText(acasegress.Read(p)) }

// egressText is a policy in a word, where one can stand for it.
func egressText(r acasegress.Reading) string {
	if findings := r.Findings(); len(findings) > 0 {
		return "unclear: " + findings[0].Found
	}
	if r.Mode() == sandbox.EgressAllowlist {
		return r.Mode().String() + " (" + strconv.Itoa(r.Allows()) + ")"
	}
	return r.Mode().String()
}

// policyHCL is a policy of the service as a sandbox_policy, to begin from, and what of
// it that does not say. Values of headers, which may be secrets, are no part of it.
func policyHCL(name string, p *wire.EgressPolicy) []byte {
	document, err := wire.Encode(struct {
		Name   string            `json:"name"`
		Policy wire.EgressPolicy `json:"egressPolicy"`
	}{name, withoutValues(*p)})
	if err != nil {
		return nil
	}
	t, err := translate.Read(translate.ACA, document)
	if err != nil {
		return []byte("The rules could not be read: " + strings.ReplaceAll(err.Error(), "\n", " "))
	}
	lines := t.HCL(translate.Label(name))
	for _, loss := range t.Losses {
		if loss.Path.String() != "name" {
			lines = append(lines, (loss.Effect.String() + ", " + loss.Path.String() + ": " + strings.ReplaceAll(loss.Why, "\n", " ") + "\n")...)
		}
	}
	return lines
}

func withoutValues(p wire.EgressPolicy) wire.EgressPolicy {
	p.HTTP = nil // the service's own copy
	p.Rules = slices.Clone(p.Rules)
	for i, rule := range p.Rules {
		headers := slices.Clone(rule.Action.Headers)
		for h := range headers {
			headers[h].Value = ""
		}
		p.Rules[i].Action.Headers = headers
	}
	return p
}
