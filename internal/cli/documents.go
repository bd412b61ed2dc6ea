package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

func (a *app) canonicalCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "canonical FILE",
		Short: "Write a document in its one canonical form",
		Long: `canonical reads a policy, workload or manifest document laid out in any way, and
writes the one form that hosts and the provider accept: no layout, names and sets
sorted, no line break at the end. Nothing else is changed: what the form does not
allow is refused, not mended.

The bytes are written exactly as they are, for a file or a pipe.`,
		Example: "  sandboxctl canonical platform.json > platform-policy.json",
		Args:    one("FILE: a document, or - for standard input"),
		RunE: func(_ *cobra.Command, args []string) error {
			b, err := a.readFile(args[0], manifest.MaxDocument)
			if err != nil {
				return err
			}
			if err := noPlan(b); err != nil {
				return err
			}
			b, err = manifest.Canonical(b)
			if err != nil {
				return inInput(args[0], &exit{ExitBadInput, err})
			}
			_, err = a.env.Stdout.Write(b)
			return err
		},
	}
}

func (a *app) digestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "digest FILE",
		Short: "The digest of a document",
		Long: `digest reads a document in canonical form and prints the SHA-256 of exactly its
bytes. It is for those who write documents: to pin a policy file, or to compare
two. A host's accepted digest never comes from the file that the host opens; it
comes from the host's own configuration.`,
		Example: "  sandboxctl digest platform-policy.json",
		Args:    one("FILE: a document, or - for standard input"),
		RunE: func(_ *cobra.Command, args []string) error {
			b, err := a.readFile(args[0], manifest.MaxDocument)
			if err != nil {
				return err
			}
			if err := noPlan(b); err != nil {
				return err
			}
			if err := manifest.ParseAny(b); err != nil {
				return inInput(args[0], &exit{ExitBadInput, err})
			}
			_, err = fmt.Fprintln(a.out, manifest.DigestOf(b))
			return err
		},
	}
}
