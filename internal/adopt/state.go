package adopt

import (
	"encoding/json"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// stateResource is one resource of `terraform show -json`. Its values may hold
// secrets: each is asked for by name, and none is printed that is not known to be
// harmless.
type stateResource struct {
	Address string         `json:"address"`
	Mode    string         `json:"mode"`
	Type    string         `json:"type"`
	Name    string         `json:"name"`
	Index   any            `json:"index"`
	Values  map[string]any `json:"values"`
	Tainted bool           `json:"tainted"`
	Deposed string         `json:"deposed_key"`
}

type stateModule struct {
	Resources []stateResource `json:"resources"`
	Children  []stateModule   `json:"child_modules"`
}

// stateDocument is what `terraform show -json` prints, and what tells other documents
// from it.
type stateDocument struct {
	FormatVersion string `json:"format_version"`
	Values        *struct {
		Root stateModule `json:"root_module"`
	} `json:"values"`

	Planned json.RawMessage `json:"planned_values"`
	Lineage string          `json:"lineage"`
}

const stateRemedy = "write it with terraform show -json > state.json, in the configuration's folder"

// readState reads the resources of a state, modules included, in its order.
func readState(document []byte) ([]stateResource, error) {
	refuse := func(code sandbox.Code, found string) ([]stateResource, error) {
		return nil, sandbox.Finding{
			Code: code, Found: found, Required: "a state as terraform show -json prints it", Remedy: stateRemedy,
		}.Refusal(nil)
	}
	var state stateDocument
	if err := json.Unmarshal(document, &state); err != nil {
		return refuse(sandbox.CodeDocumentSyntax, "text that is not such a document") // a decoder's words may quote values
	}
	switch {
	case state.Lineage != "":
		return refuse(sandbox.CodeDocumentType, "the raw state, whose form Terraform keeps to itself")
	case len(state.Planned) > 0:
		return refuse(sandbox.CodeDocumentType, "a plan")
	case state.FormatVersion == "":
		return refuse(sandbox.CodeDocumentType, "another document")
	case state.Values == nil:
		return nil, nil // nothing was ever applied
	}
	return state.Values.Root.all(), nil
}

func (m stateModule) all() []stateResource {
	list := m.Resources
	for _, child := range m.Children {
		list = append(list, child.all()...)
	}
	return list
}

// text is an attribute that is a text, or "".
func (r stateResource) text(name string) string {
	text, _ := r.Values[name].(string)
	return text
}

func textAt(of map[string]any, name string) string {
	text, _ := of[name].(string)
	return text
}

func objectAt(of map[string]any, name string) map[string]any {
	object, _ := of[name].(map[string]any)
	return object
}

// textsAt are the texts of a list.
func textsAt(of map[string]any, name string) []string {
	list, _ := of[name].([]any)
	var texts []string
	for _, item := range list {
		if text, ok := item.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// textMapAt are the texts of a map.
func textMapAt(of map[string]any, name string) map[string]string {
	texts := map[string]string{}
	for key, value := range objectAt(of, name) {
		if text, ok := value.(string); ok {
			texts[key] = text
		}
	}
	return texts
}

// title is what a resource is called, with the key of its instance.
func (r stateResource) title() string {
	key, isText := r.Index.(string)
	if number, ok := r.Index.(float64); ok {
		encoded, _ := json.Marshal(number) //nolint:errchkjson // a number that was JSON is JSON
		key, isText = string(encoded), true
	}
	if !isText {
		return r.Name
	}
	return r.Name + " " + key
}

// block is the address of the block that made the resource: without the keys of
// instances, of which a removed block names all.
func (r stateResource) block() (hcl.Traversal, string, bool) {
	whole, diags := hclsyntax.ParseTraversalAbs([]byte(r.Address), "address", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, "", false
	}
	var from hcl.Traversal
	var words []string
	for _, step := range whole {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			words = append(words, step.Name)
		case hcl.TraverseAttr:
			words = append(words, step.Name)
		default:
			continue
		}
		from = append(from, step)
	}
	return from, strings.Join(words, "."), len(from) > 1
}
