package manifest

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// MaxDocument is the largest document that is read, in bytes.
const MaxDocument = 16 << 20

// maxTokens is how many names, values and brackets a document may hold. Without a
// bound of their own, values of one byte each would make a document of
// [MaxDocument] take gigabytes to judge.
const maxTokens = 1 << 19

// maxRefusals is how many findings about one document are told: a hostile one
// could cause millions.
const maxRefusals = 100

// maxDepth is the deepest nesting that is read; the schema needs seven.
const maxDepth = 32

// Parse reads a manifest strictly: the bytes must be the canonical form of a
// sandbox/v1 manifest, and its policies and workloads must be well formed. All
// findings come back at once, as [sandbox.Refusals]; each path starts at the
// document's root. The caller compares [DigestOf] with the digests it accepts
// before it believes any of this.
func Parse(b []byte) (Manifest, error) {
	w, err := parseDocument(b, "manifest", func(w manifestWire) any { return manifestToWire(manifestFromWire(w)) })
	if err != nil {
		return Manifest{}, err
	}
	m := manifestFromWire(w)
	if refusals := denials(m.findings()); len(refusals) > 0 {
		return Manifest{}, refusals
	}
	return m, nil
}

// ParsePolicy reads a policy document, exactly as [Parse] reads a manifest.
func ParsePolicy(b []byte) (sandbox.Policy, error) {
	w, err := parseDocument(b, "policy", func(w policyDocument) any {
		return policyDocument{w.APIVersion, w.Document, policyToWire(policyFromWire(w.Policy))}
	})
	if err != nil {
		return sandbox.Policy{}, err
	}
	p := policyFromWire(w.Policy)
	findings := policy.LayerFindings(policy.Layer{Policy: p})
	if refusals := denials(under(findings, sandbox.Attr("policy"))); len(refusals) > 0 {
		return sandbox.Policy{}, refusals
	}
	return p, nil
}

// ParseWorkload reads a workload document, exactly as [Parse] reads a manifest.
func ParseWorkload(b []byte) (sandbox.Spec, error) {
	w, err := parseDocument(b, "workload", func(w workloadDocument) any {
		return workloadDocument{w.APIVersion, w.Document, workloadToWire(workloadFromWire(w.Workload))}
	})
	if err != nil {
		return sandbox.Spec{}, err
	}
	s := workloadFromWire(w.Workload)
	findings := policy.SpecFindings(s, sandbox.Known{})
	if refusals := denials(under(findings, sandbox.Attr("workload"))); len(refusals) > 0 {
		return sandbox.Spec{}, refusals
	}
	return s, nil
}

// ParseDeclarations reads a backend document, as printed by `sandboxctl facts`.
// It may be laid out in any way: facts are read by people and are not pinned.
func ParseDeclarations(b []byte) (sandbox.Declarations, error) {
	w, err := parseDocument[backendDocument](b, "backend", nil)
	if err != nil {
		return sandbox.Declarations{}, err
	}
	d := declarationsFromWire(w)
	_, findings := policy.CompileDeclarations(d)
	if refusals := denials(findings); len(refusals) > 0 {
		return sandbox.Declarations{}, refusals
	}
	return d, nil
}

// ParseAny reads a document of any sort as strictly as its own parser does, and
// says only whether it can be read. One that names no known sort is read as a
// manifest, whose refusals then say what is wrong.
func ParseAny(b []byte) error {
	var err error
	switch Sort(b) {
	case "policy":
		_, err = ParsePolicy(b)
	case "workload":
		_, err = ParseWorkload(b)
	case "backend":
		_, err = ParseDeclarations(b)
	default:
		_, err = Parse(b)
	}
	return err
}

// findings compiles everything in the manifest and reports what is malformed.
func (m Manifest) findings() []sandbox.Finding {
	var findings []sandbox.Finding
	if m.HostPolicy != nil {
		found := policy.LayerFindings(policy.Layer{Source: PlatformPolicy, Policy: *m.HostPolicy})
		findings = append(findings, under(found, sandbox.Attr("host_policy"))...)
	}
	found := policy.LayerFindings(policy.Layer{Source: PolicySource(m.Policy), Policy: m.Policy})
	findings = append(findings, under(found, sandbox.Attr("policy"))...)
	findings = append(findings, m.nameFindings()...)
	for _, name := range m.WorkloadNames() {
		found := policy.SpecFindings(m.Workloads[name], sandbox.Known{})
		findings = append(findings, under(found, sandbox.Attr("workloads"), sandbox.MapKey(name))...)
	}
	return findings
}

// nameFindings judge the workloads' names. People type them and logs repeat them,
// so they are text that can be seen.
func (m Manifest) nameFindings() []sandbox.Finding {
	var findings []sandbox.Finding
	for _, name := range m.WorkloadNames() {
		if !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
			continue
		}
		findings = append(findings, sandbox.Finding{
			Code: sandbox.CodeInvalidText, Path: sandbox.Path("workloads", sandbox.MapKey(name)), Found: sandbox.Echo(name),
			Required: "a name of visible characters", Remedy: "rename the workload",
		})
	}
	return findings
}

// under moves findings below a prefix.
func under(findings []sandbox.Finding, prefix ...sandbox.PathStep) []sandbox.Finding {
	moved := slices.Clone(findings)
	for i := range moved {
		moved[i].Path = sandbox.FieldPath(prefix).Append(moved[i].Path...)
	}
	return moved
}

// denials are the findings that deny, at most [maxRefusals].
func denials(findings []sandbox.Finding) sandbox.Refusals {
	var refusals sandbox.Refusals
	for _, f := range findings {
		if f.Verdict == sandbox.Deny {
			refusals = append(refusals, f.Refusal(nil))
		}
		if len(refusals) == maxRefusals {
			break
		}
	}
	return refusals
}

// parseDocument reads one document. Where again is given, the bytes must be what
// writing the document again would make of it: that is what canonical means, and
// it covers order, spelling, layout and everything else at once.
func parseDocument[W any](b []byte, document string, again func(W) any) (W, error) {
	var w W
	for _, step := range []func() sandbox.Refusals{
		func() sandbox.Refusals { return scan(b) },
		func() sandbox.Refusals { return version(b, document) },
		func() sandbox.Refusals { return validate(b, document) },
	} {
		if refusals := step(); len(refusals) > 0 {
			return w, refusals
		}
	}
	if err := json.Unmarshal(b, &w, json.RejectUnknownMembers(true)); err != nil {
		return w, sandbox.Refusals{syntax(err)}
	}
	if again == nil {
		return w, nil
	}
	canonical, err := encode(again(w))
	if err != nil {
		return w, err
	}
	if !bytes.Equal(canonical, b) {
		return w, sandbox.Refusals{notCanonical(b, canonical)}
	}
	return w, nil
}

// scan reads every token once and refuses what no reading of the bytes could
// mend: broken JSON, a name stated twice, null, a number that is not a plain
// integer within ±(2^53-1), nesting without end, bytes after the document.
func scan(b []byte) sandbox.Refusals {
	if len(b) > MaxDocument {
		return sandbox.Refusals{tooLarge(strconv.Itoa(len(b))+" bytes", MaxDocument)}
	}
	var refusals sandbox.Refusals
	d := jsontext.NewDecoder(bytes.NewReader(b))
	for tokens := 1; ; tokens++ {
		token, err := d.ReadToken()
		if err != nil {
			return append(refusals, syntax(err))
		}
		if tokens > maxTokens {
			return append(refusals, tooLarge("more than "+strconv.Itoa(maxTokens)+" names and values", maxTokens))
		}
		if d.StackDepth() > maxDepth {
			return append(refusals, sandbox.Finding{
				Code: sandbox.CodeDocumentSyntax, Path: pointerPath(d.StackPointer()),
				Found: "more than " + strconv.Itoa(maxDepth) + " levels of nesting", Required: "a sandbox/v1 document",
				Remedy: "write the document with the provider or with sandboxctl",
			}.Refusal(nil))
		}
		switch token.Kind() {
		case 'n':
			refusals = append(refusals, sandbox.Finding{
				Code: sandbox.CodeNullField, Path: pointerPath(d.StackPointer()), Found: "null",
				Required: "a value, or no field at all", Remedy: "remove the field",
			}.Refusal(nil))
		case '0':
			if text := token.String(); !plainInteger(text) {
				refusals = append(refusals, sandbox.Finding{
					Code: sandbox.CodeOutOfRange, Path: pointerPath(d.StackPointer()), Found: sandbox.Echo(text),
					Required: "a whole number from 0 to " + strconv.FormatInt(sandbox.MaxDocumentInteger, 10),
					Remedy:   "write the number in plain digits within the range",
				}.Refusal(nil))
			}
		}
		if len(refusals) >= maxRefusals {
			return refusals
		}
		if d.StackDepth() == 0 {
			break
		}
	}
	if rest := b[d.InputOffset():]; len(bytes.TrimSpace(rest)) > 0 {
		refusals = append(refusals, sandbox.Finding{
			Code: sandbox.CodeDocumentSyntax, Found: "more text after the document: " + sandbox.Echo(string(rest)),
			Required: "nothing after the closing brace", Remedy: "remove what follows",
		}.Refusal(nil))
	}
	return refusals
}

func tooLarge(found string, most int) *sandbox.Refusal {
	return sandbox.Finding{
		Code: sandbox.CodeDocumentTooLarge, Found: found, Required: "at most " + strconv.Itoa(most),
		Remedy: "split the workloads over several manifests",
	}.Refusal(nil)
}

// plainInteger reports whether text is a non-negative integer in plain digits
// that a double holds exactly.
func plainInteger(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && n >= 0 && n <= sandbox.MaxDocumentInteger && strconv.FormatInt(n, 10) == text
}
