// Command cmd rebuilds the embedded guest. It is run by `go generate` in the
// directory that embeds it and takes no arguments.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/build"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := write(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(ctx context.Context) error {
	guest, err := build.Guest(ctx, "guest")
	if err != nil {
		return err
	}
	if err := os.WriteFile(build.PackedName, guest.Packed, 0o644); err != nil {
		return err
	}
	return os.WriteFile(build.DigestName, guest.Digests(), 0o644)
}
