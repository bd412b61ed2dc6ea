package provider

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// priorID is the key of what a plan remembers of the object that exists.
const priorID = "prior_id"

// privateWriter is the private data of a plan, whose type the framework keeps to
// itself.
type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

// remember keeps the id of an object that exists. Terraform plans a replacement a
// second time as if nothing existed, and hands on this alone of the first.
func remember(ctx context.Context, id string, to privateWriter) diag.Diagnostics {
	text, err := json.Marshal(id)
	if err != nil {
		return diag.Diagnostics{providerFault(err)}
	}
	return to.SetKey(ctx, priorID, text)
}

// remembered is that id, empty for an object that is new in nobody's place.
func remembered(ctx context.Context, from privateReader) (id string, diags diag.Diagnostics) {
	text, diags := from.GetKey(ctx, priorID)
	if len(text) == 0 || diags.HasError() {
		return "", diags
	}
	if err := json.Unmarshal(text, &id); err != nil {
		diags.Append(providerFault(err))
	}
	return id, diags
}
