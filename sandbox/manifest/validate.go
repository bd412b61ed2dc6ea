package manifest

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	json "github.com/go-json-experiment/json"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

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
	case head.APIVersion == "":
		return sandbox.Refusals{sandbox.Finding{
			Code: sandbox.CodeDocumentVersion, Path: sandbox.Path("api_version"), Found: "no api_version",
			Required: strconv.Quote(APIVersion), Remedy: "give a document that the provider or sandboxctl wrote",
		}.Refusal(nil)}
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

// validate holds a document against the schema and reports everything at once,
// at most [maxRefusals], in the order of the paths.
func validate(b []byte, document string) sandbox.Refusals {
	defs, err := shapes()
	if err != nil {
		return sandbox.Refusals{sandbox.Finding{
			Code: sandbox.CodeDocumentSyntax, Found: "a schema that cannot be read", Required: "the published schema",
			Remedy: "report this: the build is broken",
		}.Refusal(err)}
	}
	var instance any
	if err := json.Unmarshal(b, &instance); err != nil {
		return sandbox.Refusals{syntax(err)}
	}
	c := checker{defs: defs}
	c.value(&shape{Ref: refPrefix + document + "Document"}, instance)
	slices.SortStableFunc(c.refusals, func(a, b *sandbox.Refusal) int {
		return strings.Compare(a.Path.String(), b.Path.String())
	})
	return c.refusals
}

// checker walks a document along its shape.
type checker struct {
	defs     map[string]*shape
	at       sandbox.FieldPath // where the walk is
	refusals sandbox.Refusals
}

// full reports whether enough has been said about the document.
func (c *checker) full() bool { return len(c.refusals) >= maxRefusals }

func (c *checker) refuse(code sandbox.Code, found, required, remedy string, below ...sandbox.PathStep) {
	if c.full() {
		return
	}
	c.refusals = append(c.refusals, sandbox.Finding{
		Code: code, Path: c.at.Append(below...), Found: found, Required: required, Remedy: remedy,
	}.Refusal(nil))
}

// enter walks one step down.
func (c *checker) enter(step sandbox.PathStep, s *shape, v any) {
	if c.full() {
		return
	}
	c.at = append(c.at, step)
	c.value(s, v)
	c.at = c.at[:len(c.at)-1]
}

// value holds one value against its shape. A value of another type is only that;
// what its shape says beyond has no meaning for it.
func (c *checker) value(s *shape, v any) {
	s = resolve(c.defs, s)
	switch {
	case s == nil:
		c.refuse(sandbox.CodeDocumentSyntax, found(v), "a field that the published schema describes", "report this: the build is broken")
	case s.Const != nil:
		if v != s.Const {
			c.refuse(sandbox.CodeUnknownWord, found(v), found(s.Const)+", or no field at all", "write that value or remove the field")
		}
	case s.Enum != nil:
		if word, ok := v.(string); !ok || !slices.Contains(s.Enum, word) {
			c.refuse(sandbox.CodeUnknownWord, found(v), "one of "+words(s.Enum), "write one of these words exactly")
		}
	default:
		c.typed(s, v)
	}
}

func (c *checker) typed(s *shape, v any) {
	switch v := v.(type) {
	case map[string]any:
		if c.isType(s, v, "object") {
			c.object(s, v)
		}
	case []any:
		if c.isType(s, v, "array") {
			c.array(s, v)
		}
	case string:
		if c.isType(s, v, "string") || s.Type == "" {
			c.text(s, v)
		}
	case float64:
		if c.isType(s, v, "integer") {
			c.integer(s, v)
		}
	default:
		c.isType(s, v, "")
	}
}

func (c *checker) isType(s *shape, v any, have string) bool {
	if s.Type == have || s.Type == "" {
		return true
	}
	c.refuse(sandbox.CodeDocumentType, found(v), "type "+s.Type, "write a value of that type")
	return false
}

func (c *checker) object(s *shape, v map[string]any) {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			c.refuse(sandbox.CodeMissing, "no "+name, name, "state "+name, sandbox.Attr(name))
		}
	}
	c.length(len(v), s.MinProperties, s.MaxProperties, "entry")
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if c.full() {
			return
		}
		switch property := s.Properties[name]; {
		case property != nil:
			c.enter(sandbox.Attr(name), property, v[name])
		case s.open():
			if s.PropertyNames != nil {
				c.name(s.PropertyNames, name)
			}
			c.enter(sandbox.MapKey(name), s.Others.shape, v[name])
		default:
			c.refuse(sandbox.CodeDocumentUnknownField, sandbox.Echo(name), "only fields of sandbox/v1, spelt exactly",
				"remove the field, or correct its spelling", sandbox.Attr(name))
		}
	}
}

// name holds a name that somebody chose against what names may be.
func (c *checker) name(s *shape, name string) {
	inner := checker{defs: c.defs}
	inner.value(s, name)
	if len(inner.refusals) > 0 {
		c.refuse(inner.refusals[0].Code, sandbox.Echo(name), "a name that the schema admits: "+inner.refusals[0].Required,
			"choose another name", sandbox.MapKey(name))
	}
}

func (c *checker) array(s *shape, v []any) {
	c.length(len(v), s.MinItems, s.MaxItems, "entry")
	if s.UniqueItems {
		c.unique(v)
	}
	if s.Items == nil {
		return
	}
	for i, item := range v {
		c.enter(sandbox.Index(i), s.Items, item)
	}
}

// unique refuses a list that says something twice. Only words are compared: the
// schema asks it of lists of words.
func (c *checker) unique(v []any) {
	seen := make(map[string]bool, len(v))
	for _, item := range v {
		word, ok := item.(string)
		if ok && seen[word] {
			c.refuse(sandbox.CodeDocumentNotCanonical, sandbox.Echo(word)+" twice", "each word once", "remove the repetition")
			return
		}
		seen[word] = true
	}
}

// text bounds the length of a text, in characters.
func (c *checker) text(s *shape, v string) {
	if s.MinLength > 0 || s.MaxLength > 0 {
		c.length(utf8.RuneCountInString(v), s.MinLength, s.MaxLength, "character")
	}
}

func (c *checker) integer(s *shape, v float64) {
	switch {
	case v != math.Trunc(v):
		c.refuse(sandbox.CodeDocumentType, found(v), "type integer", "write a whole number")
	case s.Minimum != nil && v < *s.Minimum, s.Maximum != nil && v > *s.Maximum:
		c.refuse(sandbox.CodeOutOfRange, found(v), "a number within the schema's range", "write a whole number in that range")
	}
}

// length bounds a text, an object or a list by how many units it has; a most of 0
// is none.
func (c *checker) length(n, least, most int, unit string) {
	switch {
	case n < least:
		c.refuse(sandbox.CodeMissing, counted(n, unit), "at least "+counted(least, unit),
			"add what is missing, or leave the field out if it may be absent")
	case most > 0 && n > most:
		c.refuse(sandbox.CodeOutOfRange, counted(n, unit), "at most "+counted(most, unit), "shorten it")
	}
}

// counted reads "1 entry" or "2 entries".
func counted(n int, unit string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(unit, "y"):
		unit = strings.TrimSuffix(unit, "y") + "ies"
	default:
		unit += "s"
	}
	return strconv.Itoa(n) + " " + unit
}

func words(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = sandbox.Echo(v)
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
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	default:
		return "a value"
	}
}
