package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// declarationsIn says what is missing from declarations that are otherwise as
// wide as they can be, or what stands in place of one of them.
type declarationsIn struct {
	Omit          string
	ExplicitEmpty string `json:"explicit_empty"`
	Shape         string
	Of            string
	Value         []string
	GetterRaises  string `json:"getter_raises"`
	Is            string `json:"declarations_is"`
	Superseded    string `json:"superseded_attribute"`
	AlsoDeclares  *bool  `json:"also_declares_object"`
}

// typedShapes are what a typed set can be, too.
var typedShapes = []string{"set of plain strings", "set with an unknown string", "mutable set"}

func (in *declarationsIn) misshapen() bool {
	return in.Shape != "" && !slices.Contains(typedShapes, in.Shape) || in.GetterRaises != "" || in.Is != ""
}

// probes are the answers by the probed thing: "ok", or the class of a refusal.
type probes map[string]string

func judgeDeclarations(v *vector) (answer, error) {
	var in declarationsIn
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	theirs, err := flatten(v.Out)
	if err != nil {
		return answer{}, err
	}
	ours := probe(in.declarations(v.Oracle), v.Oracle, theirs)
	for name, got := range ours {
		if theirs[name] == got { // show what differs alone
			delete(ours, name)
			delete(theirs, name)
		}
	}
	return answer{ours: asText(ours), theirs: asText(theirs)}, nil
}

// flatten names every leaf of an object by the way to it.
func flatten(raw json.RawMessage) (probes, error) {
	flat := probes{}
	var walk func(path string, raw json.RawMessage) error
	walk = func(path string, raw json.RawMessage) error {
		var object map[string]json.RawMessage
		if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
			flat[path] = strings.Trim(string(raw), `"`)
			return nil
		}
		if err := json.Unmarshal(raw, &object); err != nil {
			return err
		}
		for key, below := range object {
			if err := walk(strings.TrimPrefix(path+"/"+key, "/"), below); err != nil {
				return err
			}
		}
		return nil
	}
	return flat, walk("", raw)
}

// declarations are as wide as the reference's probe declares them, which is
// everything but host tools, and for what the vector changes.
func (in *declarationsIn) declarations(oracle string) sandbox.Declarations {
	probed := sandbox.Evidence{Kind: sandbox.EvidenceProbed}
	wide := sandbox.TransferLimits{MaxBytesPerFile: 1 << 40, MaxTotalBytes: 1 << 40, MaxFiles: 1 << 20}
	everything := sandbox.SetOf(sandbox.Capabilities()...).Minus(
		sandbox.SetOf(sandbox.CapabilityAttachedIdentity, sandbox.CapabilityHostTools))
	silent := sandbox.Declarations{
		Backend: "probe", Isolation: sandbox.IsolationVM, IsolationEvidence: probed,
		Guarantees: map[sandbox.Guarantee]sandbox.Evidence{}, MethodTokens: []string{},
	}
	for _, g := range sandbox.Guarantees() {
		silent.Guarantees[g] = probed
	}
	d := silent
	d.Capabilities, d.FilesIn, d.FilesOut, d.MethodTokens = &everything, &wide, &wide, nil
	d.EgressModes = sandbox.SetOf(sandbox.EgressModes()...)
	d.OSFamilies = sandbox.SetOf(sandbox.OSFamilies()...)
	d.IsolationScopes = sandbox.SetOf(sandbox.IsolationScopes()...)
	if firstEra(oracle) {
		d.EgressModes = sandbox.SetOf(sandbox.EgressClosed, sandbox.EgressAllowlist)
	}
	var ignored []sandbox.Finding
	field := in.Omit + in.ExplicitEmpty + in.Of
	switch {
	case field == "everything", field == "declarations object", in.AlsoDeclares != nil && !*in.AlsoDeclares:
		return silent
	case field == "capabilities":
		set := words[sandbox.Capability](in.Value, field, &ignored)
		d.Capabilities = &set
		if in.Omit != "" {
			d.Capabilities = nil
		}
	case field == "limits":
		d.FilesIn, d.FilesOut = nil, nil
	case field == "egress_modes", field == "egress":
		d.EgressModes = words[sandbox.EgressMode](in.Value, field, &ignored)
	case field == "os_families":
		d.OSFamilies = words[sandbox.OSFamily](in.Value, field, &ignored)
	case field == "isolation_scopes":
		d.IsolationScopes = words[sandbox.IsolationScope](in.Value, field, &ignored)
	case field == "egress_method_tokens" && in.Shape != "nil":
		d.MethodTokens = append([]string{}, in.Value...)
	}
	return d
}

// probe asks our decision what the reference was asked.
func probe(d sandbox.Declarations, oracle string, asked probes) probes {
	got := probes{}
	match := sandbox.EgressMatchUnspecified
	if firstEra(oracle) {
		match = sandbox.EgressMatchAtLeast
	}
	p, _ := compilePolicy(sandbox.Policy{
		MinimumIsolation: sandbox.IsolationNone, EgressMatch: match, Egress: sandbox.Egress{Mode: sandbox.EgressUnrestricted},
	})
	b, findings := policy.CompileDeclarations(d)
	if f := firstDenial(findings); f != nil {
		return probes{"construct/error": classOf(*f)}
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		spec := sandbox.Spec{Kind: probedKind, Requires: &sandbox.CapabilitySet{}}
		if name == "egress/warned" {
			got[name] = fmt.Sprint(attachTo(p, b, probedSpec("egress/hosts", spec)).warning != nil)
			continue
		}
		got[name] = "ok"
		if f := attachTo(p, b, probedSpec(name, spec)).finding; f != nil {
			got[name] = classOf(*f)
		}
	}
	return got
}

func attachTo(p *policy.CompiledPolicy, b *policy.CompiledDeclarations, spec sandbox.Spec) outcome {
	s, findings := policy.CompileSpec(spec, sandbox.Known{})
	if f := firstDenial(findings); f != nil {
		return outcome{stage: "spec", finding: f}
	}
	return attach(p, b, s)
}

// probedSpec asks for the one thing that a probe is named for.
func probedSpec(name string, spec sandbox.Spec) sandbox.Spec {
	var ignored []sandbox.Finding
	part, what, _ := strings.Cut(name, "/")
	what, leg, _ := strings.Cut(what, "/")
	switch part {
	case "egress", "egress_modes":
		switch what {
		case "hosts", "allowlist":
			spec.Egress = sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"a.test"}}
		case "unrestricted":
			spec.Egress.Mode = sandbox.EgressUnrestricted
		}
	case "capabilities":
		set := words[sandbox.Capability]([]string{what}, part, &ignored)
		spec.Requires = &set
	case "os_families":
		spec.OSFamily, _ = sandbox.ParseOSFamily(what)
	case "isolation_scopes":
		spec.IsolationScope = word(what, part, sandbox.ParseIsolationScope, &ignored)
	case "egress_method_tokens":
		spec.Egress = sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{
			"probe": {Host: "a.test", Ports: []string{"443"}, Methods: []string{what}, Paths: []string{"*"}},
		}}
	case "limits":
		limits := sandbox.DefaultTransferLimits()
		side, field, _ := strings.Cut(what, ".")
		if leg == "one_over" {
			*map[string]*int64{
				"max_bytes_per_file": &limits.MaxBytesPerFile, "max_total_bytes": &limits.MaxTotalBytes, "max_files": &limits.MaxFiles,
			}[field]++
		}
		if side == "files_in" {
			spec.FilesIn = &limits
		} else {
			spec.FilesOut = &limits
		}
	}
	return spec
}
