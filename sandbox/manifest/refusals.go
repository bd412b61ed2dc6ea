package manifest

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// mapFields are the fields whose members are named by people, so that a path
// into them is a map key and not an attribute.
var mapFields = []string{"workloads", "egress_rules", "outputs", "labels", "guarantees"}

// locate turns the steps of a JSON location into a field path. A step below a
// map field is a key; a number below anything else is an index.
func locate(steps []string) sandbox.FieldPath {
	path := make(sandbox.FieldPath, 0, len(steps))
	for i, step := range steps {
		below := ""
		if i > 0 {
			below = steps[i-1]
		}
		switch index, err := strconv.Atoi(step); {
		case isMapField(below) && !isMapKey(path):
			path = append(path, sandbox.MapKey(step))
		case err == nil && i > 0:
			path = append(path, sandbox.Index(index))
		default:
			path = append(path, sandbox.Attr(step))
		}
	}
	return path
}

func isMapField(name string) bool {
	return slices.Contains(mapFields, name)
}

// isMapKey reports whether the last step so far is itself a key, in which case a
// name such as "labels" was chosen by somebody and opens no map.
func isMapKey(path sandbox.FieldPath) bool {
	if len(path) == 0 {
		return false
	}
	_, key := path[len(path)-1].MapKey()
	return key
}

func pointerPath(p jsontext.Pointer) sandbox.FieldPath {
	var steps []string
	for token := range p.Tokens() {
		steps = append(steps, token)
	}
	return locate(steps)
}

// syntax explains an error of the JSON decoder.
func syntax(err error) *sandbox.Refusal {
	f := sandbox.Finding{
		Code: sandbox.CodeDocumentSyntax, Found: "broken JSON", Required: "one whole JSON object in UTF-8",
		Remedy: "write the document with the provider or with sandboxctl",
	}
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntactic):
		f.Path = pointerPath(syntactic.JSONPointer)
		f.Found = "at byte " + strconv.FormatInt(syntactic.ByteOffset, 10) + ": " + reason(syntactic.Err)
		if errors.Is(err, jsontext.ErrDuplicateName) {
			f.Code = sandbox.CodeDocumentDuplicate
			f.Found, f.Required = "a name that was stated before", "each name once"
			f.Remedy = "remove one of the two"
		}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		f.Found = "the end of the bytes inside the document"
		f.Remedy = "fetch the document again; it was cut off"
	case errors.As(err, &semantic):
		f.Code = sandbox.CodeDocumentType
		f.Path = pointerPath(semantic.JSONPointer)
		f.Found, f.Required = "a value of another type", "what the schema says"
	}
	return f.Refusal(err)
}

// reason is the decoder's own reason without the place, which the path says.
func reason(err error) string {
	if err == nil {
		return "not JSON"
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "the document ends in the middle"
	}
	return strings.TrimPrefix(err.Error(), "jsontext: ")
}

// notCanonical shows the first place where the bytes differ from the one
// spelling of the same document.
func notCanonical(got, want []byte) *sandbox.Refusal {
	f := sandbox.Finding{
		Code: sandbox.CodeDocumentNotCanonical, Required: "the one canonical spelling (RFC 8785), without layout",
		Remedy: "take the bytes as the provider wrote them: terraform output -raw, or sandboxctl canonical",
	}
	if bytes.Equal(bytes.TrimRight(got, "\r\n\t "), want) {
		f.Found = counted(len(got)-len(want), "byte") + " of white space after the document"
		f.Remedy = "write the file without a trailing line break"
		return f.Refusal(nil)
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	f.Found = "at byte " + strconv.Itoa(i) + ": " + sandbox.Echo(excerpt(got, i))
	f.Required += ", which has there: " + sandbox.Echo(excerpt(want, i))
	return f.Refusal(nil)
}

// excerptLength is how much of a document a message shows, in bytes.
const excerptLength = 40

func excerpt(b []byte, from int) string {
	return string(b[from:min(from+excerptLength, len(b))])
}
