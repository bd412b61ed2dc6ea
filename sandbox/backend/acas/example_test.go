package acas_test

import (
	"context"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/acas"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// A host on Azure runs a program under the manifest that a plan admitted, in the group
// that it names. For a test without Azure see [sandboxtest.StartACAS], whose example
// gives every field of Config.
func Example() {
	_ = func(ctx context.Context, document []byte, accepted manifest.Digest, subscription string) error {
		credential, err := azidentity.NewManagedIdentityCredential(nil)
		if err != nil {
			return err
		}
		b, err := acas.New(acas.Config{ //nolint:contextcheck // making one asks nobody
			Subscription: subscription, ResourceGroup: "agents", Group: "agents", Location: "swedencentral", Credential: credential,
		})
		if err != nil {
			return err
		}
		defer b.Close(context.WithoutCancel(ctx)) //nolint:errcheck // an example
		r, err := router.Open(ctx, router.Options{
			Manifest: document, Accept: []manifest.Digest{accepted}, Owner: "reports-api", Backends: []router.Backend{b},
		})
		if err != nil {
			return err
		}
		defer r.Close(context.WithoutCancel(ctx)) //nolint:errcheck // an example
		script, err := r.Attach(ctx, "script")
		if err != nil {
			return err
		}
		key := sandbox.Key{Scope: "tenant", Thread: "conversation", Agent: "analyst"}
		return script.Call(ctx, key, func(ctx context.Context, s *sandbox.Session) error {
			result, err := s.Exec(ctx, sandbox.Command{Args: []string{"python3", "--version"}})
			if err != nil {
				return err
			}
			if result.ExitCode != 0 {
				return fmt.Errorf("python3 ended with exit code %d", result.ExitCode)
			}
			return nil
		})
	}
	// Output:
}
