package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/explain"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress/eventlog"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// whyOptions are the flags of why.
type whyOptions struct {
	manifest, workload   string
	host, method, path   string
	port                 uint16
	event                string
	facts                []string
	methodGiven, pathToo bool
	portGiven            bool
}

const whyLong = `why says what each policy of a manifest and its workloads say of one request: which
rule admits it, what refuses it, what is near, and the smallest edit that would turn
the answer, to be typed as it stands.

Without --workload it answers for all of them, and ends with 0 when any of them may
make the request. Without --method and --path the connection as a whole is judged,
as a tunnel is: only rules with any method and any path admit it.

With --event the request is one that a sandbox's proxy has decided, and what it
decided is explained beside it: a file with one line of "sandboxctl run --events", -
for standard input, or the line itself. It is asked about for the workload that it
names, where the manifest has that one.`

func (a *app) whyCommand() *cobra.Command {
	var o whyOptions
	cmd := &cobra.Command{
		Use:   "why --manifest FILE (--host HOST | --event EVENT)",
		Short: "Why a host is allowed or refused, and what would turn it",
		Long:  whyLong + "\n\n" + whyExitHelp,
		Example: `  sandboxctl why --manifest manifest.json --host cdn.example.net
  sandboxctl why --manifest manifest.json --workload report --host api.example.com --method GET --path /v1/items
  tail -n 1 events.jsonl | sandboxctl why --manifest manifest.json --event -
  sandboxctl why --manifest manifest.json --host cdn.example.net --facts facts.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.methodGiven, o.pathToo = cmd.Flags().Changed("method"), cmd.Flags().Changed("path")
			o.portGiven = cmd.Flags().Changed("port")
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
	flags.StringVar(&o.event, "event", "", "in place of a request: a line of an event log, the file with it, or -")
	flags.StringArrayVar(&o.facts, "facts", nil, "a backend's facts, in place of the shipped ones (repeatable)")
	a.formatFlag(cmd, "text", "json")
	return cmd
}

func (a *app) why(o whyOptions) (explain.Answer, error) {
	request, event, err := a.asked(&o)
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
	if event != nil && o.workload == "" && explain.HasWorkload(m, event.Sandbox.Workload) == nil {
		o.workload = event.Sandbox.Workload
	}
	answer, err := explain.Why(m, explain.Question{
		Request: request, Observed: event != nil, Workload: o.workload, Backends: book.known(), Advise: book.advise,
	})
	if err != nil {
		return answer, inInput(o.manifest, &exit{ExitBadInput, err})
	}
	if event != nil {
		answer.Explain(event.Event)
	}
	return answer, nil
}

// asked is the request, of the flags or of an event.
func (a *app) asked(o *whyOptions) (egress.Request, *eventlog.Entry, error) {
	if o.manifest == "" {
		return egress.Request{}, nil, badInput("give --manifest FILE, or - for standard input")
	}
	if o.event == "" {
		r, err := o.request()
		return r, nil, err
	}
	if o.host != "" || o.portGiven || o.methodGiven || o.pathToo {
		return egress.Request{}, nil, badInput("--event says what was asked for: leave out --host, --port, --method and --path")
	}
	if o.event == "-" && o.manifest == "-" {
		return egress.Request{}, nil, badInput("the manifest and the event cannot both be standard input")
	}
	e, err := a.readEvent(o.event)
	if err != nil {
		return egress.Request{}, nil, err
	}
	r, err := requestOf(e)
	return r, &e, err
}

// request reads the flags as a request. Half of one is refused: what the other half
// would be nobody can guess.
func (o whyOptions) request() (egress.Request, error) {
	switch {
	case o.host == "":
		return egress.Request{}, badInput("give --host, a name or an address, or --event")
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
