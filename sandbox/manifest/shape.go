package manifest

import (
	"fmt"
	"strings"
	"sync"

	json "github.com/go-json-experiment/json"
)

// shape is one subschema of the published schema: the keywords that the schema
// uses, and no others. Reading the schema fails on any other keyword, so that
// none can be written there and not be enforced here. A test holds shape against
// a complete implementation of JSON Schema.
//
// It is not that implementation itself because the provider is started three
// times in every plan, and preparing to validate any schema took as long as all
// else that the provider does before it serves.
type shape struct {
	Description string            `json:"description"`
	Ref         string            `json:"$ref"`
	Type        string            `json:"type"`
	Enum        []string          `json:"enum"`
	Const       any               `json:"const"`
	Properties  map[string]*shape `json:"properties"`
	Required    []string          `json:"required"`
	// Others is what additionalProperties says: nil for "none".
	Others        *members `json:"additionalProperties"`
	PropertyNames *shape   `json:"propertyNames"`
	MinProperties int      `json:"minProperties"`
	MaxProperties int      `json:"maxProperties"`
	Items         *shape   `json:"items"`
	UniqueItems   bool     `json:"uniqueItems"`
	MinItems      int      `json:"minItems"`
	MaxItems      int      `json:"maxItems"`
	MinLength     int      `json:"minLength"`
	MaxLength     int      `json:"maxLength"`
	Minimum       *float64 `json:"minimum"`
	Maximum       *float64 `json:"maximum"`
}

// members is additionalProperties: false, or the shape of every member whose
// name somebody chose.
type members struct{ shape *shape }

// UnmarshalJSON reads false or a subschema; true would admit what nobody reads.
func (m *members) UnmarshalJSON(b []byte) error {
	if string(b) == "false" {
		return nil
	}
	m.shape = &shape{}
	return json.Unmarshal(b, m.shape, json.RejectUnknownMembers(true))
}

// open reports whether the object's names are chosen by people.
func (s *shape) open() bool { return s.Others != nil && s.Others.shape != nil }

// shapes reads the embedded schema on first use.
var shapes = sync.OnceValues(func() (map[string]*shape, error) {
	var published struct {
		Schema      string            `json:"$schema"`
		Title       string            `json:"title"`
		Description string            `json:"description"`
		OneOf       []shape           `json:"oneOf"`
		Defs        map[string]*shape `json:"$defs"`
	}
	if err := json.Unmarshal(schema, &published, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("reading the published schema: %w", err)
	}
	return published.Defs, nil
})

const refPrefix = "#/$defs/"

// resolve follows a reference to its definition.
func resolve(defs map[string]*shape, s *shape) *shape {
	for s != nil && s.Ref != "" {
		s = defs[strings.TrimPrefix(s.Ref, refPrefix)]
	}
	return s
}
