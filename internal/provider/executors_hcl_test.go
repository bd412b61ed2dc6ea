package provider

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// unknownHCL is an expression of any type whose value a plan does not know.
const unknownHCL = "${jsondecode(terraform_data.unknown.id)}"

// rows is a configuration in which many worlds are planned at once.
type rows struct {
	t         *testing.T
	workloads map[string]any
	policies  map[string]any
	data      map[string]any
	// users are the rows that refer to a policy, by the policy's name, and given is
	// what they were written from.
	users map[string][]string
	given map[string]map[string]any
	// names are what values that many rows share are called.
	names map[string]string
}

func newRows(t *testing.T) *rows {
	t.Helper()
	return &rows{
		t: t, names: map[string]string{},
		workloads: map[string]any{}, policies: map[string]any{}, data: map[string]any{"unknown": map[string]any{}},
		users: map[string][]string{}, given: map[string]map[string]any{},
	}
}

// literally writes a row as one object.
func (r *rows) literally(name string, attrs map[string]any) { r.workloads[name] = inHCL(attrs) }

// byReference writes a row whose policy and facts only the plan knows. Equal ones
// are written once.
func (r *rows) byReference(name string, attrs map[string]any) {
	r.given[name] = attrs
	attrs = maps.Clone(attrs)
	if given, ok := attrs["policy"].(map[string]any); ok {
		policy := r.once(r.policies, "policy", inHCL(given))
		r.users[policy] = append(r.users[policy], name)
		attrs["policy"] = verbatim("${sandbox_policy." + policy + "}")
	}
	if facts, ok := attrs["backend_facts"].(string); ok {
		attrs["backend_facts"] = verbatim("${terraform_data." + r.once(r.data, "facts", map[string]any{"input": inHCL(facts)}) + ".input}")
	}
	r.literally(name, attrs)
}

// once names a value in a block, adding it where it is not yet.
func (r *rows) once(block map[string]any, prefix string, value any) string {
	key, err := json.Marshal(value) // sorts names
	if err != nil {
		r.t.Fatal(err)
	}
	name, ok := r.names[prefix+string(key)]
	if !ok {
		name = prefix + "-" + strconv.Itoa(len(block))
		r.names[prefix+string(key)] = name
		block[name] = value
	}
	return name
}

// without leaves rows out.
func (r *rows) without(gone map[string]conformance.Answer) {
	maps.DeleteFunc(r.workloads, func(name string, _ any) bool { _, ok := gone[name]; return ok })
}

// write puts every object into a file of its own, on lines of their own, and takes
// away what was there: for each diagnostic Terraform parses the file that it is
// about, and repeats the line.
func (r *rows) write(c *cli) {
	old, err := filepath.Glob(filepath.Join(c.dir, "*.tf.json"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			r.t.Fatal(err)
		}
	}
	files := map[string]string{}
	for resource, block := range map[string]map[string]any{
		"sandbox_workload": r.workloads, "sandbox_policy": r.policies, "terraform_data": r.data,
	} {
		for name, body := range block {
			text, err := json.MarshalIndent(map[string]any{"resource": map[string]any{resource: map[string]any{name: body}}}, "", " ")
			if err != nil {
				r.t.Fatal(err)
			}
			files[name+".tf.json"] = string(text)
		}
	}
	c.write(r.t, files)
}

// verbatim is text that Terraform evaluates.
type verbatim string

// inHCL writes a value as Terraform's JSON has it.
func inHCL(v any) any {
	switch v := v.(type) {
	case notKnown:
		return unknownHCL
	case verbatim:
		return string(v)
	case string:
		return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(v)
	case []string:
		return inHCL(plainList(v))
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = inHCL(e)
		}
		return list
	case map[string]string:
		return inHCL(stringsAsAny(v))
	case map[string]any:
		object := map[string]any{}
		for name, e := range v {
			object[name] = inHCL(e)
		}
		return object
	default:
		return v
	}
}

func stringsAsAny(m map[string]string) map[string]any {
	all := make(map[string]any, len(m))
	for key, text := range m {
		all[key] = text
	}
	return all
}

// refused are the rows that a plan refused.
func (r *rows) refused(p planned) map[string]conformance.Answer {
	gone := map[string]conformance.Answer{}
	for row := range r.workloads {
		if locators := p.errors["sandbox_workload."+row]; len(locators) > 0 {
			gone[row] = conformance.Answer{Verdict: sandbox.Deny, Locators: locators}
		}
	}
	return gone
}

// unhide writes the rows of refused policies literally, since nothing is said of
// what refers to a refused object. It reports whether there were any.
func (r *rows) unhide(p planned) bool {
	found := false
	for policy := range r.policies {
		if len(p.errors["sandbox_policy."+policy]) == 0 {
			continue
		}
		found = true
		delete(r.policies, policy)
		for _, row := range r.users[policy] {
			r.literally(row, r.given[row])
		}
	}
	return found
}
