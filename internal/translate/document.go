package translate

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const (
	// MaxInput is the largest file that is read, in bytes.
	MaxInput = 1 << 20
	// maxDepth is how deep a file may nest. The formats need 12.
	maxDepth = 32
	// maxDocuments is how many YAML documents one file may hold.
	maxDocuments = 200
)

// node is one value of a source and where it stands.
type node struct {
	value *yaml.Node
	path  sandbox.FieldPath
}

// parse reads YAML, of which JSON is a part, into mappings. It is strict: one
// meaning for every name, nothing by reference. Only where several is set may
// there be more than one document.
func parse(input []byte, several bool) ([]node, error) {
	switch {
	case len(input) > MaxInput:
		return nil, documentError(sandbox.CodeDocumentTooLarge, nil, 0, strconv.Itoa(len(input))+" bytes", "at most "+strconv.Itoa(MaxInput), "split the file")
	case !utf8.Valid(input):
		return nil, documentError(sandbox.CodeDocumentSyntax, nil, 0, "bytes that are not UTF-8", "YAML or JSON in UTF-8", "save the file as UTF-8")
	case nests(input):
		return nil, tooDeep(nil, 0)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(input))
	var roots []node
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, documentError(sandbox.CodeDocumentSyntax, nil, 0, sandbox.Echo(err.Error()), "YAML or JSON", "mend the file")
		}
		if len(document.Content) == 0 || isNull(document.Content[0]) {
			continue
		}
		root := node{value: document.Content[0]}
		if err := sound(root, 0); err != nil {
			return nil, err
		}
		if root.value.Kind != yaml.MappingNode {
			return nil, root.wrongType("a mapping")
		}
		roots = append(roots, root)
		if len(roots) > 1 && !several {
			return nil, documentError(sandbox.CodeDocumentSyntax, nil, root.value.Line, "a second document", "one document", "give one of them")
		}
		if len(roots) > maxDocuments {
			return nil, documentError(sandbox.CodeDocumentTooLarge, nil, root.value.Line, "more than "+strconv.Itoa(maxDocuments)+" documents", "fewer", "split the file")
		}
	}
	if len(roots) == 0 {
		return nil, documentError(sandbox.CodeDocumentSyntax, nil, 0, "nothing", "one document", "give the file that holds the rules")
	}
	return roots, nil
}

// nests reports whether brackets alone nest deeper than is read, whatever they
// mean, so that the parser never sees such a file. Brackets in texts count too,
// and close again.
func nests(input []byte) bool {
	const most = 1000 // no file that people write has so many open
	open := 0
	for _, c := range input {
		switch c {
		case '[', '{':
			open++
		case ']', '}':
			open = max(open-1, 0)
		}
		if open > most {
			return true
		}
	}
	return false
}

// sound refuses what makes a document mean more than is written in it.
func sound(n node, depth int) error {
	if depth > maxDepth {
		return tooDeep(n.path, n.value.Line)
	}
	switch {
	case n.value.Kind == yaml.AliasNode, n.value.Anchor != "":
		return documentError(sandbox.CodeDocumentSyntax, n.path, n.value.Line, "an anchor or an alias", "values written out", "write the value out")
	case n.value.Style&yaml.TaggedStyle != 0:
		return documentError(sandbox.CodeDocumentSyntax, n.path, n.value.Line, "the tag "+sandbox.Echo(n.value.Tag), "values without tags", "remove the tag")
	}
	if n.value.Kind == yaml.SequenceNode {
		for i := range n.value.Content {
			if err := sound(n.at(i), depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if n.value.Kind != yaml.MappingNode {
		return nil
	}
	seen := make(map[string]bool, len(n.value.Content)/2)
	for i := 0; i+1 < len(n.value.Content); i += 2 {
		key := n.value.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0 {
			return documentError(sandbox.CodeDocumentSyntax, n.path, key.Line, "a key that is no plain text", "plain names", "write the mapping out")
		}
		if seen[key.Value] {
			return documentError(sandbox.CodeDocumentDuplicate, n.path.Append(step(key.Value)), key.Line, sandbox.Echo(key.Value)+" twice", "each name once", "remove one of the two")
		}
		seen[key.Value] = true
		if err := sound(node{value: n.value.Content[i+1], path: n.path.Append(step(key.Value))}, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func tooDeep(path sandbox.FieldPath, line int) error {
	return documentError(sandbox.CodeDocumentTooLarge, path, line, "values nested more than "+strconv.Itoa(maxDepth)+" deep", "fewer levels", "give the file that holds the rules")
}

// step is how a name of the source is written in a path.
func step(name string) sandbox.PathStep {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return sandbox.MapKey(name)
		}
	}
	if name == "" {
		return sandbox.MapKey(name)
	}
	return sandbox.Attr(name)
}

func documentError(code sandbox.Code, path sandbox.FieldPath, line int, found, required, remedy string) error {
	if line > 0 {
		found = "line " + strconv.Itoa(line) + ": " + found
	}
	return sandbox.Finding{Code: code, Path: path, Found: found, Required: required, Remedy: remedy}.Refusal(nil)
}

func (n node) wrongType(required string) error {
	found := "another type"
	if n.value.Kind == yaml.ScalarNode {
		found = sandbox.Echo(n.value.Value)
	}
	return documentError(sandbox.CodeDocumentType, n.path, n.value.Line, found, required, "write "+required)
}

func isNull(v *yaml.Node) bool { return v.Kind == yaml.ScalarNode && v.Tag == "!!null" }

// at is the i-th element of a sequence.
func (n node) at(i int) node {
	return node{value: n.value.Content[i], path: n.path.Append(sandbox.Index(i))}
}

// has reports whether a mapping states a name with a value that is not null.
func (n node) has(name string) bool {
	_, ok := n.field(name)
	return ok
}

// field is the value at a name of a mapping. Null is absent, as in all formats.
func (n node) field(name string) (node, bool) {
	for key, value := range n.fields() {
		if key == name {
			return value, true
		}
	}
	return node{}, false
}

// fields yields the names and values of a mapping in their order, without those
// that are null.
func (n node) fields() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) {
		if n.value == nil || n.value.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.value.Content); i += 2 {
			key, value := n.value.Content[i], n.value.Content[i+1]
			if isNull(value) {
				continue
			}
			if !yield(key.Value, node{value: value, path: n.path.Append(step(key.Value))}) {
				return
			}
		}
	}
}

// scalar is the text of a value that is no mapping and no sequence.
func (n node) scalar() (string, bool) {
	if n.value == nil || n.value.Kind != yaml.ScalarNode {
		return "", false
	}
	return n.value.Value, true
}

// same reports whether two values are written alike, apart from layout.
func same(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || a.Tag != b.Tag || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

func quoted(words []string) string {
	shown := words
	const most = 6
	if len(words) > most {
		shown = words[:most]
	}
	all := make([]string, len(shown))
	for i, w := range shown {
		all[i] = sandbox.Echo(w)
	}
	text := strings.Join(all, ", ")
	if len(words) > most {
		text += " and " + strconv.Itoa(len(words)-most) + " more"
	}
	return text
}
