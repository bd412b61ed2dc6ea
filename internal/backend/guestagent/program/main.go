//go:build linux

// Command program is the guest agent that is embedded in the host. It takes no
// arguments and no environment: the host's frames are on its standard input and
// its own on its standard output.
package main

import (
	"os"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/agent"
)

func main() { os.Exit(agent.Main()) }
