package provider

import (
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// newEgressAllowsFunction is the function egress_allows.
func newEgressAllowsFunction() function.Function {
	return &pureFunction{name: "egress_allows", definition: egressAllowsDefinition, evaluate: evaluateEgressAllows}
}

func egressAllowsDefinition() function.Definition {
	return function.Definition{
		Summary: "Whether a policy or a workload lets a request out",
		MarkdownDescription: "Answers with the matcher that also sits in the router and in the proxy whether a request could leave a sandbox: `true`, `false`, or unknown where a value that is not known yet may change the answer.\n\n" +
			"For a policy the question is whether a workload under it could be given the request: its `egress_mode` and rules must admit it, and `never_reaches` must not name it. " +
			"For a workload (an object with `kind`) the question is about its own rules; that they lie within its policy is what `check` decides. " +
			"An object that states no `egress_mode` is closed. Loopback, link-local and cloud metadata addresses are never let out of an allowlist, whatever its rules say.",
		Parameters: []function.Parameter{
			objectParameter("object", "A policy or a workload: a `sandbox_policy`, a `sandbox_workload`, the result of the function `policy`, or an object with the attributes of one. "+
				"A misspelt name in it is an error."),
			objectParameter("request", "What is asked for: a host as text, or an object of `host`, `port` (443 when left out), `method` and `path`. "+
				"The host is one name or one address, not a pattern. "+
				"A method or path that is left out stands for every one, as in a tunnel that nobody can look into: only a rule that leaves it free admits the request."),
		},
		Return: function.BoolReturn{},
	}
}

func evaluateEgressAllows(arguments []tftypes.Value, _ tftypes.Type) answer {
	const object, request = 0, 1
	asked, wanted, problems := readRequest(arguments[request])
	ask, faults := readEgressObject(arguments[object])
	complaints := append(about(object, faults), about(request, problems)...)
	switch {
	case len(complaints) > 0:
		return answer{complaints: complaints}
	case !asked:
		return answer{value: unknownFlag()}
	}
	verdict := ask(wanted)
	if verdict == sandbox.Undecided {
		return answer{value: unknownFlag()}
	}
	return answer{value: flagValue(verdict == sandbox.Allow)}
}

// readEgressObject reads a policy or a workload and returns how to ask it.
func readEgressObject(v tftypes.Value) (ask func(egress.Request) sandbox.Verdict, faults []sandbox.Finding) {
	if isWorkload(v) {
		spec, faults := receiveWorkload(v)
		return spec.Admits, faults
	}
	a := admit(readPolicy(v, true), nil, validating)
	return a.compiled.Admits, a.findings
}

// isWorkload tells a workload from a policy: it says of which kind it is, known or
// not.
func isWorkload(v tftypes.Value) bool { return v.IsKnown() && has(v, "kind") }

// receiveWorkload reads a workload that a function is given, with everything that
// is wrong with it alone.
func receiveWorkload(v tftypes.Value) (*policy.CompiledSpec, []sandbox.Finding) {
	in := readWorkload(v, true)
	spec, problems := policy.CompileSpec(in.Spec, in.Known)
	return spec, in.faults(problems)
}

// readRequest reads a request and reports whether all of it is known.
func readRequest(v tftypes.Value) (known bool, wanted egress.Request, findings []sandbox.Finding) {
	r := &reading{strict: true}
	var host, method, path string
	port := int64(443)
	switch {
	case v.IsKnown() && v.IsNull():
		r.null(sandbox.Path("host"), "a host, or an object with one")
	case v.IsKnown() && v.Type().Is(tftypes.String):
		host, _ = asText(v)
	default:
		o, ok := r.open(v, nil)
		if !ok {
			break
		}
		host, method, path = o.text("host"), o.text("method"), o.text("path")
		if n, stated := o.whole("port"); stated {
			port = n
		}
		if host == "" && o.settled("host") {
			r.null(sandbox.Path("host"), "a host")
		}
		o.done()
	}
	if !r.known.Everything() || len(r.findings) > 0 {
		return false, wanted, r.findings
	}
	name, addr, err := egress.ParseRequestHost(host)
	parts, problems := readParts(port, method, path)
	findings = append(sandbox.FindingsAt(err, sandbox.Path("host")), problems...)
	if len(findings) > 0 {
		return false, wanted, findings
	}
	return true, egress.Request{Host: name, Addr: addr, Port: parts.Ports()[0].First, Method: method, Path: path}, nil
}

// readParts holds the parts of a request against the grammar of rules: what no
// rule can name would be answered false for the wrong reason.
func readParts(port int64, method, path string) (egress.Rule, []sandbox.Finding) {
	stated := func(part string) []string {
		if part == "" {
			return []string{"*"}
		}
		return []string{part}
	}
	parts, findings := egress.ParseRule("", sandbox.EgressRule{
		Host: "host.example", Ports: []string{strconv.FormatInt(port, 10)}, Methods: stated(method), Paths: stated(path),
	}, nil)
	singular := map[string]string{"ports": "port", "methods": "method", "paths": "path"}
	for i, f := range findings {
		if len(f.Path) > 0 {
			part, _ := f.Path[0].Attr()
			findings[i].Path = sandbox.Path(singular[part])
		}
	}
	return parts, findings
}

// newNormalizeHostFunction is the function normalize_host.
func newNormalizeHostFunction() function.Function {
	return &pureFunction{name: "normalize_host", definition: normalizeHostDefinition, evaluate: evaluateNormalizeHost}
}

func normalizeHostDefinition() function.Definition {
	return function.Definition{
		Summary: "The one spelling of a host, as rules compare it",
		MarkdownDescription: "Returns a host pattern in its normal form: a DNS name or `*.suffix` in lower case, without a trailing dot and with non-ASCII labels as A-labels, or the canonical form of an IP address or CIDR range. " +
			"Text that is no host, or that two readers could take for two, is an error that says which character is wrong. Two patterns cover the same destinations exactly when their normal forms are equal.",
		Parameters: []function.Parameter{textParameter("host", "The host pattern, as in `egress_hosts`.")},
		Return:     function.StringReturn{},
	}
}

func evaluateNormalizeHost(arguments []tftypes.Value, _ tftypes.Type) answer {
	const host = 0
	text, _ := asText(arguments[host])
	normal, err := egress.NormalizeHost(text)
	if err != nil {
		return answer{complaints: about(host, sandbox.FindingsAt(err, sandbox.Path("host")))}
	}
	return answer{value: textValue(normal)}
}
