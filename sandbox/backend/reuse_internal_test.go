package backend

import (
	"reflect"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// A field added to the spec must be added to the table, or a refusal would not
// name it.
func TestEveryFieldOfASpecIsNamedWhenItDiffers(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	leaves(reflect.TypeFor[sandbox.Spec](), nil, func(index []int, name string) {
		var a, b sandbox.Spec
		change(t, reflect.ValueOf(&b).Elem().FieldByIndex(index))
		got := differingFields(&a, &b)
		if got == "" {
			t.Errorf("a spec that differs in %s is taken for the same", name)
		}
		if named[got] {
			t.Errorf("%s shares its name %q with another field", name, got)
		}
		named[got] = true
		if same := differingFields(&b, &b); same != "" {
			t.Errorf("a spec differs from itself in %s", same)
		}
	})
	if len(named) != len(specFields) {
		t.Errorf("%d fields of a spec and %d rows", len(named), len(specFields))
	}
}

func TestAnEmptyListIsNone(t *testing.T) {
	t.Parallel()
	a := sandbox.Spec{Labels: map[string]string{}, Egress: sandbox.Egress{Hosts: []string{}}}
	if got := differingFields(&a, &sandbox.Spec{}); got != "" {
		t.Errorf("differs in %s", got)
	}
}

// leaves visits the fields of a spec; of its structs only egress has fields that
// people write one by one.
func leaves(typ reflect.Type, at []int, visit func(index []int, name string)) {
	for i := range typ.NumField() {
		field := typ.Field(i)
		index := append(append([]int{}, at...), i)
		if field.Type == reflect.TypeFor[sandbox.Egress]() {
			leaves(field.Type, index, visit)
			continue
		}
		visit(index, field.Name)
	}
}

func change(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("other")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Int64:
		v.SetInt(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		m.SetMapIndex(reflect.ValueOf("k"), reflect.New(v.Type().Elem()).Elem())
		v.Set(m)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Struct:
		if set, ok := reflect.TypeAssert[*sandbox.IdentitySet](v.Addr()); ok {
			*set = sandbox.SetOf(sandbox.Identities()...)
			return
		}
		if set, ok := reflect.TypeAssert[*sandbox.GuaranteeSet](v.Addr()); ok {
			*set = sandbox.SetOf(sandbox.GuaranteeUDPDenied)
			return
		}
		change(t, v.Field(0))
	default:
		t.Fatalf("no way to change a %s", v.Kind())
	}
}
