package wire

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Page is one answer to a list operation.
type Page[T any] struct {
	Items []T
	// Next is an absolute URL, empty on the last page and always where the service
	// answers a bare array.
	Next  string
	Extra Extra
}

// DecodePage reads a list in either form: a bare array, or an object with the
// items below key (usually "value") and perhaps a nextLink. Anything else is
// refused, null above all: reading it as an empty list would let what exists be
// taken for gone.
func DecodePage[T any](b []byte, key string) (Page[T], error) {
	page := Page[T]{Items: []T{}}
	value := jsontext.Value(b)
	switch kind := value.Kind(); {
	case kind == '[' && key == "value":
		if err := Decode(b, &page.Items); err != nil {
			return Page[T]{}, err
		}
		return page, nil
	case kind != '{':
		return Page[T]{}, fmt.Errorf("a list is a %s here, not an object or an array by contract", kindName(kind))
	}
	members := Extra{}
	if err := Decode(b, &members); err != nil {
		return Page[T]{}, err
	}
	items, ok := members[key]
	if !ok || items.Kind() != '[' {
		return Page[T]{}, fmt.Errorf("a list has no array below %q", key)
	}
	if err := Decode(items, &page.Items); err != nil {
		return Page[T]{}, err
	}
	if next, ok := members["nextLink"]; ok && next.Kind() != 'n' {
		if err := Decode(next, &page.Next); err != nil {
			return Page[T]{}, errors.New("nextLink is not text")
		}
	}
	delete(members, key)
	delete(members, "nextLink")
	page.Extra = members
	return page, nil
}

func kindName(k jsontext.Kind) string {
	if k == 0 {
		return "broken document"
	}
	return k.String()
}

// ListDocument is a list in the form of an object, as it is written.
type ListDocument[T any] struct {
	Value    []T    `json:"value"`
	NextLink string `json:"nextLink,omitempty"`
}

// SecretDocument is the list of secrets, which has a name of its own.
type SecretDocument struct {
	Secrets []Secret `json:"secrets"`
}

// EgressPolicyDocument is the list of named egress policies, which has one too.
type EgressPolicyDocument struct {
	EgressPolicies []NamedEgressPolicy `json:"egressPolicies"`
}
