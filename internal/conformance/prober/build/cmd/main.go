// Command cmd rebuilds the embedded prober. It is run by `go generate` in the
// directory that embeds it and takes no arguments.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/prober/build"
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
	// The list stands here, too: what embeds the files does not compile before
	// they are there.
	files, err := build.Files(ctx, "guest", []string{"amd64", "arm64"})
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
