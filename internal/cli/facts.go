package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

func (a *app) factsCommand() *cobra.Command {
	var backend string
	cmd := &cobra.Command{
		Use:   "facts",
		Short: "What backends promise, and on what evidence",
		Long: `facts prints what backends declare: the isolation they give, what they can do, how
they confine the network, and what stands behind each claim. A backend that this
binary can run speaks for itself; for the others the shipped facts are printed.
One that depends on its machine looks at this one when it is named, and says what
it lacks.

With --backend and --format json it prints the document that the attribute
backend_facts and the flag --facts take.

` + remoteHelp,
		Example: `  sandboxctl facts
  sandboxctl facts --backend wasm --format json > wasm.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.runtime != "" && backend == "" {
				return badInput("--runtime belongs to one backend; name it with --backend")
			}
			if a.remote != (remote{}) && backend == "" {
				return badInput("--group and what belongs to it are about one backend; name it with --backend")
			}
			names := facts.Names()
			if backend != "" {
				names = []string{backend}
			}
			if a.format == "json" && len(names) != 1 {
				return badInput("--format json prints one document; name the backend with --backend: %s", strings.Join(names, ", "))
			}
			for i, name := range names {
				if i > 0 {
					fmt.Fprintln(a.out)
				}
				if err := a.printFacts(cmd.Context(), name, backend != ""); err != nil {
					return inInput("--backend", err)
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&backend, "backend", "", "the one backend to print")
	a.runtimeFlag(cmd)
	a.remoteFlags(cmd)
	a.formatFlag(cmd, "text", "json")
	return cmd
}

func (a *app) printFacts(ctx context.Context, name string, probe bool) error {
	d, source, err := a.declarations(ctx, name, probe)
	if err != nil {
		return err
	}
	if a.format != "json" {
		_, err := fmt.Fprint(a.out, factsText(d, source))
		return err
	}
	document, err := manifest.EncodeDeclarations(d)
	if err != nil {
		return err
	}
	value := jsontext.Value(document)
	if err := value.Indent(jsontext.WithIndent("  ")); err != nil {
		return fmt.Errorf("lay the facts out: %w", err)
	}
	_, err = a.out.Write(append(plaintext.JSON(value), '\n'))
	return err
}

// declarations are a backend's own where this binary has it, else the shipped
// ones. A machine is probed when that is asked for.
func (a *app) declarations(ctx context.Context, name string, probe bool) (d sandbox.Declarations, source string, err error) {
	switch b, ok, err := a.backend(name); {
	case err != nil:
		return sandbox.Declarations{}, "", err
	case ok && b.Reach != nil:
		return a.remoteDeclarations(ctx, name, b)
	case ok && a.remote != (remote{}):
		_, _, err := a.reaching(ctx, name, b, nil)
		return sandbox.Declarations{}, "", err
	case ok && b.Probe != nil && probe:
		d, err := b.Probe(ctx)
		return d, "as probed on this machine", err
	case ok && b.Probe != nil:
		return b.Declarations(), "as on every machine; sandboxctl facts --backend " + name + " probes this one", nil
	case ok:
		return b.Declarations(), "as this binary runs it", nil
	}
	d, err = facts.Lookup(name)
	return d, shippedFacts, err
}

func factsText(d sandbox.Declarations, source string) string {
	page := show.NewPage(0, 14)
	page.Row(d.Backend, strings.TrimPrefix(facts.Summary(d.Backend)+"; "+source, "; "))
	page.Gap()
	claim(page, "isolation", d.Isolation.String(), d.IsolationEvidence)
	capabilities := sandbox.DefaultCapabilities()
	if d.Capabilities != nil {
		capabilities = *d.Capabilities
	}
	page.Row("capabilities", wordsOrNone(capabilities.Strings()))
	page.Row("egress", wordsOrNone(d.EgressModes.Strings()))
	label := "guarantees"
	for _, g := range sandbox.Guarantees() {
		e, given := d.Guarantees[g]
		if !given {
			e = sandbox.Evidence{}
		}
		claim(page, label, g.String(), e)
		label = ""
	}
	if capabilities.Has(sandbox.CapabilityEgressMethods) {
		methods := "any"
		if d.MethodTokens != nil {
			methods = wordsOrNone(d.MethodTokens)
		}
		page.Row("methods", methods)
	}
	page.Row("files in", show.Limits(d.FilesIn.Or(sandbox.DefaultTransferLimits())))
	page.Row("files out", show.Limits(d.FilesOut.Or(sandbox.DefaultTransferLimits())))
	page.Row("write authority", max(d.WriteAuthority, sandbox.WriteAuthorityGuest).String())
	scopes := d.IsolationScopes
	if scopes.Empty() {
		scopes = sandbox.SetOf(sandbox.ScopeConversation)
	}
	page.Row("kept apart", "by "+strings.Join(scopes.Strings(), ", by "))
	page.Row("images", wordsOrNone(d.ImageSources.Strings()))
	page.Row("guests", wordsOrNone(d.OSFamilies.Strings()))
	identity := "none attached"
	if d.AttachedIdentity.Attached() {
		identity = fmt.Sprintf("attached, %s, for %s seconds, through %s",
			d.AttachedIdentity.Scope, show.Count(d.AttachedIdentity.RetentionSeconds), d.AttachedIdentity.Channels)
	}
	page.Row("identity", identity)
	for i, c := range d.ProgramChannels {
		label := "programs"
		if i > 0 {
			label = ""
		}
		page.Row(label, programText(c))
	}
	if d.ObservesEgress {
		page.Row("reports", "what its sandboxes connected to")
	}
	if d.ExclusiveAdmission {
		page.Row("admits", "one call at a time")
	}
	return page.String()
}

// programText is a channel for whole programs, with what it carries and builds on.
func programText(c sandbox.ProgramChannel) string {
	text := c.Name + " for " + strings.Join(c.Profiles, ", ")
	if c.HostTools {
		text += ", with host tools"
	}
	if !c.Needs.Empty() {
		text += ", needs " + c.Needs.String()
	}
	return text
}

// claim is a row of what is claimed and the ground for it, each in its column.
func claim(page *show.Page, label, what string, e sandbox.Evidence) {
	if e.Kind == sandbox.EvidenceKindUnspecified {
		page.Row(label, show.Pad(what, 19)+"not claimed")
		return
	}
	page.Columns(show.Pad(label, 14)+show.Pad(what, 19)+show.Pad(e.Kind.String(), 12), e.Reference)
}

func wordsOrNone(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}
