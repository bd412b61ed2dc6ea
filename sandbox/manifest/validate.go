package manifest

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	json "github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// schemas compiles the published schema on first use.
var schemas = sync.OnceValues(compileSchemas)

// compileSchemas compiles the schema, one definition a document. The schema is
// embedded and its location an absolute URL, so that compiling depends on nothing
// outside: the library would make a file's URL of a name alone, from the working
// directory, and cannot read that back where the directory has a space in it.
func compileSchemas() (map[string]*jsonschema.Schema, error) {
	const location = "embedded:///sandbox-v1.schema.json"
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(location, doc); err != nil {
		return nil, err
	}
	compiled := make(map[string]*jsonschema.Schema)
	for _, document := range []string{"manifest", "policy", "workload", "backend"} {
		s, err := compiler.Compile(location + "#/$defs/" + document + "Document")
		if err != nil {
			return nil, err
		}
		compiled[document] = s
	}
	return compiled, nil
}

// version refuses documents of another version or of another sort before
// anything else is said about them: a newer one is not a list of mistakes.
func version(b []byte, document string) sandbox.Refusals {
	var head struct {
		APIVersion string `json:"api_version"`
		Document   string `json:"document"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return sandbox.Refusals{syntax(err)}
	}
	switch {
	case head.APIVersion != APIVersion:
		return sandbox.Refusals{sandbox.Finding{
			Code: sandbox.CodeDocumentVersion, Path: sandbox.Path("api_version"), Found: sandbox.Echo(head.APIVersion),
			Required: strconv.Quote(APIVersion), Remedy: "use the release of the provider and the host that read that version",
		}.Refusal(nil)}
	case head.Document != document:
		return sandbox.Refusals{sandbox.Finding{
			Code: sandbox.CodeDocumentType, Path: sandbox.Path("document"), Found: sandbox.Echo(head.Document),
			Required: strconv.Quote(document), Remedy: "give the " + document + " document",
		}.Refusal(nil)}
	}
	return nil
}

// validate holds a document against the schema and reports everything at once.
func validate(b []byte, document string) sandbox.Refusals {
	compiled, err := schemas()
	if err != nil {
		return sandbox.Refusals{sandbox.Finding{
			Code: sandbox.CodeDocumentSyntax, Found: "a schema that does not compile", Required: "the published schema",
			Remedy: "report this: the build is broken",
		}.Refusal(err)}
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return sandbox.Refusals{syntax(err)}
	}
	err = compiled[document].Validate(instance)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return sandbox.Refusals{syntax(err)}
	}
	var refusals sandbox.Refusals
	collect(invalid, instance, &refusals)
	slices.SortStableFunc(refusals, func(a, b *sandbox.Refusal) int {
		return strings.Compare(a.Path.String(), b.Path.String())
	})
	return refusals
}

// collect walks to the leaves of a validation error; each leaf is one finding. It
// stops at [maxRefusals].
func collect(e *jsonschema.ValidationError, instance any, refusals *sandbox.Refusals) {
	for _, cause := range e.Causes {
		collect(cause, instance, refusals)
		if len(*refusals) >= maxRefusals {
			return
		}
	}
	if len(e.Causes) > 0 {
		return
	}
	for _, f := range explain(e, valueAt(instance, e.InstanceLocation)) {
		if len(*refusals) >= maxRefusals {
			return
		}
		*refusals = append(*refusals, f.Refusal(nil))
	}
}

// first answers the first [maxRefusals] of names, sorted.
func first(names []string) []string {
	sorted := slices.Sorted(slices.Values(names))
	return sorted[:min(len(sorted), maxRefusals)]
}

// explain says in our words what the schema found.
func explain(e *jsonschema.ValidationError, value any) []sandbox.Finding {
	path := locate(e.InstanceLocation)
	f := sandbox.Finding{
		Code: sandbox.CodeInvalidText, Path: path, Found: found(value),
		Required: "what the sandbox/v1 schema says", Remedy: "see the published schema",
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		var findings []sandbox.Finding
		for _, name := range first(k.Properties) {
			findings = append(findings, sandbox.Finding{
				Code: sandbox.CodeDocumentUnknownField, Path: path.Append(sandbox.Attr(name)), Found: sandbox.Echo(name),
				Required: "only fields of sandbox/v1, spelt exactly", Remedy: "remove the field, or correct its spelling",
			})
		}
		return findings
	case *kind.Required:
		var findings []sandbox.Finding
		for _, name := range first(k.Missing) {
			findings = append(findings, sandbox.Finding{
				Code: sandbox.CodeMissing, Path: path.Append(sandbox.Attr(name)), Found: "no " + name,
				Required: name, Remedy: "state " + name,
			})
		}
		return findings
	case *kind.Type:
		f.Code = sandbox.CodeDocumentType
		f.Required = "type " + strings.Join(k.Want, " or ")
		f.Remedy = "write a value of that type"
	case *kind.Enum:
		f.Code = sandbox.CodeUnknownWord
		f.Required = "one of " + words(k.Want)
		f.Remedy = "write one of these words exactly"
	case *kind.Const:
		f.Code = sandbox.CodeUnknownWord
		f.Required = found(k.Want) + ", or no field at all"
		f.Remedy = "write that value or remove the field"
	case *kind.Minimum, *kind.Maximum:
		f.Code = sandbox.CodeOutOfRange
		f.Required = "a number within the schema's range"
		f.Remedy = "write a whole number in that range"
	case *kind.MinLength, *kind.MaxLength, *kind.MinItems, *kind.MaxItems, *kind.MinProperties, *kind.MaxProperties:
		f.Code = sandbox.CodeOutOfRange
		f.Required = "a length within the schema's bounds"
		f.Remedy = "leave the field out when it is empty, shorten it when it is too long"
	case *kind.UniqueItems:
		f.Code = sandbox.CodeDocumentNotCanonical
		f.Required = "each word once"
		f.Remedy = "remove the repetition"
	case *kind.PropertyNames:
		f.Found = sandbox.Echo(k.Property)
		f.Required = "a name that the schema admits"
	}
	return []sandbox.Finding{f}
}

func words(values []any) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = found(v)
	}
	return strings.Join(out, ", ")
}

// found shows a JSON value in a message: scalars as they are, the rest by sort.
func found(value any) string {
	switch v := value.(type) {
	case string:
		return sandbox.Echo(v)
	case map[string]any:
		return "an object of " + strconv.Itoa(len(v)) + " fields"
	case []any:
		return "a list of " + strconv.Itoa(len(v))
	case nil:
		return "null"
	default:
		b, err := json.Marshal(v)
		if err != nil {
			return "a value"
		}
		return sandbox.Echo(string(b))
	}
}

func valueAt(instance any, location []string) any {
	for _, step := range location {
		switch v := instance.(type) {
		case map[string]any:
			instance = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			instance = v[i]
		default:
			return nil
		}
	}
	return instance
}
