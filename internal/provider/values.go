package provider

import (
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// computed are the values of an object's computed attributes, by name. An
// attribute that cannot be known yet holds an unknown value.
type computed map[string]tftypes.Value

func textValue(text string) tftypes.Value { return tftypes.NewValue(tftypes.String, text) }

func textsValue(texts []string) tftypes.Value {
	elements := make([]tftypes.Value, len(texts))
	for i, text := range texts {
		elements[i] = textValue(text)
	}
	return tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, elements)
}

func unknownText() tftypes.Value { return tftypes.NewValue(tftypes.String, tftypes.UnknownValue) }

func unknownTexts() tftypes.Value {
	return tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, tftypes.UnknownValue)
}

// of is an object of these attributes.
func (c computed) of(typ tftypes.Type) tftypes.Value {
	return tftypes.NewValue(typ, map[string]tftypes.Value(c))
}

// fill returns the object with its computed attributes set.
func (c computed) fill(object tftypes.Value) (tftypes.Value, error) {
	attrs := map[string]tftypes.Value{}
	if err := object.As(&attrs); err != nil {
		return object, fmt.Errorf("read the planned object: %w", err)
	}
	attrs = maps.Clone(attrs) // As hands out the object's own map
	maps.Copy(attrs, c)
	if err := tftypes.ValidateValue(object.Type(), attrs); err != nil {
		return object, fmt.Errorf("fill in the computed attributes: %w", err)
	}
	return tftypes.NewValue(object.Type(), attrs), nil
}

// providerFault is the diagnostic for an error that no configuration can cause.
func providerFault(err error) diag.Diagnostic {
	return diag.NewErrorDiagnostic("The provider failed at its own work",
		"It could not "+err.Error()+".\n\nPlease report this with the configuration that led here.")
}

// computedTypes are the types of an object's attributes, for building values.
type computedTypes map[string]tftypes.Type

// attributesOf are those of an object type; no other type has any.
func attributesOf(typ tftypes.Type) computedTypes {
	object, ok := typ.(tftypes.Object)
	if !ok {
		return nil
	}
	return object.AttributeTypes
}

// unknown are the attributes when none is known yet.
func (t computedTypes) unknown() computed {
	values := make(computed, len(t))
	for name, typ := range t {
		values[name] = tftypes.NewValue(typ, tftypes.UnknownValue)
	}
	return values
}

// elementType is the type of a collection's elements.
func elementType(typ tftypes.Type) tftypes.Type {
	switch typ := typ.(type) {
	case tftypes.Map:
		return typ.ElementType
	case tftypes.List:
		return typ.ElementType
	default:
		return typ
	}
}

func textOrNull(text string) tftypes.Value {
	if text == "" {
		return tftypes.NewValue(tftypes.String, nil)
	}
	return textValue(text)
}

func flagValue(b bool) tftypes.Value { return tftypes.NewValue(tftypes.Bool, b) }

func unknownFlag() tftypes.Value { return tftypes.NewValue(tftypes.Bool, tftypes.UnknownValue) }

func textsOrNull(texts []string) tftypes.Value {
	if texts == nil {
		return tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, nil)
	}
	return textsValue(texts)
}

func numberValue(n int64) tftypes.Value { return tftypes.NewValue(tftypes.Number, n) }
