package conformance_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// The reference's router resolves a backend: the selected or first one for all
// workloads, or per workload the first that can serve it. Ours is told by the
// manifest. What is compared is what each backend's declarations are worth, the
// resolution being made here of our decisions.

type selectionIn struct {
	Backends           []backendIn
	Selected           *string
	Selection          string
	MinIsolation       *string  `json:"min_isolation"`
	DeniedCapabilities []string `json:"denied_capabilities"`
	Spec               *specIn
	Purge              bool
}

type selectionOut struct {
	refusal
	Stage       string
	Backend     *string
	Warnings    int
	Ensure      json.RawMessage
	BackendFor  *string `json:"backend_for"`
	ServedIndex []int   `json:"served_index"`
	purgeOut
}

// resolved is what a router answered for a workload.
type resolved struct {
	// Error is a refusal at the router's construction.
	Error string
	// Backend serves everything; it is empty per workload and without backends.
	Backend string
	// Warned: some backends serve nobody, below the floor.
	Warned bool
	// Ensure is "ok" or the refusal of the workload, Served the backend's place.
	Ensure string
	Served int
}

func judgeSelection(v *vector) (answer, error) {
	var in selectionIn
	var out selectionOut
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	if in.Purge {
		return judgePurge(&in, &out)
	}
	ours, err := in.resolve(v.Oracle, &out)
	if err != nil {
		return answer{}, err
	}
	theirs, err := out.resolved(in.Spec != nil)
	return answer{ours: asText(ours), theirs: asText(theirs)}, err
}

func (o *selectionOut) resolved(asked bool) (resolved, error) {
	r := resolved{Error: o.Error, Warned: o.Warnings > 0, Served: -1}
	if o.Backend != nil {
		r.Backend = *o.Backend
	}
	if !asked || o.Error != "" {
		return r, nil
	}
	ensured, err := refusalOf(o.Ensure)
	r.Ensure = ensured.Error
	if r.Ensure == "" {
		r.Ensure = "ok"
	}
	if len(o.ServedIndex) > 0 {
		r.Served = o.ServedIndex[0]
	}
	return r, err
}

// refusalOf reads "ok" or a refusal.
func refusalOf(raw json.RawMessage) (r refusal, err error) {
	if string(raw) == `"ok"` || len(raw) == 0 {
		return r, nil
	}
	err = json.Unmarshal(raw, &r)
	return r, err
}

// resolve asks our decision about the backends in turn.
func (in *selectionIn) resolve(oracle string, out *selectionOut) (resolved, error) {
	r := resolved{Served: -1}
	host := routerIn{MinIsolation: in.MinIsolation, DeniedCapabilities: in.DeniedCapabilities}
	p, findings := host.policy(oracle)
	compiled, problems := compilePolicy(p)
	if f := firstDenial(append(findings, problems...)); f != nil {
		r.Error = classOf(*f)
		return r, nil
	}
	if len(in.Backends) == 0 {
		// Open wants a backend; whoever has none has no router to ask.
		if in.Spec != nil {
			r.Ensure = string(sandbox.CodeOptionsInvalid)
		}
		return r, nil
	}
	spec := sandbox.Spec{Kind: probedKind}
	if in.Spec != nil {
		spec, findings = in.Spec.spec(oracle)
		if f := firstDenial(findings); f != nil {
			return r, f.Refusal(nil)
		}
	}
	if in.Selection == "per_spec" {
		return in.resolvePerSpec(compiled, spec)
	}
	return in.resolveFixed(p, compiled, spec, out)
}

// resolveFixed names the backend in the workload, as a manifest does.
func (in *selectionIn) resolveFixed(
	p sandbox.Policy, compiled *policy.CompiledPolicy, spec sandbox.Spec, out *selectionOut,
) (resolved, error) {
	r := resolved{Served: -1}
	spec.Backend = in.Backends[0].Name
	if in.Selected != nil {
		spec.Backend = *in.Selected
	}
	chosen := slices.IndexFunc(in.Backends, func(b backendIn) bool { return b.Name == spec.Backend })
	var offered []sandbox.Declarations
	for i := range in.Backends {
		d, err := in.Backends[i].declarations()
		if err != nil && i == chosen {
			r.Error = classOf(sandbox.FindingsAt(err, nil)[0])
			return r, nil
		}
		// A name is registered once; the reference serves the first of two.
		if i == chosen || in.Backends[i].Name != spec.Backend {
			offered = append(offered, d)
		}
	}
	if chosen >= 0 {
		d, _ := in.Backends[chosen].declarations()
		backend, findings := policy.CompileDeclarations(d)
		if f := firstDenial(findings); f != nil {
			r.Error = classOf(*f)
			return r, nil
		}
		if f := refusedForAll(compiled, backend); f != nil {
			r.Error = classOf(*f) + unnamed(*f, out.Mentions)
			return r, nil
		}
		r.Backend = spec.Backend
	}
	decision := router.Check(manifest.Manifest{Policy: p, Workloads: map[string]sandbox.Spec{probedKind: spec}}, offered)[0]
	f := firstDenial(decision.Findings)
	switch {
	case chosen < 0 && f != nil:
		r.Error = classOf(*f) + unnamed(*f, out.Mentions)
	case in.Spec == nil:
	case f == nil:
		r.Ensure, r.Served = "ok", chosen
	default:
		r.Ensure = classOf(*f)
	}
	return r, nil
}

// resolvePerSpec takes the first backend that our decision admits.
func (in *selectionIn) resolvePerSpec(compiled *policy.CompiledPolicy, spec sandbox.Spec) (resolved, error) {
	r := resolved{Served: -1}
	s, findings := policy.CompileSpec(spec, sandbox.Known{})
	if f := firstDenial(findings); f != nil {
		return r, f.Refusal(nil)
	}
	below := 0
	for i := range in.Backends {
		d, err := in.Backends[i].declarations()
		if err != nil {
			return resolved{Error: classOf(sandbox.FindingsAt(err, nil)[0]), Served: -1}, nil
		}
		b, findings := policy.CompileDeclarations(d)
		if f := firstDenial(findings); f != nil {
			return resolved{Error: classOf(*f), Served: -1}, nil
		}
		if refusedForAll(compiled, b) != nil {
			below++
		}
		o := attach(compiled, b, s)
		switch {
		case in.Spec == nil:
		case o.finding == nil && r.Served < 0:
			r.Ensure, r.Served = "ok", i
		case o.finding != nil && r.Ensure == "":
			r.Ensure = classOf(*o.finding)
		}
	}
	if below == len(in.Backends) {
		return resolved{Error: refusalClass[sandbox.CodeIsolationBelowFloor], Served: -1}, nil
	}
	r.Warned = below > 0
	return r, nil
}

func judgeFold(v *vector) (answer, error) {
	type failure struct{ Code, Detail, Text string }
	var in struct{ Failures []failure }
	var out struct{ Folded *failure }
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	var failures []*sandbox.DisposalFailure
	for _, f := range in.Failures {
		failures = append(failures, &sandbox.DisposalFailure{Code: disposalCode(f.Code), Detail: f.Detail})
	}
	var ours *failure
	if f := sandbox.FoldDisposalFailures(failures...); f != nil {
		ours = &failure{f.Code.String(), f.Detail, f.Error()}
	}
	if out.Folded != nil && out.Folded.Text == "" {
		out.Folded.Text = fmt.Sprintf("%s: %s", out.Folded.Code, out.Folded.Detail)
	}
	return answer{ours: asText(ours), theirs: asText(out.Folded)}, nil
}

// disposalCode reads a code; one that is none is unspecified.
func disposalCode(text string) sandbox.DisposalCode {
	code, err := sandbox.ParseDisposalCode(text)
	if err != nil {
		return sandbox.DisposalCodeUnspecified
	}
	return code
}
