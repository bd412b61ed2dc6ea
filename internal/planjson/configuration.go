package planjson

import (
	"errors"
	"maps"
	"strings"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Written is one block of this provider as the configuration has it, names that
// Terraform drops from its values included.
type Written struct {
	// Address is the block's, without the keys of instances.
	Address string
	Kind    string
	// Objects are the attributes that are objects or maps and written out whole. A plan
	// does not say what is written where anything in an attribute is computed.
	Objects map[string]any

	provider string // its key in the configuration's provider_config
}

// expressions are the attributes of a block, those that are no objects left out: a
// policy's hosts may be many.
type expressions map[string]any

func (e *expressions) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*e = expressions{}
	return members(d, func(name string) error {
		if d.PeekKind() != '{' {
			return d.SkipValue() // a nested block
		}
		return members(d, func(part string) error {
			if part != "constant_value" || d.PeekKind() != '{' {
				return d.SkipValue()
			}
			var value map[string]any
			err := json.UnmarshalDecode(d, &value)
			(*e)[name] = value
			return err
		})
	})
}

// writtenResource is a block of a module.
type writtenResource struct {
	Address     string      `json:"address"`
	Type        string      `json:"type"`
	Provider    string      `json:"provider_config_key"`
	Expressions expressions `json:"expressions"`
}

// readConfiguration reads the configuration of a plan, and keeps what is ours.
func readConfiguration(d *jsontext.Decoder) ([]Written, error) {
	var all []Written
	names := map[string]string{} // of providers, by their keys
	err := members(d, func(name string) error {
		switch name {
		case "provider_config":
			return members(d, func(key string) error {
				var provider struct {
					Name string `json:"full_name"`
				}
				err := json.UnmarshalDecode(d, &provider)
				names[key] = provider.Name
				return err
			})
		case "root_module":
			return readModule(d, "", 0, &all)
		default:
			return d.SkipValue()
		}
	})
	ours := all[:0]
	for _, w := range all {
		if name, said := names[w.provider]; !said || Ours(name) {
			ours = append(ours, w)
		}
	}
	return ours, err
}

// maxModuleDepth is how deep modules may call each other.
const maxModuleDepth = 100

func readModule(d *jsontext.Decoder, prefix string, depth int, all *[]Written) error {
	if depth > maxModuleDepth {
		return errors.New("modules are nested too deeply")
	}
	return members(d, func(name string) error {
		switch name {
		case "resources":
			return each(d, func(r writtenResource) {
				if strings.HasPrefix(r.Type, "sandbox_") && len(r.Expressions) > 0 {
					*all = append(*all, Written{prefix + r.Address, r.Type, maps.Clone(r.Expressions), r.Provider})
				}
			})
		case "module_calls":
			return members(d, func(called string) error {
				return members(d, func(part string) error {
					if part != "module" {
						return d.SkipValue()
					}
					return readModule(d, prefix+"module."+called+".", depth+1, all)
				})
			})
		default:
			return d.SkipValue()
		}
	})
}

// members reads an object member by member; take reads the value of each. Null is an
// empty object.
func members(d *jsontext.Decoder, take func(name string) error) error {
	if d.PeekKind() == 'n' {
		return d.SkipValue()
	}
	if token, err := d.ReadToken(); err != nil {
		return err
	} else if token.Kind() != '{' {
		return errors.New("not an object")
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		if err := take(name.String()); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}
