//go:build linux

// Command program is the guest agent that is embedded in the host. As such it
// takes no arguments and no environment: the host's frames are on its standard
// input and its own on its standard output. With arguments it is a program of the
// guest, see [agent.Dial].
package main

import (
	"os"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/agent"
)

func main() {
	if len(os.Args) > 1 {
		os.Exit(agent.Dial(os.Args[1:]))
	}
	os.Exit(agent.Main())
}
