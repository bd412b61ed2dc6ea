package acasegress_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasegress"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func hosts(names ...string) sandbox.Egress {
	return sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: names}
}

func ruled(rule sandbox.EgressRule) sandbox.Egress {
	return sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: map[string]sandbox.EgressRule{"api": rule}}
}

func rule(host, ports, methods, paths string) sandbox.EgressRule {
	list := func(text string) []string { return strings.Fields(text) }
	return sandbox.EgressRule{Host: host, Ports: list(ports), Methods: list(methods), Paths: list(paths)}
}

func TestEgressIsCompiledToWhatTheServiceTakes(t *testing.T) {
	t.Parallel()
	const frame = `{"defaultAction":"Deny","hostRules":[`
	for name, c := range map[string]struct {
		egress  sandbox.Egress
		version wire.Version
		want    string
	}{
		"closed":      {sandbox.Egress{Mode: sandbox.EgressClosed}, wire.V0201, frame + `],"trafficInspection":"Full"}`},
		"not stated":  {sandbox.Egress{}, wire.V0201, frame + `],"trafficInspection":"Full"}`},
		"two hosts":   {hosts("PyPI.example.org.", "*.cdn.example.org"), wire.V0201, frame + `{"action":"Allow","pattern":"*.cdn.example.org"},{"action":"Allow","pattern":"pypi.example.org"}],"trafficInspection":"Full"}`},
		"said twice":  {sandbox.Egress{Mode: sandbox.EgressAllowlist, Hosts: []string{"a.example"}, Rules: map[string]sandbox.EgressRule{"x": rule("A.example", "443", "*", "*")}}, wire.V0201, frame + `{"action":"Allow","pattern":"a.example"}],"trafficInspection":"Full"}`},
		"methods":     {ruled(rule("api.example.org", "443", "POST GET", "*")), wire.V0201, frame + `],"rules":[{"action":{"type":"Allow"},"match":{"host":"api.example.org","methods":["GET","POST"]}}],"trafficInspection":"Full"}`},
		"both ports":  {ruled(rule("api.example.org", "80 443", "*", "*")), wire.V0901, frame + `{"action":"Allow","pattern":"api.example.org"}],"trafficInspection":"Full"}`},
		"newer":       {hosts("a.example"), wire.V0901, frame + `],"rules":[{"action":{"type":"Allow"},"match":{"host":"a.example","scheme":"https"}}],"trafficInspection":"Full"}`},
		"newer, http": {ruled(rule("a.example", "80", "GET", "*")), wire.V0901, frame + `],"rules":[{"action":{"type":"Allow"},"match":{"host":"a.example","methods":["GET"],"scheme":"http"}}],"trafficInspection":"Full"}`},
	} {
		got, findings := acasegress.Compile(c.egress, c.version)
		if d := sandbox.Decide(findings); d.Verdict != sandbox.Allow {
			t.Errorf("%s: %v", name, d.Err())
			continue
		}
		text, err := wire.Encode(got.Policy)
		if err != nil || canonical(t, text) != canonical(t, []byte(c.want)) {
			t.Errorf("%s: %s (%v)\nwant %s", name, text, err, c.want)
		}
		if c := acasegress.Compare(got.Means, acasegress.Read(&got.Policy)); c.Err() != nil {
			t.Errorf("%s: read back: %v", name, c.Err())
		}
	}
}

// Each of these would have to become something wider, or nothing that is documented.
// The neighbours are in the test above.
func TestWhatTheServiceCannotTellApartIsRefusedAndNotWidened(t *testing.T) {
	t.Parallel()
	many := make([]string, 0, 5000)
	for i := range cap(many) {
		many = append(many, "h"+strconv.Itoa(i)+".example")
	}
	for name, c := range map[string]struct {
		egress  sandbox.Egress
		version wire.Version
		code    sandbox.Code
		path    string
	}{
		"a port":            {ruled(rule("a.example", "8443", "*", "*")), wire.V0901, sandbox.CodeCapabilityMissing, `egress_rules["api"]`},
		"any port":          {ruled(rule("a.example", "*", "*", "*")), wire.V0901, sandbox.CodeCapabilityMissing, `egress_rules["api"]`},
		"http alone":        {ruled(rule("a.example", "80", "*", "*")), wire.V0201, sandbox.CodeCapabilityMissing, `egress_rules["api"]`},
		"an address":        {hosts("a.example", "192.0.2.7"), wire.V0201, sandbox.CodeCapabilityMissing, `egress_hosts[1]`},
		"a range":           {ruled(rule("10.0.0.0/8", "443", "*", "*")), wire.V0201, sandbox.CodeCapabilityMissing, `egress_rules["api"]`},
		"a path":            {ruled(rule("a.example", "443", "*", "/v1")), wire.V0901, sandbox.CodeCapabilityMissing, `egress_rules["api"]`},
		"a method":          {ruled(rule("a.example", "443", "GET LOCK", "*")), wire.V0201, sandbox.CodeEgressMethodUnsupported, `egress_rules["api"].methods`},
		"no method":         {ruled(rule("a.example", "443", "", "*")), wire.V0201, sandbox.CodeEgressRuleIncomplete, `egress_rules["api"].methods`},
		"any host":          {hosts("*"), wire.V0201, sandbox.CodeEgressHostInvalid, `egress_hosts[0]`},
		"unrestricted":      {sandbox.Egress{Mode: sandbox.EgressUnrestricted}, wire.V0201, sandbox.CodeEgressNotEnforced, "egress_mode"},
		"a mode of no name": {sandbox.Egress{Mode: 9}, wire.V0201, sandbox.CodeEgressNotEnforced, "egress_mode"},
		"closed with hosts": {sandbox.Egress{Hosts: []string{"a.example"}}, wire.V0201, sandbox.CodeEgressHostsWithoutAllowlist, "egress_mode"},
		"too many":          {hosts(many...), wire.V0201, sandbox.CodeEgressTooComplex, "egress_mode"},
	} {
		got, findings := acasegress.Compile(c.egress, c.version)
		if len(findings) != 1 || findings[0].Code != c.code || findings[0].Path.String() != c.path || findings[0].Verdict != sandbox.Deny {
			t.Errorf("%s: %v", name, findings)
		}
		if got.Means != nil || got.Policy.DefaultAction != "" {
			t.Errorf("%s: something was compiled all the same", name)
		}
	}
}

func TestAllRefusalsOfAnEgressAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	e := hosts("192.0.2.7", "b..example", "fine.example")
	e.Rules = map[string]sandbox.EgressRule{"x": rule("x.example", "22", "LOCK", "/v1")}
	_, findings := acasegress.Compile(e, wire.V0201)
	if len(findings) != 5 {
		t.Errorf("%d findings: %v", len(findings), findings)
	}
}

func TestPort80IsSaidToBeOpenWhereTheServiceCannotCloseIt(t *testing.T) {
	t.Parallel()
	_, findings := acasegress.Compile(hosts("a.example", "b.example"), wire.V0201)
	if len(findings) != 1 || findings[0].Verdict != sandbox.Allow || findings[0].Witness != "a.example:80" {
		t.Errorf("%v", findings)
	}
	for name, e := range map[string]sandbox.Egress{
		"declared":  ruled(rule("a.example", "80 443", "*", "*")),
		"elsewhere": {Mode: sandbox.EgressAllowlist, Hosts: []string{"a.example"}, Rules: map[string]sandbox.EgressRule{"x": rule("*.example", "80 443", "*", "*")}},
		"closed":    {},
	} {
		if _, findings := acasegress.Compile(e, wire.V0201); len(findings) != 0 {
			t.Errorf("%s: %v", name, findings)
		}
	}
	if _, findings := acasegress.Compile(hosts("a.example"), wire.V0901); len(findings) != 0 {
		t.Errorf("the newer version: %v", findings)
	}
}

func TestTheMethodsAreThoseThatTheBackendDeclares(t *testing.T) {
	t.Parallel()
	declared, err := facts.Lookup("acas")
	if err != nil {
		t.Fatal(err)
	}
	all := ruled(rule("a.example", "443", strings.Join(declared.MethodTokens, " "), "*"))
	if c, findings := acasegress.Compile(all, wire.V0901); len(findings) != 0 || !slices.Equal(c.Policy.Rules[0].Match.Methods, declared.MethodTokens) {
		t.Errorf("%v", findings)
	}
	_, findings := acasegress.Compile(ruled(rule("a.example", "443", "LOCK", "*")), wire.V0901)
	if len(findings) != 1 || !strings.HasSuffix(findings[0].Required, strings.Join(declared.MethodTokens, ", ")) {
		t.Errorf("%v", findings)
	}
}
