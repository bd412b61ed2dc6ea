package sandboxtest_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/acas"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// A host's test runs a program in a sandbox of the backend acas, without Azure.
func ExampleStartACAS() {
	t := &exampleTest{} // in a test it is the test's own *testing.T
	defer t.end()
	emulator := sandboxtest.StartACAS(t, sandboxtest.ACASOptions{
		// The one program that the sandboxes of this test know.
		Exec: func(_ context.Context, files *sandboxtest.ACASFiles, req engine.ExecRequest) (int, error) {
			if req.Args[0] != "greet" {
				return 127, nil
			}
			if err := files.Write(req.Dir+"/greeted.txt", []byte(req.Args[1])); err != nil {
				return 0, err
			}
			_, err := fmt.Fprintf(req.Stdout, "hello, %s\n", strings.Join(req.Args[1:], " "))
			return 0, err
		},
	})
	group := emulator.Group(t, "agents")
	b, err := acas.New(acas.Config{
		Subscription: group.Subscription, ResourceGroup: group.ResourceGroup, Group: group.Group, Location: group.Location,
		Endpoint: emulator.URL, RootCAs: emulator.Roots, Credential: emulator.Credential(),
		EmulatorIsolation: sandbox.IsolationMicroVM, // what the test pretends
	})
	if err != nil {
		t.Fatalf("making the backend: %v", err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("closing the backend: %v", err)
		}
	})

	requires := sandbox.SetOf(sandbox.CapabilityExec, sandbox.CapabilityFilesOut)
	digest := "sha256:" + strings.Repeat("0", 64) // a router gives those of its manifest
	acquired, err := b.Acquire(t.Context(), sandbox.AcquireRequest{
		Owner: "example", Key: sandbox.Key{Scope: "tenant", Thread: "conversation", Agent: "greeter"},
		Spec: sandbox.Spec{
			Kind: "greeter", Backend: acas.Name, Requires: &requires, Image: sandbox.Image{Prebuilt: "ubuntu"},
			Egress: sandbox.Egress{Mode: sandbox.EgressClosed},
		},
		SpecDigest: digest, PolicyDigest: digest,
	})
	if err != nil {
		t.Fatalf("acquiring a sandbox: %v", err)
	}
	result, err := acquired.Session.Exec(t.Context(), sandbox.Command{Args: []string{"greet", "world"}})
	if err != nil {
		t.Fatalf("running a program: %v", err)
	}
	fmt.Printf("%s%d sandbox\n", result.Stdout, len(emulator.Guests()))
	// Output:
	// hello, world
	// 1 sandbox
}
