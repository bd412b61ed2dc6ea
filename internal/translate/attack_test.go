package translate_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/translate"
)

func kubernetes(peer, ports string) string {
	return "{kind: NetworkPolicy, apiVersion: networking.k8s.io/v1, spec: {egress: [{to: [" + peer + "], ports: [" + ports + "]}]}}"
}

func shellEndpoint(fields string) string {
	return "{version: 1, network_policies: {a: {endpoints: [{" + fields + "}], binaries: [{path: '/**'}]}}}"
}

// To the YAML that the sources' tools read, a number with a zero before it is octal.
func TestAPortThatTheSourceReadsAsAnotherIsNeverPermitted(t *testing.T) {
	t.Parallel()
	block := "{ipBlock: {cidr: 20.0.0.0/8}}"
	for name, row := range map[string]struct {
		source translate.Source
		input  func(port string) string
	}{
		"a port":         {translate.NetworkPolicy, func(p string) string { return kubernetes(block, "{port: "+p+"}") }},
		"a port's end":   {translate.NetworkPolicy, func(p string) string { return kubernetes(block, "{port: 1, endPort: "+p+"}") }},
		"an endpoint's":  {translate.OpenShell, func(p string) string { return shellEndpoint("host: a.example.com, port: " + p) }},
		"among several":  {translate.OpenShell, func(p string) string { return shellEndpoint("host: a.example.com, ports: [" + p + "]") }},
		"a connection's": {translate.ACA, func(p string) string { return connectionTo("20.0.0.0/8", p) }},
		"a resource's":   {translate.Docker, func(p string) string { return dockerAllow("a.example.com:" + p) }},
		"a kit's (v2)": {translate.Docker, func(p string) string {
			return "{schemaVersion: '2', permissions: {network: {allow: ['a.example.com:" + p + "']}}}"
		}},
		"an IPv6 address": {translate.Docker, func(p string) string { return dockerAllow("[2600::1]:" + p) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, port := range []string{"0443", "0x1bb", "0o673", "4_43", "+443", "443.0", "4.43e2", "0b110111011"} {
				tr, err := translate.Read(row.source, []byte(row.input(port)))
				if err == nil && (len(tr.Policy.Egress.Hosts) > 0 || len(tr.Policy.Egress.Rules) > 0) {
					t.Errorf("port %s is permitted as %+v", port, tr.Policy.Egress)
				}
			}
			if tr := read(t, row.source, row.input("443")); len(tr.Policy.Egress.Hosts)+len(tr.Policy.Egress.Rules) == 0 {
				t.Errorf("port 443 is not permitted: %+v", tr.Losses)
			}
		})
	}
}

func connectionTo(destination, port string) string {
	return "{defaultAction: Deny, transportRules: {defaultAction: Deny, rules: [{action: Allow, destination: '" + destination + "', port: " + port + "}]}}"
}

func dockerAllow(resource string) string {
	return "rules: [{actions: ['connect:tcp'], resources: ['" + resource + "'], decision: allow}]"
}

// Where a source takes only addresses, a name is no destination to it, and an
// exception that is a name would be none.
func TestANameWhereTheSourceTakesAddressesIsRefused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		source translate.Source
		input  func(text string) string
	}{
		"a block": {translate.NetworkPolicy, func(x string) string { return kubernetes("{ipBlock: {cidr: '"+x+"'}}", "{port: 443}") }},
		"an exception": {translate.NetworkPolicy, func(x string) string {
			return kubernetes("{ipBlock: {cidr: 20.0.0.0/8, except: ['"+x+"']}}", "{port: 443}")
		}},
		"allowed_ips alone": {translate.OpenShell, func(x string) string { return shellEndpoint("allowed_ips: ['" + x + "'], port: 443") }},
		"allowed_ips beside host": {translate.OpenShell, func(x string) string {
			return shellEndpoint("host: a.example.com, allowed_ips: ['" + x + "'], port: 443")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, text := range []string{"evil.example.com", "*.example.com", "*", "", "20.1.0.0/8/8", "20.1", "0x14.1.0.0/16"} {
				if tr, err := translate.Read(row.source, []byte(row.input(text))); err == nil {
					t.Errorf("%q is read as %+v", text, tr.Policy.Egress)
				}
			}
			read(t, row.source, row.input("20.1.0.0/16"))
		})
	}
}

// A source refuses the connection whatever name led to the address; here a
// permitted name is judged as a name.
func TestADenialOfAddressesSaysThatNamesMayLeadThere(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		source translate.Source
		input  func(denied string) string
	}{
		"aca host rule": {translate.ACA, func(x string) string {
			return "{defaultAction: Deny, hostRules: [{pattern: a.example.com, action: Allow}, {pattern: '" + x + "', action: Deny}]}"
		}},
		"aca rule": {translate.ACA, func(x string) string {
			return "{defaultAction: Deny, rules: [{match: {host: '" + x + "'}, action: {type: Deny}}, {match: {host: a.example.com}, action: {type: Allow}}]}"
		}},
		"aca connection": {translate.ACA, func(x string) string {
			return "{defaultAction: Deny, hostRules: [{pattern: a.example.com, action: Allow}], transportRules: {defaultAction: Deny, rules: [{action: Deny, destination: '" + x + "'}]}}"
		}},
		"docker rule": {translate.Docker, func(x string) string {
			return "rules: [{actions: ['connect:tcp'], resources: [a.example.com], decision: allow}, {actions: ['connect:tcp'], resources: ['" + x + "'], decision: deny}]"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := func(input string) bool {
				for _, l := range read(t, row.source, input).Losses {
					if (l.Effect == translate.Widens || l.Effect == translate.Unknown) && strings.Contains(l.Why, "a permitted name that leads there") {
						return true
					}
				}
				return false
			}
			for _, denied := range []string{"20.0.0.0/8", "20.1.2.3", "2600::/16"} {
				if !said(row.input(denied)) {
					t.Errorf("the denial of %s is taken to hold for names", denied)
				}
			}
			if said(row.input("b.example.com")) {
				t.Error("the denial of a name says so too")
			}
		})
	}
}

func TestAPresetBesideRulesIsRefused(t *testing.T) {
	t.Parallel()
	const access, rules = "access: full", "rules: [{allow: {method: GET, path: /v1}}]"
	of := func(fields ...string) string {
		return shellEndpoint("host: a.example.com, port: 443, protocol: rest, enforcement: enforce, " + strings.Join(fields, ", "))
	}
	if tr, err := translate.Read(translate.OpenShell, []byte(of(access, rules))); err == nil {
		t.Errorf("one of them was chosen: %+v", tr.Policy.Egress)
	}
	read(t, translate.OpenShell, of(access))
	read(t, translate.OpenShell, of(rules))
}

// The kits that a kit is built on may deny what it permits.
func TestOtherKitsOfAKitAreUnknown(t *testing.T) {
	t.Parallel()
	for name, unknown := range map[string]bool{"extends": true, "mixins": true, "memory": false} {
		tr := read(t, translate.Docker, "{schemaVersion: '2', "+name+": x, permissions: {network: {allow: [a.example.com]}}}")
		found := false
		for _, l := range tr.Losses {
			found = found || l.Effect == translate.Unknown
		}
		if found != unknown {
			t.Errorf("%s: %+v", name, tr.Losses)
		}
	}
}

// What is said of denials that cut permissions grows with their product, and is
// bounded by itself; the neighbour is the same file with a hundredth of them.
func TestCutPermissionsAreBoundedTogether(t *testing.T) {
	t.Parallel()
	repeat := func(n int, item func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(item(i))
		}
		return b.String()
	}
	carved := func(grants, denials int) string {
		return "{defaultAction: Deny, hostRules: [" +
			repeat(12, func(i int) string { return fmt.Sprintf("{pattern: %d.3.5.7, action: Deny},", 128+i*8) }) +
			repeat(denials, func(int) string { return "{pattern: 128.3.5.7, action: Deny}," }) +
			repeat(grants, func(int) string { return "{pattern: 128.0.0.0/1}," }) + "]}"
	}
	cut := func(grants, denials int) string {
		return "rules: [{decision: allow, actions: ['connect:tcp'], resources: [" +
			repeat(grants, func(int) string { return "'**.example.com:1-60000'," }) +
			"]}, {decision: deny, actions: ['connect:tcp'], resources: [" +
			repeat(denials, func(i int) string { return "'x.example.com:" + strconv.Itoa(2*i+2) + "'," }) + "]}]"
	}
	for name, row := range map[string]struct {
		source      translate.Source
		large, less string
	}{
		"pieces": {translate.ACA, carved(100, 20_000), carved(10, 20)},
		"losses": {translate.Docker, cut(700, 2_900), cut(7, 29)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tr, err := translate.Read(row.source, []byte(row.large)); err == nil {
				t.Errorf("%d losses", len(tr.Losses))
			}
			read(t, row.source, row.less)
		})
	}
}

// Words that mean something in HCL are keys like any other.
func TestEveryNameOfARuleIsAKeyThatReadsBack(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"for", "FOR!", "if", "in", "null", "true", "endfor", "_", "-", "1", "${x}", "%{ for }", "\"", "\n}", "<<EOT", "é", "a b"} {
		input := "{defaultAction: Deny, rules: [{name: " + strconv.Quote(name) + ", match: {host: a.example.com}, action: {type: Allow}}]}"
		tr := read(t, translate.ACA, input)
		out := tr.HCL(translate.Label(name))
		f, diags := hclsyntax.ParseConfig(out, "out.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Errorf("%q: %v\n%s", name, diags, out)
			continue
		}
		body, ok := f.Body.(*hclsyntax.Body)
		if !ok {
			t.Fatal("not a body")
		}
		rules, diags := body.Blocks[0].Body.Attributes["egress_rules"].Expr.Value(nil)
		if diags.HasErrors() || rules.LengthInt() != 1 {
			t.Errorf("%q: %v %#v", name, diags, rules)
			continue
		}
		for key, rule := range rules.AsValueMap() {
			if tr.Policy.Egress.Rules[key].Host != rule.GetAttr("host").AsString() {
				t.Errorf("%q: %s is %#v", name, key, rule)
			}
		}
	}
}

// A permission whose path cannot be written is left out, and never without a word.
func TestAPermissionThatIsLeftOutForItsPathIsListed(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]struct {
		source translate.Source
		of     func(path string) string
	}{
		"aca": {translate.ACA, func(p string) string {
			return "{defaultAction: Deny, rules: [{match: {host: a.example.com, path: '" + p + "'}, action: {type: Allow}}]}"
		}},
		"aca that changes headers": {translate.ACA, func(p string) string {
			return "{defaultAction: Deny, rules: [{match: {host: a.example.com, path: '" + p + "'}, action: {type: Transform}}]}"
		}},
		"openshell": {translate.OpenShell, func(p string) string {
			return shellEndpoint("host: a.example.com, port: 443, protocol: rest, enforcement: enforce, rules: [{allow: {method: GET, path: '" + p + "'}}]")
		}},
	} {
		for _, path := range []string{"/a*", "/a/*/b", "/{id}", "/a?x", "a", "/**/x"} {
			tr := read(t, input.source, input.of(path))
			listed := false
			for _, l := range tr.Losses {
				listed = listed || l.Effect == translate.Narrows && strings.Contains(l.Why, "left out")
			}
			if len(tr.Policy.Egress.Rules) > 0 || !listed {
				t.Errorf("%s, %s: %+v %+v", name, path, tr.Policy.Egress, tr.Losses)
			}
		}
		if tr := read(t, input.source, input.of("/a/**")); len(tr.Policy.Egress.Rules) != 1 {
			t.Errorf("%s: /a/** is not permitted: %+v", name, tr.Losses)
		}
	}
}
