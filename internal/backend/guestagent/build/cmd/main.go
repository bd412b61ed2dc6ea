// Command cmd rebuilds the embedded agents. It is run by `go generate` in the
// directory that embeds them and takes no arguments.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/build"
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
	files, err := build.Agents(ctx, "program")
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
