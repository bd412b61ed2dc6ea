package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/explain"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// whyOptions are the flags of why.
type whyOptions struct {
	manifest, workload   string
	host, method, path   string
	port                 uint16
	facts                []string
	methodGiven, pathToo bool
}

const whyLong = `why says what each policy of a manifest and its workloads say of one request: which
rule admits it, what refuses it, what is near, and the smallest edit that would turn
the answer, to be typed as it stands.

Without --workload it answers for all of them, and ends with 0 when any of them may
make the request. Without --method and --path the connection as a whole is judged,
as a tunnel is: only rules with any method and any path admit it.`

func (a *app) whyCommand() *cobra.Command {
	var o whyOptions
	cmd := &cobra.Command{
		Use:   "why --manifest FILE --host HOST",
		Short: "Why a host is allowed or refused, and what would turn it",
		Long:  whyLong + "\n\n" + whyExitHelp,
		Example: `  sandboxctl why --manifest manifest.json --host cdn.example.net
  sandboxctl why --manifest manifest.json --workload report --host api.example.com --method GET --path /v1/items`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.methodGiven, o.pathToo = cmd.Flags().Changed("method"), cmd.Flags().Changed("path")
			answer, err := a.why(o)
			if err != nil {
				return err
			}
			if a.format == "json" {
				err = a.printJSON(answer)
			} else {
				_, err = fmt.Fprint(a.out, answer.Text())
			}
			if err == nil && !answer.Allowed {
				err = &exit{code: ExitRefused}
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.manifest, "manifest", "", "the manifest, or - for standard input")
	flags.StringVar(&o.workload, "workload", "", "the workload that asks (all of them)")
	flags.StringVar(&o.host, "host", "", "the name or address that is asked for")
	flags.Uint16Var(&o.port, "port", 443, "the port that is asked for")
	flags.StringVar(&o.method, "method", "", "the HTTP method, together with --path")
	flags.StringVar(&o.path, "path", "", "the path as it is sent, together with --method")
	flags.StringArrayVar(&o.facts, "facts", nil, "a backend's facts, in place of the shipped ones (repeatable)")
	a.formatFlag(cmd, "text", "json")
	return cmd
}

func (a *app) why(o whyOptions) (explain.Answer, error) {
	request, err := o.request()
	if err != nil {
		return explain.Answer{}, err
	}
	book, err := a.readFactbook(o.facts)
	if err != nil {
		return explain.Answer{}, err
	}
	b, err := a.readFile(o.manifest, manifest.MaxDocument)
	if err != nil {
		return explain.Answer{}, err
	}
	m, err := openManifest(b, "")
	if err != nil {
		return explain.Answer{}, inInput(o.manifest, err)
	}
	answer, err := explain.Why(m, explain.Question{
		Request: request, Workload: o.workload, Backends: book.known(),
	})
	if err != nil {
		return answer, inInput(o.manifest, &exit{ExitBadInput, err})
	}
	return answer, nil
}

// request reads the flags as a request. Half of one is refused: what the other half
// would be nobody can guess.
func (o whyOptions) request() (egress.Request, error) {
	switch {
	case o.manifest == "":
		return egress.Request{}, badInput("give --manifest FILE, or - for standard input")
	case o.host == "":
		return egress.Request{}, badInput("give --host, a name or an address")
	case o.port == 0:
		return egress.Request{}, badInput("--port 0: a port is from 1 to 65535")
	case o.methodGiven != o.pathToo || o.methodGiven && (o.method == "" || o.path == ""):
		return egress.Request{}, badInput("give both --method and --path, or neither: without them the connection as a whole is judged")
	}
	name, addr, err := egress.ParseRequestHost(o.host)
	if err != nil {
		return egress.Request{}, inInput("--host", &exit{ExitBadInput, err})
	}
	return egress.Request{Host: name, Addr: addr, Port: o.port, Method: o.method, Path: o.path}, nil
}
