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

// fill returns the object with its computed attributes set.
func (c computed) fill(object tftypes.Value) (tftypes.Value, error) {
	attrs := map[string]tftypes.Value{}
	if err := object.As(&attrs); err != nil {
		return object, fmt.Errorf("read the planned object: %w", err)
	}
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
