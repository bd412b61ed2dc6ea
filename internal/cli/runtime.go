package cli

import (
	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// runtimeFlag adds --runtime, for backends that can build sandboxes in more than
// one way.
func (a *app) runtimeFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.runtime, "runtime", "", "what builds the backend's sandboxes, such as runsc; its own choice by default")
}

// backend is the one of that name with the chosen runtime; ok is false where this
// binary has none of that name.
func (a *app) backend(name string) (b Backend, ok bool, err error) {
	b, ok = a.env.Backends[name]
	if !ok || a.runtime == "" {
		return b, ok, nil
	}
	chosen, known := b.Runtimes[a.runtime]
	if !known {
		return Backend{}, true, badInput("--runtime %s: backend %s has %s", sandbox.Echo(a.runtime), name, wordsOrNone(sortedKeys(b.Runtimes)))
	}
	return chosen, true, nil
}
