package sandbox_test

import (
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestAPlaceIsTheGroupAndTheEndpointThatADocumentNames(t *testing.T) {
	t.Parallel()
	p := sandbox.Place{Group: "/subscriptions/S/g", Endpoint: "https://a.example"}
	for _, c := range []struct {
		group, endpoint string
		is              bool
	}{
		{"/subscriptions/s/G", "", true},
		{"/subscriptions/S/g", "https://a.example/", true},
		{"/subscriptions/S/g", "https://a.example:8443", false},
		{"/subscriptions/S/g", "https://A.example", false},
		{"/subscriptions/S/h", "https://a.example", false},
		{"", "", false},
	} {
		if got := p.Is(c.group, c.endpoint); got != c.is {
			t.Errorf("%q at %q: %v", c.group, c.endpoint, got)
		}
	}
}
