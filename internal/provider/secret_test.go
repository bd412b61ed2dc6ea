package provider

import (
	"errors"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// An ephemeral value is known when it is applied and no sooner, so that a plan says
// nothing of one that is null.
func TestASecretIsNotSentWithoutAValueThatItNames(t *testing.T) {
	t.Parallel()
	given := func(value types.String) *secretModel {
		return &secretModel{ValuesWO: types.MapValueMust(types.StringType, map[string]attr.Value{"token": value})}
	}
	values, err := new(secretModel).values(given(types.StringNull()))
	var refusal *sandbox.Refusal
	if !errors.As(err, &refusal) || refusal.Path.String() != `values_wo["token"]` || values != nil {
		t.Errorf("null: %q, %v", values, err)
	}
	if values, err := new(secretModel).values(given(types.StringValue(""))); err != nil || len(values) != 1 {
		t.Errorf("empty: %q, %v", values, err)
	}
}
