package translate_test

import (
	"bytes"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/translate"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func read(t *testing.T, source translate.Source, input string) translate.Translation {
	t.Helper()
	tr, err := translate.Read(source, []byte(input))
	if err != nil {
		t.Fatalf("%v\n%s", err, input)
	}
	return tr
}

func TestEveryFormatHasAWord(t *testing.T) {
	t.Parallel()
	for _, s := range translate.Sources() {
		got, ok := translate.ParseSource(s.String())
		if !ok || got != s {
			t.Errorf("%q reads as %v", s, got)
		}
	}
	if _, ok := translate.ParseSource("iptables"); ok {
		t.Error("iptables is no format")
	}
}

// Each row is refused, and its neighbour, one step away, is read.
func TestBadInputIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		source    translate.Source
		bad, good string
		code      sandbox.Code
		path      string
	}{
		"nothing": {translate.ACA, "", "egressPolicy: {defaultAction: Deny}", sandbox.CodeDocumentSyntax, ""},
		"no YAML": {translate.ACA, "egressPolicy: [", "egressPolicy: {}", sandbox.CodeDocumentSyntax, ""},
		"not UTF-8": {
			translate.ACA, "egressPolicy: {defaultAction: \"\xff\"}", "egressPolicy: {defaultAction: Deny}", sandbox.CodeDocumentSyntax, "",
		},
		"a list": {translate.ACA, "- egressPolicy", "egressPolicy: {}", sandbox.CodeDocumentType, ""},
		"another file": {
			translate.ACA, "services: {web: {}}", "disk: ubuntu", sandbox.CodeDocumentType, "",
		},
		"alias": {
			translate.Docker, "schemaVersion: \"2\"\npermissions: &a {network: {}}\nx: *a", "schemaVersion: \"2\"\npermissions: {network: {}}\nx: a",
			sandbox.CodeDocumentSyntax, "permissions",
		},
		"merge key": {
			translate.Docker, "schemaVersion: \"2\"\npermissions: {<<: {network: {}}}", "schemaVersion: \"2\"\npermissions: {network: {}}",
			sandbox.CodeDocumentSyntax, "permissions",
		},
		"tag": {
			translate.OpenShell, "version: !!int \"1\"", "version: 1", sandbox.CodeDocumentSyntax, "version",
		},
		"twice": {
			translate.OpenShell, "version: 1\nversion: 1", "version: 1", sandbox.CodeDocumentDuplicate, "version",
		},
		"two documents": {
			translate.OpenShell, "version: 1\n---\nversion: 1", "version: 1\n---\n", sandbox.CodeDocumentSyntax, "",
		},
		"another version": {
			translate.OpenShell, "version: 2", "version: 1", sandbox.CodeDocumentVersion, "version",
		},
		"schema version of tomorrow": {
			translate.Docker, `schemaVersion: "4"`, `schemaVersion: "3"`, sandbox.CodeUnknownWord, "schemaVersion",
		},
		"a word nobody knows": {
			translate.ACA, "egressPolicy: {defaultAction: Maybe}", "egressPolicy: {defaultAction: Allow}", sandbox.CodeUnknownWord, "egressPolicy.defaultAction",
		},
		"rules that are no list": {
			translate.ACA, "egressPolicy: {rules: {}}", "egressPolicy: {rules: []}", sandbox.CodeDocumentType, "egressPolicy.rules",
		},
		"a host that is no text": {
			translate.ACA, "egressPolicy: {hostRules: [{pattern: [a], action: Allow}]}", "egressPolicy: {hostRules: [{pattern: a, action: Allow}]}",
			sandbox.CodeDocumentType, "egressPolicy.hostRules[0].pattern",
		},
		"two network policies": {
			translate.NetworkPolicy,
			"{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1, spec: {}}\n---\n{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1, spec: {}}",
			"{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1, spec: {}}\n---\n{kind: Pod, apiVersion: v1}",
			sandbox.CodeDocumentType, "",
		},
		"no network policy": {
			translate.NetworkPolicy, "{kind: Pod, apiVersion: v1}", "{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1, spec: {}}", sandbox.CodeDocumentType, "",
		},
		"a port that is none": {
			translate.OpenShell, "version: 1\nnetwork_policies: {a: {endpoints: [{host: a.example, port: 65536}], binaries: [{path: /**}]}}",
			"version: 1\nnetwork_policies: {a: {endpoints: [{host: a.example, port: 65535}], binaries: [{path: /**}]}}",
			sandbox.CodeDocumentType, "network_policies.a.endpoints[0].port",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := translate.Read(row.source, []byte(row.bad))
			refusal, ok := errors.AsType[*sandbox.Refusal](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if refusal.Code != row.code || refusal.Path.String() != row.path {
				t.Errorf("got %s at %q: %s", refusal.Code, refusal.Path, refusal.Found)
			}
			read(t, row.source, row.good)
		})
	}
}

// What nobody knows of is listed, and where it may restrict a permission, the
// permission is left out.
func TestAnUnknownNameIsALossAndNeverAPermission(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		source translate.Source
		// format has one %s, where the unknown name stands.
		format, unknown string
		path            string
	}{
		"aca host rule": {
			translate.ACA, "egressPolicy: {defaultAction: Deny, hostRules: [{pattern: a.example.com, action: Allow%s}]}", ", onlyFrom: build",
			"egressPolicy.hostRules[0].onlyFrom",
		},
		"aca match": {
			translate.ACA, "egressPolicy: {defaultAction: Deny, rules: [{match: {host: a.example.com%s}, action: {type: Allow}}]}", ", country: NL",
			"egressPolicy.rules[0].match.country",
		},
		"docker rule": {
			translate.Docker, "rules: [{name: a, actions: ['connect:tcp'], resources: [a.example.com], decision: allow%s}]", ", http: {methods: [GET]}",
			"rules[0].http",
		},
		"network policy peer": {
			translate.NetworkPolicy, "{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1, spec: {egress: [{to: [{ipBlock: {cidr: 192.0.2.0/24%s}}]}]}}", ", via: gateway",
			"spec.egress[0].to[0].ipBlock.via",
		},
		"network policy rule": {
			translate.NetworkPolicy, "{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1, spec: {egress: [{to: [{ipBlock: {cidr: 192.0.2.0/24}}]%s}]}}", ", when: night",
			"spec.egress[0].when",
		},
		"openshell endpoint": {
			translate.OpenShell, "version: 1\nnetwork_policies: {a: {endpoints: [{host: a.example.com, port: 443%s}], binaries: [{path: /**}]}}", ", hours: office",
			"network_policies.a.endpoints[0].hours",
		},
		"openshell policy": {
			translate.OpenShell, "version: 1\nnetwork_policies: {a: {endpoints: [{host: a.example.com, port: 443}], binaries: [{path: /**}]%s}}", ", users: [root]",
			"network_policies.a.users",
		},
		"openshell rule": {
			translate.OpenShell, "version: 1\nnetwork_policies: {a: {endpoints: [{host: a.example.com, port: 443, protocol: rest, enforcement: enforce, " +
				"rules: [{allow: {method: GET, path: /v1%s}}]}], binaries: [{path: /**}]}}",
			", body: small", "network_policies.a.endpoints[0].rules[0].allow.body",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := read(t, row.source, strings.Replace(row.format, "%s", "", 1))
			if known.Policy.Egress.Mode != sandbox.EgressAllowlist {
				t.Fatalf("without the name nothing is permitted: %+v", known)
			}
			tr := read(t, row.source, strings.Replace(row.format, "%s", row.unknown, 1))
			if tr.Policy.Egress.Mode != sandbox.EgressClosed {
				t.Errorf("still permitted: %+v", tr.Policy.Egress)
			}
			for _, l := range tr.Losses {
				if l.Path.String() == row.path && l.Effect == translate.Narrows {
					return
				}
			}
			t.Errorf("no loss at %s: %+v", row.path, tr.Losses)
		})
	}
}

func TestNoSourceIsReadAsUnrestricted(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		source translate.Source
		input  string
	}{
		"aca without a policy":    {translate.ACA, "disk: ubuntu"},
		"aca default":             {translate.ACA, "egressPolicy: {defaultAction: Allow}"},
		"aca nothing stated":      {translate.ACA, "egressPolicy: {trafficInspection: Full}"},
		"aca star":                {translate.ACA, "egressPolicy: {defaultAction: Deny, hostRules: [{pattern: '*', action: Allow}]}"},
		"aca rule without a host": {translate.ACA, "egressPolicy: {defaultAction: Deny, rules: [{match: {methods: [GET]}, action: {type: Allow}}]}"},
		"docker stars":            {translate.Docker, "rules: [{actions: ['connect:tcp'], resources: ['**', '*'], decision: allow}]"},
		"network policy without the type Egress": {
			translate.NetworkPolicy, "{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1, spec: {policyTypes: [Ingress]}}",
		},
		"network policy rule without peers": {
			translate.NetworkPolicy, "{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1, spec: {egress: [{}]}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := read(t, row.source, row.input)
			if tr.Policy.Egress.Mode != sandbox.EgressClosed {
				t.Errorf("got %+v", tr.Policy.Egress)
			}
			for _, l := range tr.Losses {
				if l.Effect == translate.Narrows && l.Remedy != "" {
					return
				}
			}
			t.Errorf("nothing says that it is narrower: %+v", tr.Losses)
		})
	}
}

// Enormous files are read or refused, in a time and a memory that do not depend on
// what they mean. The time shows in what is allocated, which is counted for the
// whole process: nothing runs beside it.
func TestEnormousInputsEnd(t *testing.T) { //nolint:paralleltest // see above
	const most = 512 << 20
	hosts := func(n int, item func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(item(i))
		}
		return b.String()
	}
	host := func(i int) string { return "    - h" + strconv.Itoa(i) + ".x.io\n" }
	for name, row := range map[string]struct { //nolint:paralleltest // see above
		source translate.Source
		input  string
		read   bool
	}{
		"1 MB of hosts": {translate.Docker, "schemaVersion: \"2\"\npermissions:\n  network:\n   allow:\n" + hosts(58_000, host), true},
		"more than 1 MB": {
			translate.Docker, "schemaVersion: \"2\"\npermissions:\n  network:\n   allow:\n" + hosts(100_000, host), false,
		},
		"as many denials": {
			translate.Docker, "schemaVersion: \"2\"\npermissions:\n  network:\n   allow:\n" + hosts(25_000, host) + "   deny:\n" + hosts(25_000, host), false,
		},
		"100,000 rules": {
			translate.NetworkPolicy, `{"kind":"NetworkPolicy","apiVersion":"networking.k8s.io/v1","spec":{"egress":[` + hosts(100_000, func(int) string { return "{}," }) + "{}]}}", false,
		},
		"as many rules as there may be": {
			translate.NetworkPolicy, `{"kind":"NetworkPolicy","apiVersion":"networking.k8s.io/v1","spec":{"egress":[` + hosts(4_000, func(int) string { return "{}," }) + "{}]}}", true,
		},
		"18,000 rule objects": {
			translate.ACA, "egressPolicy:\n  defaultAction: Deny\n  hostRules:\n" +
				hosts(18_000, func(i int) string { return "  - {pattern: h" + strconv.Itoa(i) + ".x.io, action: Allow}\n" }), false,
		},
		"ports cut out of ports": {
			translate.Docker, "schemaVersion: \"2\"\npermissions:\n  network:\n   allow:\n" +
				hosts(1_400, func(i int) string { return "    - h" + strconv.Itoa(i) + ".x.io:1-65535\n" }) + "   deny:\n" +
				hosts(1_400, func(i int) string { return "    - \"**.x.io:" + strconv.Itoa(2*i+1) + "\"\n" }), false,
		},
		"addresses cut out of ranges": {
			translate.Docker, "schemaVersion: \"2\"\npermissions:\n  network:\n   allow:\n" +
				hosts(1_400, func(i int) string { return "    - " + strconv.Itoa(11+i%90) + ".0.0.0/8:" + strconv.Itoa(i+1) + "\n" }) + "   deny:\n" +
				hosts(1_400, func(i int) string {
					return "    - " + strconv.Itoa(11+i%90) + "." + strconv.Itoa(i*7%256) + "." + strconv.Itoa(i%256) + ".77\n"
				}), false,
		},
		"10,000 ports at 10,000 ranges": {
			translate.NetworkPolicy, "kind: NetworkPolicy\napiVersion: networking.k8s.io/v1\nspec:\n  egress:\n  - ports:\n" +
				hosts(10_000, func(i int) string { return "    - {port: " + strconv.Itoa(i+1) + "}\n" }) + "    to:\n" +
				hosts(10_000, func(i int) string {
					return "    - {ipBlock: {cidr: 11." + strconv.Itoa(i>>8) + "." + strconv.Itoa(i&255) + ".0/24}}\n"
				}), false,
		},
		"deep JSON":         {translate.ACA, strings.Repeat(`{"a":`, 150_000) + "1" + strings.Repeat("}", 150_000), false},
		"deep lists":        {translate.ACA, strings.Repeat("[", 500_000), false},
		"deep YAML":         {translate.ACA, strings.Repeat("- ", 500_000) + "a", false},
		"nearly too deep":   {translate.ACA, "disk: " + strings.Repeat("[", 31) + strings.Repeat("]", 31), true},
		"just too deep":     {translate.ACA, "disk: " + strings.Repeat("[", 33) + strings.Repeat("]", 33), false},
		"many documents":    {translate.NetworkPolicy, strings.Repeat("a: 1\n---\n", 100_000), false},
		"a million laughs":  {translate.ACA, laughs(), false},
		"one long text":     {translate.ACA, "disk: " + strings.Repeat("x", translate.MaxInput-10), true},
		"one long host":     {translate.Docker, "schemaVersion: \"1\"\nnetwork:\n  allowedDomains:\n    - " + strings.Repeat("a.", 500_000), true},
		"a wide exception":  {translate.NetworkPolicy, exceptions(), true},
		"colons and quotes": {translate.ACA, strings.Repeat("\"", 400_000) + strings.Repeat(":", 400_000), false},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			tr, err := translate.Read(row.source, []byte(row.input))
			if (err == nil) != row.read || err != nil && sandbox.RefusalOf(err) == nil {
				t.Errorf("got error %v", err)
			}
			if err == nil {
				tr.HCL("enormous")
			}
			runtime.ReadMemStats(&after)
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%v; %d MB were allocated", time.Since(start).Round(time.Millisecond), allocated>>20)
			if allocated > most {
				t.Errorf("%d MB were allocated, at most %d", allocated>>20, most>>20)
			}
		})
	}
}

func laughs() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 20; i++ {
		p := "*a" + strconv.Itoa(i-1)
		b.WriteString("a" + strconv.Itoa(i) + ": &a" + strconv.Itoa(i) + " [" + strings.Repeat(p+",", 8) + p + "]\n")
	}
	return b.String()
}

func exceptions() string {
	var b strings.Builder
	b.WriteString("{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1, spec: {egress: [{to: [{ipBlock: {cidr: 8.0.0.0/5, except: [")
	for i := range 600 {
		b.WriteString("9." + strconv.Itoa(i/3) + "." + strconv.Itoa(i%250) + ".1/32,")
	}
	b.WriteString("10.0.0.0/8]}}]}]}}")
	return b.String()
}

// A rule that may be a denial is one: what else permits the same is left out.
func TestWhatMayDenyDenies(t *testing.T) {
	t.Parallel()
	shell := func(first string) string {
		return "version: 1\nnetwork_policies: {a: {endpoints: [" + first + ", {host: api.example.com, port: 443}], binaries: [{path: /**}]}}"
	}
	azure := func(first string) string {
		return "{defaultAction: Deny, rules: [" + first + ", {match: {host: api.example.com}, action: {type: Allow}}]}"
	}
	docker := func(first string) string {
		return "rules: [" + first + ", {actions: ['connect:tcp'], resources: [api.example.com], decision: allow}]"
	}
	for name, row := range map[string]struct {
		source    translate.Source
		bad, good string
	}{
		"aca rule without an action": {
			translate.ACA, azure("{match: {host: api.example.com}}"), azure("{match: {host: other.example.com}}"),
		},
		"aca action nobody knows": {
			translate.ACA, azure("{match: {host: api.example.com}, action: {type: Quarantine}}"), azure("{match: {host: other.example.com}, action: {type: Quarantine}}"),
		},
		"aca denial with a name nobody knows": {
			translate.ACA, azure("{match: {host: api.example.com, when: night}, action: {type: Deny}}"), azure("{match: {host: other.example.com, when: night}, action: {type: Deny}}"),
		},
		"aca denial that cannot be read": {
			translate.ACA, azure("{match: {host: 'api.*.com'}, action: {type: Deny}}"), azure("{match: {host: '*.other.com'}, action: {type: Deny}}"),
		},
		"docker rule without a decision": {
			translate.Docker, docker("{actions: ['connect:tcp'], resources: ['*.example.com']}"), docker("{actions: ['connect:tcp'], resources: ['*.example.net']}"),
		},
		"docker denial of an action nobody knows": {
			translate.Docker, docker("{actions: ['connect:any'], resources: [api.example.com], decision: deny}"),
			docker("{actions: ['connect:udp'], resources: [api.example.com], decision: deny}"),
		},
		"docker denial without actions": {
			translate.Docker, docker("{resources: [api.example.com], decision: deny}"), docker("{actions: [read], resources: [api.example.com], decision: deny}"),
		},
		"openshell endpoint with a name nobody knows": {
			translate.OpenShell, shell("{host: api.example.com, port: 443, path: /v1/**, when: night}"), shell("{host: other.example.com, port: 443, path: /v1/**, when: night}"),
		},
		"openshell endpoint with a star inside": {
			translate.OpenShell, shell("{host: '*i.example.com', port: 443, path: /v1/**}"), shell("{host: '*i.example.net', port: 443, path: /v1/**}"),
		},
		"openshell endpoint with a pattern inside": {
			translate.OpenShell, shell("{host: api.example.com, port: 443, path: '/*/admin'}"), shell("{host: api.example.com, port: 444, path: '/*/admin'}"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tr := read(t, row.source, row.bad); tr.Policy.Egress.Mode != sandbox.EgressClosed {
				t.Errorf("permitted: %+v", tr.Policy.Egress)
			}
			if tr := read(t, row.source, row.good); tr.Policy.Egress.Mode != sandbox.EgressAllowlist {
				t.Errorf("one step away nothing is permitted: %+v", tr)
			}
		})
	}
}

func TestHCLCannotBeEscapedFrom(t *testing.T) {
	t.Parallel()
	name := "a\n}\nresource \"x\" \"y\" {} ${file(\"/etc/passwd\")} %{ if true }\u202e\""
	tr := read(t, translate.ACA, "name: "+strconv.Quote(name)+"\negressPolicy: {defaultAction: Deny, hostRules: [{pattern: a.example.com, action: Allow}]}")
	if tr.Policy.Name != name {
		t.Fatalf("the name is %q", tr.Policy.Name)
	}
	out := tr.HCL(translate.Label(name))
	f, diags := hclsyntax.ParseConfig(out, "out.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, out)
	}
	body, ok := f.Body.(*hclsyntax.Body)
	if !ok || len(body.Blocks) != 1 || len(body.Attributes) != 0 {
		t.Fatalf("more than one block:\n%s", out)
	}
	v, diags := body.Blocks[0].Body.Attributes["name"].Expr.Value(nil)
	if diags.HasErrors() || v.AsString() != name {
		t.Errorf("the name became %#v", v)
	}
	if !bytes.HasPrefix(out, []byte("# Read from an egress policy")) {
		t.Errorf("no comment first:\n%s", out)
	}
}

func TestRangesAreTakenApartExactly(t *testing.T) {
	t.Parallel()
	tr := read(t, translate.NetworkPolicy, "{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1, spec: {egress: [{to: [{ipBlock: {cidr: 192.0.2.7/24, "+
		"except: [192.0.2.0/25, 192.0.2.192/26]}}], ports: [{port: 443}]}]}}")
	if got := strings.Join(tr.Policy.Egress.Hosts, " "); got != "192.0.2.128/26" {
		t.Errorf("got %q", got)
	}
}

func TestTheFirstRuleOfAzureDecides(t *testing.T) {
	t.Parallel()
	const rules = "egressPolicy: {defaultAction: Deny, rules: ["
	const deny, allow = "{match: {host: '*.example.com'}, action: {type: Deny}}", "{match: {host: api.example.com}, action: {type: Allow}}"
	if tr := read(t, translate.ACA, rules+deny+", "+allow+"]}"); tr.Policy.Egress.Mode != sandbox.EgressClosed {
		t.Errorf("a permission after its denial holds: %+v", tr.Policy.Egress)
	}
	if tr := read(t, translate.ACA, rules+allow+", "+deny+"]}"); len(tr.Policy.Egress.Rules) != 1 {
		t.Errorf("a permission before its denial does not hold: %+v", tr.Policy.Egress)
	}
}

func TestAnEndpointThatIsChosenByPathIsDeniedToTheOthers(t *testing.T) {
	t.Parallel()
	const whole = "{host: api.example.com, port: 443}"
	const part = "{host: api.example.com, port: 443, path: /admin/**, protocol: rest, enforcement: enforce, access: read-only}"
	policy := func(endpoints string) string {
		return "version: 1\nnetwork_policies: {a: {endpoints: [" + endpoints + "], binaries: [{path: /**}]}}"
	}
	if tr := read(t, translate.OpenShell, policy(whole)); len(tr.Policy.Egress.Hosts) != 1 {
		t.Fatalf("alone it is not permitted: %+v", tr)
	}
	tr := read(t, translate.OpenShell, policy(whole+", "+part))
	if len(tr.Policy.Egress.Hosts) != 0 || len(tr.Policy.Egress.Rules) != 1 {
		t.Errorf("POST /admin is permitted: %+v", tr.Policy.Egress)
	}
}
