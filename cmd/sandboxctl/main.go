// Command sandboxctl is the policy engine on the command line. All of it is in
// internal/cli; here it is given the world and the backends that it can run.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/mattn/go-isatty"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
)

// version is the release, without a leading "v". The linker sets it
// (-X main.version=1.2.3); builds that do not get what the toolchain knows.
var version string

func main() {
	quiet()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once, whatever it waits for.
	context.AfterFunc(ctx, stop)
	code := cli.Main(ctx, cli.Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(), Version: buildVersion(),
		Backends: backends(), Guests: guests(), GuestEngines: guestEngines(),
		Terminal: isatty.IsTerminal(os.Stderr.Fd()),
	}, os.Args[1:])
	stop()
	os.Exit(code)
}

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
