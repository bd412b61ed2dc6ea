package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/planjson"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// checkOptions are the flags of check.
type checkOptions struct {
	accept    string
	baseline  string
	source    string
	facts     []string
	terraform string
	provider  string
	varFiles  []string
	vars      []string
	timeout   time.Duration
}

const checkLong = `check judges what TARGET asks for and prints every refusal with the edit to make.

TARGET is one of
  a manifest       as "terraform output -raw" printed it
  a plan           what "terraform show -json PLAN" printed
  a directory      a Terraform configuration of policies, workloads and manifests;
                   it is copied, planned with an empty state and judged
  -                a manifest or a plan on standard input

Backends are judged by the facts they come with or by those that are shipped;
--facts replaces them, one file a backend, as "sandboxctl facts --backend NAME
--format json" prints them.

With --baseline, what permits more than it is "widened": the check ends with 3 where
that is all there is to say. The gate is as good as the place the baseline comes
from: take it from a ref that the change cannot write.

A directory may hold nothing that needs a cloud. Its sources are read too: names
that an object does not have are refused, because Terraform drops them without a
word. Terraform is found on PATH, or named by --terraform or TERRAFORM; the
provider as Terraform itself finds it, or named by --provider.`

func (a *app) checkCommand() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check TARGET",
		Short: "Judge a manifest, a plan or a directory",
		Long:  checkLong + "\n\n" + checkExitHelp,
		Example: `  sandboxctl check manifest.json --accept sha256:…
  sandboxctl check plan.json --facts docker.json
  sandboxctl check ./policies --baseline main.json --format markdown
  sandboxctl check ./policies --provider bin/terraform-provider-sandbox`,
		Args: one("TARGET: a manifest, a plan or a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			base, err := a.readBaseline(o.baseline)
			if err != nil {
				return err
			}
			r, err := a.check(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			r.Target = args[0]
			r.against(base)
			if err := r.locate(args[0], o.source); err != nil {
				return err
			}
			return a.print(r)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.accept, "accept", "", "the digest that the manifest must have")
	flags.StringVar(&o.baseline, "baseline", "", "a manifest or policy document from a trusted place, or its digest, to compare with")
	flags.StringVar(&o.source, "source", "", "the configuration that a manifest or plan came from, to say where things are written")
	flags.StringArrayVar(&o.facts, "facts", nil, "a backend's facts, in place of the shipped ones (repeatable)")
	flags.DurationVar(&o.timeout, "timeout", planningTimeout, "how long planning a directory may take")
	o.flags(cmd)
	a.formatFlag(cmd, "text", "json", "sarif", "junit", "markdown")
	return cmd
}

// planningTimeout is how long planning a directory may take.
const planningTimeout = 2 * time.Minute

// flags adds those that say how a directory is planned.
func (o *checkOptions) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.terraform, "terraform", "", "the terraform or tofu to plan a directory with")
	flags.StringVar(&o.provider, "provider", "", "the provider's binary to plan a directory with")
	flags.StringArrayVar(&o.varFiles, "var-file", nil, "a variables file for a directory (repeatable)")
	flags.StringArrayVar(&o.vars, "var", nil, "a variable NAME=VALUE for a directory (repeatable)")
}

func (a *app) check(ctx context.Context, target string, o checkOptions) (*report, error) {
	book, err := a.readFactbook(o.facts)
	if err != nil {
		return nil, err
	}
	if target != "-" && isDirectory(target) {
		if o.accept != "" {
			return nil, badInput("--accept is for a manifest, not for a directory")
		}
		return a.checkDirectory(ctx, target, o, book)
	}
	if err := o.onlyForDirectories(target); err != nil {
		return nil, err
	}
	f, err := a.open(target)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, headBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && n == 0 {
		return nil, badInput("%s is empty", sandbox.Echo(target))
	}
	head = head[:n]
	rest := io.MultiReader(bytes.NewReader(head), f)
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return nil, badInput("%s is a saved plan; give what terraform show -json prints of it", sandbox.Echo(target))
	case bytes.HasPrefix(head, []byte(`{"@level":`)):
		return nil, badInput("%s is the log of terraform plan -json; give what terraform show -json prints of the saved plan",
			sandbox.Echo(target))
	case planjson.Looks(head):
		if o.accept != "" {
			return nil, badInput("--accept is for a manifest, not for a plan")
		}
		plan, err := planjson.Read(rest)
		if err != nil {
			return nil, &exit{ExitBadInput, err}
		}
		r := checkPlan(plan, book)
		r.dropped(droppedIn(plan))
		return r, nil
	default:
		b, err := io.ReadAll(io.LimitReader(rest, manifest.MaxDocument+1))
		if err != nil {
			return nil, badInput("read %s: %w", sandbox.Echo(target), withoutPath(err))
		}
		r, err := checkManifest(b, o.accept, book)
		return r, inInput(target, err)
	}
}

// onlyForDirectories refuses what means nothing for a file: a source of Terraform
// in the place of its directory, and variables for what is planned already.
func (o checkOptions) onlyForDirectories(target string) error {
	switch {
	case strings.HasSuffix(target, ".tf"), strings.HasSuffix(target, ".tf.json"):
		return badInput("%s is a source of Terraform; give the directory that it stands in", sandbox.Echo(target))
	case len(o.vars)+len(o.varFiles) > 0:
		return badInput("--var and --var-file are for a directory; %s is none", sandbox.Echo(target))
	}
	return nil
}

// headBytes is how much of a file tells what it is.
const headBytes = 4096

// one is cobra's rule for a single argument, in words that say what is missing.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return badInput("give %s\nsee %s --help", what, cmd.CommandPath())
	}
}
