package manifest

import (
	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Encode writes the manifest in its one canonical form. It fails where the
// manifest could not be read back: a value outside the vocabulary, text that is
// not UTF-8, or anything else that the schema does not admit.
func (m Manifest) Encode() ([]byte, error) {
	if refusals := denials(m.nameFindings()); len(refusals) > 0 {
		return nil, refusals
	}
	return encodeChecked(manifestToWire(m), "manifest")
}

// EncodePolicy writes a policy document, as [Manifest.Encode] does.
func EncodePolicy(p sandbox.Policy) ([]byte, error) {
	return encodeChecked(policyDocument{APIVersion, "policy", policyToWire(p)}, "policy")
}

// EncodeWorkload writes a workload document, as [Manifest.Encode] does.
func EncodeWorkload(s sandbox.Spec) ([]byte, error) {
	return encodeChecked(workloadDocument{APIVersion, "workload", workloadToWire(s)}, "workload")
}

// EncodeDeclarations writes a backend document in canonical form.
func EncodeDeclarations(d sandbox.Declarations) ([]byte, error) {
	return encodeChecked(declarationsToWire(d), "backend")
}

func encodeChecked(wire any, document string) ([]byte, error) {
	b, err := encode(wire)
	if err != nil {
		return nil, err
	}
	if refusals := scan(b); len(refusals) > 0 {
		return nil, refusals
	}
	if refusals := validate(b, document); len(refusals) > 0 {
		return nil, refusals
	}
	return b, nil
}

func encode(wire any) ([]byte, error) {
	b, err := json.Marshal(wire, json.Deterministic(true))
	if err == nil {
		value := jsontext.Value(b)
		err = value.Canonicalize()
		b = value
	}
	if err != nil {
		if refusal := sandbox.RefusalOf(err); refusal != nil {
			return nil, sandbox.Refusals{refusal}
		}
		return nil, sandbox.Refusals{sandbox.Finding{
			Code: sandbox.CodeInvalidText, Found: "text that JSON cannot carry", Required: "UTF-8",
			Remedy: "remove the bytes that are not UTF-8",
		}.Refusal(err)}
	}
	return b, nil
}
