package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/acas"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func TestGroupsIDSaysWhereItIs(t *testing.T) {
	t.Parallel()
	id := "/subscriptions/s/resourceGroups/rg-agents/providers/Microsoft.App/sandboxGroups/agents"
	config, err := place(id, "westeurope")
	if err != nil || config.Subscription != "s" || config.ResourceGroup != "rg-agents" || config.Group != "agents" || config.Location != "westeurope" {
		t.Errorf("%+v, %v", config, err)
	}
	if _, err := place("agents", "westeurope"); err == nil {
		t.Error("a name alone is taken for an id")
	}
}

// nobody cannot sign in, and asking again does not help.
type nobody struct{}

func (nobody) Error() string { return "nobody signs in" }
func (nobody) NonRetriable() {}

func (nobody) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, nobody{}
}

// The example's plan relied on what the service's vendor says of it. An emulator says the
// same and is not believed; at the service's own hosts the host goes on to sign in.
func TestHostAsksThePlansQuestionAgain(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile(filepath.Join("testdata", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	emulator := sandboxtest.StartACAS(t)
	elsewhere := acas.Config{
		Subscription: "00000000-0000-0000-0000-0000000000aa", ResourceGroup: "rg-agents", Group: "agents", Endpoint: emulator.URL, Transport: emulator,
		EmulatorIsolation: sandbox.IsolationMicroVM, Credential: nobody{},
	}
	outputs := filepath.Join(t.TempDir(), "outputs")
	accepted := manifest.DigestOf(document)
	if err := chart(t.Context(), document, accepted, elsewhere, nil, outputs); !errors.Is(err, sandbox.CodeEgressGuarantee) {
		t.Errorf("an emulator: %v", err)
	}
	changed := append([]byte(" "), document...)
	if err := chart(t.Context(), changed, accepted, elsewhere, nil, outputs); !errors.Is(err, sandbox.CodeDigestMismatch) {
		t.Errorf("another manifest: %v", err)
	}
	service := elsewhere
	service.Endpoint, service.Transport, service.EmulatorIsolation, service.Location = "", nil, sandbox.IsolationUnspecified, "westeurope"
	if err := chart(t.Context(), document, accepted, service, nil, outputs); !errors.Is(err, nobody{}) {
		t.Errorf("the service: %v", err)
	}
	if n := len(emulator.Requests()); n != 0 {
		t.Errorf("%d requests for what is refused", n)
	}
}
