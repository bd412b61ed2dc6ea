package manifest

import (
	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Canonical writes a manifest, policy or workload document that is laid out in
// any way in its one canonical form: without layout, names sorted, lists that are
// sets sorted. It mends nothing else: what [Parse] and its like refuse for another
// reason is refused here with the same refusals. It is for authors; a document
// that was received is never put into canonical form before it is judged.
func Canonical(b []byte) ([]byte, error) {
	var canonical []byte
	var err error
	switch sort := Sort(b); sort {
	case "policy":
		canonical, err = rewrite(b, sort, func(w policyDocument) any {
			return policyDocument{w.APIVersion, w.Document, policyToWire(policyFromWire(w.Policy))}
		})
		if err == nil {
			_, err = ParsePolicy(canonical)
		}
	case "workload":
		canonical, err = rewrite(b, sort, func(w workloadDocument) any {
			return workloadDocument{w.APIVersion, w.Document, workloadToWire(workloadFromWire(w.Workload))}
		})
		if err == nil {
			_, err = ParseWorkload(canonical)
		}
	case "backend":
		return nil, sandbox.Refusals{sandbox.Finding{
			Code: sandbox.CodeDocumentType, Path: sandbox.Path("document"), Found: `"backend"`,
			Required: "a manifest, a policy or a workload",
			Remedy:   "use the facts as they are: they are not pinned and may be laid out in any way",
		}.Refusal(nil)}
	default:
		canonical, err = rewrite(b, "manifest", func(w manifestWire) any { return manifestToWire(manifestFromWire(w)) })
		if err == nil {
			_, err = Parse(canonical)
		}
	}
	if err != nil {
		return nil, err
	}
	return canonical, nil
}

// Sort is which sort of document b says it is: "manifest", "policy", "workload",
// "backend" or whatever stands there; empty when it says nothing that can be
// read. It believes nothing else of b.
func Sort(b []byte) string {
	var head struct {
		Document string `json:"document"`
	}
	if json.Unmarshal(b, &head, jsontext.AllowDuplicateNames(true)) != nil {
		return ""
	}
	return head.Document
}

func rewrite[W any](b []byte, document string, again func(W) any) ([]byte, error) {
	w, err := parseDocument[W](b, document, nil)
	if err != nil {
		return nil, err
	}
	return encode(again(w))
}
