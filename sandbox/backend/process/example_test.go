package process_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// A host runs Python under the manifest that a plan admitted, and keeps what the
// workload declares as its outputs. What cannot be promised on this machine is
// refused by New and Attach.
func Example() {
	_ = func(ctx context.Context, document []byte, accepted manifest.Digest) error {
		config := process.Config{}
		if os.Geteuid() == 0 {
			config.Users = process.Users{First: 2147300000, Count: 100} // ids that nothing else uses
		}
		b, err := process.New(ctx, config)
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
		hello, err := r.Attach(ctx, "hello")
		if err != nil {
			return err
		}
		sink, err := output.NewDirSink("outputs", output.DirOptions{})
		if err != nil {
			return err
		}
		defer sink.Close() //nolint:errcheck // an example
		key := sandbox.Key{Scope: "tenant", Thread: "conversation", Agent: "analyst"}
		return hello.Call(ctx, key, func(ctx context.Context, s *sandbox.Session) error {
			result, err := s.Exec(ctx, sandbox.Command{
				Args:    []string{"python3", "-c", "open('answer.txt', 'w').write('42')"},
				Timeout: time.Minute,
			})
			if err != nil {
				return err
			}
			if result.ExitCode != 0 {
				return fmt.Errorf("python3 ended with exit code %d", result.ExitCode)
			}
			_, err = output.Collect(ctx, s, hello.Spec(), sink)
			return err
		})
	}
}

// A host tells its operators what sandboxes were refused, and how a workload would
// have to be changed if they were meant to.
func ExampleEgressConfig() {
	_ = process.Config{Egress: process.EgressConfig{
		Observer: func(id string) egress.Observer { return refusals(id) },
	}}
}

// refusals is the instance id of the sandbox whose events it is told.
type refusals string

// Observe is called with one event at a time.
func (r refusals) Observe(e egress.Event) {
	if !e.Allowed {
		fmt.Printf("%s: %s %s (%d times): %s\n", r, e.Code, e.Host, e.Count, e.Change)
	}
}
