package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func (a *app) explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [CODE [at PATH]]",
		Short: "What a refusal's code means",
		Long: `explain says what a code means: the words before "at" on the last line of every
refusal, which may be given whole. Without a code it lists all of them, in the
order of the decision and of a sandbox's life.`,
		Example: "  sandboxctl explain egress.not_within_policy",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.printCodes(sandbox.Codes())
			}
			word, _, _ := strings.Cut(strings.TrimSpace(strings.Join(args, " ")), " at ")
			code := sandbox.Code(word)
			if !code.Known() {
				return unknownCode(word)
			}
			if a.format == "json" {
				return a.printJSON(explanationOf(code))
			}
			page := show.NewPage(0, 0)
			page.Line(string(code))
			page.Line(code.Summary() + " (" + string(code.Family()) + ")")
			page.Gap()
			page.Row("", code.Meaning())
			_, err := fmt.Fprint(a.out, page.String())
			return err
		},
	}
	a.formatFlag(cmd, "text", "json")
	return cmd
}

// explanation is a code as JSON.
type explanation struct {
	Code    sandbox.Code   `json:"code"`
	Family  sandbox.Family `json:"family"`
	Summary string         `json:"summary"`
	Meaning string         `json:"meaning"`
}

func explanationOf(c sandbox.Code) explanation {
	return explanation{c, c.Family(), c.Summary(), c.Meaning()}
}

func (a *app) printCodes(codes []sandbox.Code) error {
	if a.format == "json" {
		all := make([]explanation, len(codes))
		for i, c := range codes {
			all[i] = explanationOf(c)
		}
		return a.printJSON(all)
	}
	widest := 0
	for _, c := range codes {
		widest = max(widest, len(c))
	}
	page := show.NewPage(0, widest+2)
	for _, c := range codes {
		page.Row(string(c), c.Summary())
	}
	_, err := fmt.Fprint(a.out, page.String())
	return err
}

func unknownCode(text string) error {
	codes := sandbox.Codes()
	words := make([]string, len(codes))
	for i, c := range codes {
		words[i] = string(c)
	}
	hint := `"sandboxctl explain" lists all of them`
	if near, ok := facts.Nearest(text, words); ok {
		hint = "did you mean " + near + "?"
	}
	return badInput("%s is no code; %s", sandbox.Echo(text), hint)
}
