package sandboxtest

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// ACASGroup names a sandbox group, in the words of the backend acas.
type ACASGroup struct {
	// Subscription, ResourceGroup and Group are its id, and Location its region.
	Subscription, ResourceGroup, Group, Location string
}

// Credential is what the emulator takes for a sign-in: tokens that name their
// audience and nobody. The service takes none of them.
func (a *ACAS) Credential() azcore.TokenCredential { return auth.Emulator{} }

// Group makes an empty sandbox group of that name, or answers the one that is there.
func (a *ACAS) Group(tb testing.TB, name string) ACASGroup {
	tb.Helper()
	made := ACASGroup{Subscription: "00000000-0000-0000-0000-0000000000aa", ResourceGroup: "rg", Group: name, Location: "swedencentral"}
	client, err := acasapi.New(acasapi.Config{
		ARMEndpoint: a.URL, DataEndpoint: a.URL, ExactEndpoints: []string{a.URL}, Transport: a, Credential: a.Credential(),
	})
	if err != nil {
		tb.Fatalf("making a group: %v", err)
	}
	id := acasapi.GroupID{Subscription: made.Subscription, ResourceGroup: made.ResourceGroup, Name: name}
	if _, err := client.PutGroup(tb.Context(), id, wire.Group{Location: made.Location}, acasapi.Wait{}); err != nil {
		tb.Fatalf("making a group: %v", err)
	}
	return made
}
