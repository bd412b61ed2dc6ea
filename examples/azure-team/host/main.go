// Command host runs a program in the team's workload chart on Azure, under the
// manifest that the plan printed, and lands the chart in outputs/.
//
//	terraform output -raw manifest > manifest.json
//	go run ./host -group "$(terraform output -raw group)" -location westeurope \
//	  -accept "$(terraform output -raw digest)" chart.js
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/acas"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

func main() {
	document := flag.String("manifest", "manifest.json", "the manifest, as terraform output -raw printed it")
	accept := flag.String("accept", "", "the digest that it must have, from the deployment's own configuration")
	group := flag.String("group", "", "the group's resource id")
	location := flag.String("location", "", "the group's region")
	flag.Parse()
	if err := run(context.Background(), *document, *accept, *group, *location, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path, accept, group, location, program string) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the manifest: %w", err)
	}
	code, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	accepted, err := manifest.ParseDigest(accept)
	if err != nil {
		return fmt.Errorf("-accept: %w", err)
	}
	config, err := place(group, location)
	if err != nil {
		return err
	}
	// The command line's own login; a deployed host has an identity in its place.
	if config.Credential, err = azidentity.NewAzureCLICredential(nil); err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	return chart(ctx, document, accepted, config, code, "outputs")
}

// place is where a group's resource id says that it is.
func place(id, location string) (acas.Config, error) {
	parts := strings.Split(strings.Trim(id, "/"), "/")
	if len(parts) != 8 {
		return acas.Config{}, fmt.Errorf("-group is a group's resource id, as terraform output -raw group prints it")
	}
	return acas.Config{Subscription: parts[1], ResourceGroup: parts[3], Group: parts[7], Location: location}, nil
}

// chart runs the program in a sandbox of its own and lands what it leaves. What the
// plan would refuse is refused here, with the same code.
func chart(ctx context.Context, document []byte, accepted manifest.Digest, config acas.Config, code []byte, outputs string) error {
	b, err := acas.New(config) //nolint:contextcheck // it sends nothing
	if err != nil {
		return fmt.Errorf("open the backend: %w", err)
	}
	defer b.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the program ends
	r, err := router.Open(ctx, router.Options{
		Manifest: document, Accept: []manifest.Digest{accepted}, Owner: "charts", Backends: []router.Backend{b},
	})
	if err != nil {
		return fmt.Errorf("open the manifest: %w", err)
	}
	defer r.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the program ends
	workload, err := r.Attach(ctx, "chart")
	if err != nil {
		return fmt.Errorf("attach the workload: %w", err)
	}
	if err := os.MkdirAll(outputs, 0o700); err != nil {
		return fmt.Errorf("make the folder of outputs: %w", err)
	}
	sink, err := output.NewDirSink(outputs, output.DirOptions{})
	if err != nil {
		return fmt.Errorf("open the folder of outputs: %w", err)
	}
	defer sink.Close() //nolint:errcheck // what landed has landed
	key := sandbox.Key{Scope: "tenant", Thread: "conversation", Agent: "analyst"}
	return workload.Call(ctx, key, func(ctx context.Context, s *sandbox.Session) error {
		if err := s.WriteFile(ctx, "chart.js", bytes.NewReader(code), int64(len(code))); err != nil {
			return err
		}
		result, err := s.Exec(ctx, sandbox.Command{Args: []string{"node", "chart.js"}, Timeout: time.Minute})
		if err != nil {
			return err
		}
		if result.ExitCode != 0 {
			return fmt.Errorf("the program ended with %d: %s", result.ExitCode, result.Stderr)
		}
		_, err = output.Collect(ctx, s, workload.Spec(), sink)
		return err
	})
}
