package cli

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/translate"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

const importLong = `import-policy reads the network rules of another tool and writes a sandbox_policy
in HCL on standard output. What could not be carried over stands on standard
error, with its line, the reason and what it does:

  widens         the policy admits something that the source refuses
  narrows        the policy refuses something that the source admits
  unknown        the part may permit or restrict something; nobody here can tell
  no equivalent  the part does not say what may be reached

FILE, or - for standard input, is by --from
  aca            a manifest of the aca command line, or an egress policy alone
  docker         a Docker sandbox kit (spec.yaml), or a policy of network rules
  networkpolicy  a NetworkPolicy of Kubernetes
  openshell      a policy of NVIDIA OpenShell

No source is read as unrestricted: where everything is permitted, nothing is, and
a loss says so. With --format json both parts are one object on standard output,
and the policy is a policy document.`

// importExitHelp is what the exit codes mean here.
const importExitHelp = `Exit codes:
  0  the policy is written, whatever was lost
  1  with --strict: something was lost
  2  the input is not what --from says`

func (a *app) importPolicyCommand() *cobra.Command {
	var from, name string
	var strict bool
	cmd := &cobra.Command{
		Use:   "import-policy FILE",
		Short: "Read another tool's network rules into a policy",
		Long:  importLong + "\n\n" + importExitHelp,
		Example: `  sandboxctl import-policy --from aca sandbox.yaml > policy.tf
  kubectl get networkpolicy agents -o yaml | sandboxctl import-policy --from networkpolicy - --name agents --strict`,
		Args: one("FILE: the other tool's rules, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			source, ok := translate.ParseSource(from)
			if !ok {
				return badInput("--from %s: not one of %s", sandbox.Echo(from), strings.Join(sourceWords(), ", "))
			}
			if cmd.Flags().Changed("name") && !translate.IsLabel(name) {
				return inInput("--name", &exit{ExitBadInput, sandbox.Finding{
					Code: sandbox.CodeInvalidText, Path: sandbox.Path("name"), Found: sandbox.Echo(name),
					Required: "an identifier of HCL: letters, digits, _ and -, starting with a letter",
					Remedy:   "write a name such as " + strconv.Quote(translate.Label(name)),
				}.Refusal(nil)})
			}
			b, err := a.readFile(args[0], translate.MaxInput)
			if err != nil {
				return err
			}
			t, err := translate.Read(source, b)
			if err != nil {
				return &exit{ExitBadInput, err}
			}
			if name != "" {
				t.Policy.Name = name
			}
			if err := a.printTranslation(t); err != nil {
				return err
			}
			if strict && len(t.Losses) > 0 {
				return &exit{code: ExitRefused}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "whose rules they are: "+strings.Join(sourceWords(), ", "))
	flags.StringVar(&name, "name", "", "the policy's name, in place of the source's own")
	flags.BoolVar(&strict, "strict", false, "exit 1 where anything was lost")
	a.formatFlag(cmd, "hcl", "json")
	return cmd
}

func sourceWords() []string {
	var words []string
	for _, s := range translate.Sources() {
		words = append(words, s.String())
	}
	return words
}

// loss is one loss as JSON.
type loss struct {
	Effect translate.Effect `json:"effect"`
	Line   int              `json:"line"`
	Path   string           `json:"path"`
	Why    string           `json:"why"`
	Remedy string           `json:"remedy,omitempty"`
}

// translation is a policy that was imported, as JSON.
type translation struct {
	From   string         `json:"from"`
	Policy jsontext.Value `json:"policy"`
	Losses []loss         `json:"losses"`
}

func (a *app) printTranslation(t translate.Translation) error {
	if a.format == "json" {
		document, err := manifest.EncodePolicy(t.Policy)
		if err != nil {
			return &exit{ExitBadInput, err}
		}
		all := translation{From: t.Source.String(), Policy: document, Losses: make([]loss, len(t.Losses))}
		for i, l := range t.Losses {
			all.Losses[i] = loss{l.Effect, l.Line, l.Path.String(), l.Why, l.Remedy}
		}
		return a.printJSON(all)
	}
	// The HCL escapes what a source can put into it, and is written as it is, for
	// Terraform to read.
	if _, err := a.out.Write(bytes.TrimLeft(t.HCL(translate.Label(t.Policy.Name)), "\n")); err != nil {
		return fmt.Errorf("write the policy: %w", err)
	}
	a.printLosses(t.Losses)
	return nil
}

// printLosses writes losses for people: effect, place, reason, what to do.
func (a *app) printLosses(losses []translate.Loss) {
	if len(losses) == 0 {
		return
	}
	page := show.NewPage(0, 15)
	page.Line("not carried over:")
	for _, l := range losses {
		place := "line " + show.Count(int64(l.Line))
		if path := l.Path.String(); path != "" {
			place += ", " + path
		}
		page.Row(l.Effect.String(), place)
		page.Row("", l.Why)
		if l.Remedy != "" {
			page.Row("", "remedy: "+l.Remedy)
		}
	}
	fmt.Fprint(a.errs, page.String())
}
