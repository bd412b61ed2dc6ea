// Package hcltext writes values into HCL that somebody else chose: names and labels
// of a service, rules of another tool. Whatever they hold, what is written is one
// string or one comment that says the same, and shows all that it says: nothing in it
// is a template, ends a line, hides or reorders text, or commands a CI runner.
//
// [String] is for a value, [Comment] for a line about it. The package knows no
// blocks: whoever writes them has hclwrite.
package hcltext

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
)

// String is a text in quotes.
func String(text string) hclwrite.Tokens {
	// hclwrite escapes quotes, templates and what is not printed. What is printed and
	// shows nothing is left.
	tokens := hclwrite.TokensForValue(cty.StringVal(text))
	for _, token := range tokens {
		if token.Type == hclsyntax.TokenQuotedLit {
			token.Bytes = visible(token.Bytes)
		}
	}
	return tokens
}

func visible(literal []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(bytes.ReplaceAll(literal, []byte("##"), []byte(`#\u0023`))) {
		switch {
		case plaintext.Shown(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// Strings are texts as elements, for [Lines] or a tuple.
func Strings(all []string) []hclwrite.Tokens {
	elements := make([]hclwrite.Tokens, len(all))
	for i, text := range all {
		elements[i] = String(text)
	}
	return elements
}

// List writes elements between brackets, each on a line of its own.
func List(elements []hclwrite.Tokens) hclwrite.Tokens {
	return lines(hclsyntax.TokenOBrack, "[", elements, ",", hclsyntax.TokenCBrack, "]")
}

// Object writes elements between braces, each on a line of its own.
func Object(elements []hclwrite.Tokens) hclwrite.Tokens {
	return lines(hclsyntax.TokenOBrace, "{", elements, "", hclsyntax.TokenCBrace, "}")
}

// Map is a map of values by key, in the order of the keys. Every key stands in
// quotes: some words mean something where a key begins an object.
func Map(values map[string]hclwrite.Tokens) hclwrite.Tokens {
	elements := make([]hclwrite.Tokens, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		elements = append(elements, Pair(String(key), values[key]))
	}
	return Object(elements)
}

// Texts is a map of texts.
func Texts(all map[string]string) hclwrite.Tokens {
	values := make(map[string]hclwrite.Tokens, len(all))
	for key, text := range all {
		values[key] = String(text)
	}
	return Map(values)
}

// Pair is one element of an object.
func Pair(key, value hclwrite.Tokens) hclwrite.Tokens {
	all := append(slices.Clip(key), &hclwrite.Token{Type: hclsyntax.TokenEqual, Bytes: []byte("=")})
	return append(all, value...)
}

func lines(open hclsyntax.TokenType, opening string, elements []hclwrite.Tokens, after string, closing hclsyntax.TokenType, end string) hclwrite.Tokens {
	newline := &hclwrite.Token{Type: hclsyntax.TokenNewline, Bytes: []byte("\n")}
	all := hclwrite.Tokens{{Type: open, Bytes: []byte(opening)}, newline}
	for _, element := range elements {
		all = append(all, element...)
		if after != "" {
			all = append(all, &hclwrite.Token{Type: hclsyntax.TokenComma, Bytes: []byte(after)})
		}
		all = append(all, newline)
	}
	return append(all, &hclwrite.Token{Type: closing, Bytes: []byte(end)})
}

// Comment is one line that nothing in it can end.
func Comment(text string) hclwrite.Tokens {
	return hclwrite.Tokens{{Type: hclsyntax.TokenComment, Bytes: []byte("# " + plaintext.Value(text) + "\n")}}
}
