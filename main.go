// Command terraform-provider-sandbox is the provider's plugin process. Terraform
// starts it several times per plan, so it does nothing before it serves; all of
// the provider is in internal/provider.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	tfaddr "github.com/hashicorp/terraform-registry-address"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/provider"
)

// version is the release, without a leading "v". The linker sets it
// (-X main.version=1.2.3); see buildVersion for builds that do not.
var version string

func main() {
	// What libraries write through package log would stand in Terraform's output as it
	// came, some of it chosen by servers.
	log.SetOutput(io.Discard)
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("terraform-provider-sandbox", flag.ContinueOnError)
	debugger := flags.Bool("debug", false, "keep running and print what TF_REATTACH_PROVIDERS must hold, for use under a debugger")
	showVersion := flags.Bool("version", false, "print the version and exit")
	flags.SetOutput(io.Discard) // a mistake is told once, by main
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stdout)
		flags.Usage()
		return nil
	case err != nil:
		return fmt.Errorf("read the command line: %w", err)
	}
	if *showVersion {
		_, err := fmt.Fprintln(stdout, buildVersion())
		return err
	}
	if !*debugger { // under a debugger, logs are on a person's screen
		if err := silence(os.Getenv, os.Setenv); err != nil {
			return err
		}
	}
	serve, end := provider.Process(buildVersion())
	if !*debugger {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go outlived(ctx, os.Getppid, time.Tick(time.Second), func() { os.Exit(1) })
	}
	err := providerserver.Serve(ctx, serve, providerserver.ServeOpts{
		Address:         address(),
		Debug:           *debugger,
		ProtocolVersion: 6,
	})
	if err == nil {
		err = end()
	}
	return err
}

// outlived calls end when the process that started this one is gone: a Terraform that
// is killed tells its providers nothing, and one that stayed would keep the next run
// from taking up its work. Where a system does not say so, as Windows, it stays.
func outlived(ctx context.Context, parent func() int, ticks <-chan time.Time, end func()) {
	started := parent()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
			if parent() != started {
				end()
				return
			}
		}
	}
}

// address is what Terraform expands source = "sandbox-iac/sandbox" to. It only
// labels log lines and the reattach information that -debug prints.
func address() string {
	return tfaddr.Provider{
		Hostname:  tfaddr.DefaultProviderRegistryHost,
		Namespace: "sandbox-iac",
		Type:      provider.TypeName,
	}.String()
}

// buildVersion is the linked version, or what the Go toolchain knows of the
// build, or "dev".
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
