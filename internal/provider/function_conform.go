package provider

import (
	"fmt"
	"math/big"
	"strconv"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// conform turns a value into one of the given type, as Terraform does when it
// hands an object to an attribute: a tuple becomes a list, an object a map, a
// number its text, and an attribute that is absent is null. What is unknown stays
// unknown. It fails where a reading of the same value finds another type.
func conform(v tftypes.Value, to tftypes.Type) (tftypes.Value, error) {
	switch {
	case !v.IsKnown():
		return tftypes.NewValue(to, tftypes.UnknownValue), nil
	case v.IsNull():
		return tftypes.NewValue(to, nil), nil
	}
	switch to := to.(type) {
	case tftypes.Object:
		return conformObject(v, to)
	case tftypes.Map:
		return conformMap(v, to)
	case tftypes.List:
		return conformList(v, to)
	default:
		return conformPrimitive(v, to)
	}
}

func conformObject(v tftypes.Value, to tftypes.Object) (tftypes.Value, error) {
	var given map[string]tftypes.Value
	if err := v.As(&given); err != nil {
		return v, fmt.Errorf("read %s as an object: %w", typeName(v), err)
	}
	attributes := make(map[string]tftypes.Value, len(to.AttributeTypes))
	for name, typ := range to.AttributeTypes {
		attributes[name] = tftypes.NewValue(typ, nil)
		part, ok := given[name]
		if !ok {
			continue
		}
		var err error
		if attributes[name], err = conform(part, typ); err != nil {
			return v, fmt.Errorf("%s: %w", name, err)
		}
	}
	return tftypes.NewValue(to, attributes), nil
}

func conformMap(v tftypes.Value, to tftypes.Map) (tftypes.Value, error) {
	var given map[string]tftypes.Value
	if err := v.As(&given); err != nil {
		return v, fmt.Errorf("read %s as a map: %w", typeName(v), err)
	}
	elements := make(map[string]tftypes.Value, len(given))
	for key, part := range given {
		var err error
		if elements[key], err = conform(part, to.ElementType); err != nil {
			return v, fmt.Errorf("%q: %w", key, err)
		}
	}
	return tftypes.NewValue(to, elements), nil
}

func conformList(v tftypes.Value, to tftypes.List) (tftypes.Value, error) {
	var given []tftypes.Value
	if err := v.As(&given); err != nil {
		return v, fmt.Errorf("read %s as a list: %w", typeName(v), err)
	}
	elements := make([]tftypes.Value, len(given))
	for i, part := range given {
		var err error
		if elements[i], err = conform(part, to.ElementType); err != nil {
			return v, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return tftypes.NewValue(to, elements), nil
}

func conformPrimitive(v tftypes.Value, to tftypes.Type) (tftypes.Value, error) {
	text, ok := asText(v)
	if !ok {
		return v, fmt.Errorf("read %s as a single value", typeName(v))
	}
	switch {
	case to.Is(tftypes.String):
		return textValue(text), nil
	case to.Is(tftypes.Bool):
		b, err := strconv.ParseBool(text)
		if err != nil {
			return v, fmt.Errorf("read a boolean: %w", err)
		}
		return flagValue(b), nil
	case to.Is(tftypes.Number):
		n, _, err := big.ParseFloat(text, 10, 512, big.ToNearestEven)
		if err != nil {
			return v, fmt.Errorf("read a number: %w", err)
		}
		return tftypes.NewValue(tftypes.Number, n), nil
	default:
		return v, fmt.Errorf("no conversion to %s", to)
	}
}
