package acasegress_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasegress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// canonical is a document with its members in order.
func canonical(tb testing.TB, text []byte) string {
	tb.Helper()
	v := jsontext.Value(text)
	if err := v.Canonicalize(); err != nil {
		tb.Fatal(err)
	}
	return string(v)
}

// policyOf reads a policy, of which only the members that matter are given.
func policyOf(tb testing.TB, members string) *wire.EgressPolicy {
	tb.Helper()
	var p wire.EgressPolicy
	if err := wire.Decode([]byte("{"+members+"}"), &p); err != nil {
		tb.Fatalf("%s: %v", members, err)
	}
	return &p
}

const full = `"defaultAction":"Deny","trafficInspection":"Full",`

func to(host string, port uint16, method string) egress.Request {
	q := egress.Request{Host: host, Port: port, Method: method}
	if method != "" {
		q.Path = "/"
	}
	return q
}

func TestAPolicyThatCanBeReadInOneWayIsRead(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]string{
		full + `"hostRules":[]`:                                "closed",
		full + `"hostRules":[{"pattern":"*","action":"Deny"}]`: "closed",
		full + `"enforcementMode":"Enforced","transportRules":null,"validationWarnings":[],"hostRules":[]`:                                  "closed",
		full + `"hostRules":[{"pattern":"a.example","action":"Allow"}]`:                                                                     "allowlist a.example:80,443",
		full + `"hostRules":[{"pattern":"*.A.example.","action":"Allow"}]`:                                                                  "allowlist *.a.example:80,443",
		full + `"rules":[{"name":"x","match":{"host":"a.example","scheme":"https","methods":["GET"]},"action":{"type":"Allow"}}]`:           "allowlist a.example:443 (GET)",
		full + `"rules":[{"match":{"host":"a.example","scheme":"any","methods":["GET","GET"]},"action":{"type":"Allow"}}]`:                  "allowlist a.example:80,443 (GET)",
		full + `"hostRules":[{"pattern":"a.example","action":"Allow"}],"rules":[{"match":{"host":"b.x"},"action":{"type":"Deny"}}]`:         "allowlist",
		full + `"rules":[{"match":{"host":"a.example"},"action":{"type":"Deny"}},{"match":{"host":"*.example"},"action":{"type":"Allow"}}]`: "allowlist",
		full + `"hostRules":[{"pattern":"*","action":"Allow"}]`:                                                                             "unrestricted",
		full + `"rules":[{"match":{},"action":{"type":"Allow"}}]`:                                                                           "unrestricted",
		full + `"rules":[{"match":{},"action":{"type":"Deny"}},{"match":{},"action":{"type":"Allow"}}]`:                                     "closed",
		`"defaultAction":"Allow","trafficInspection":"Full","hostRules":[{"pattern":"a.example","action":"Deny"}]`:                          "unrestricted",
	} {
		got := acasegress.Read(policyOf(t, members))
		if !got.Clear() {
			t.Errorf("%s: %v", members, got.Findings())
			continue
		}
		text := got.Mode().String()
		if set, ok := got.Set(); ok && set.Len() > 0 {
			text += " " + set.Rule(0).String()
		}
		if text != want {
			t.Errorf("%s: %s, want %s", members, text, want)
		}
	}
	if got := acasegress.Read(nil); got.Mode() != sandbox.EgressUnrestricted || !got.May(to("a.example", 443, "")) {
		t.Errorf("no policy: %v", got.Findings())
	}
}

// What may be let out is never less than what the neighbour, one plain rule, lets out
// of it. Where nothing bounds it, anything may.
func TestAPolicyOfOtherHandsIsUnclearAndReadAsTheMostItMayBe(t *testing.T) {
	t.Parallel()
	const plain = `,"hostRules":[{"pattern":"a.example","action":"Allow"}]`
	ruleOf := func(match, action string) string {
		return full + `"rules":[{"match":{` + match + `},"action":{` + action + `}}]` + plain
	}
	for members, anything := range map[string]bool{
		`"defaultAction":"Deny"` + plain:                               true,
		`"defaultAction":"Deny","trafficInspection":"Partial"` + plain: true,
		`"defaultAction":"Deny","trafficInspection":"full"` + plain:    true,
		`"trafficInspection":"Full"` + plain:                           true,
		`"defaultAction":"deny","trafficInspection":"Full"` + plain:    true,
		full + `"enforcementMode":"Audit"` + plain:                     true,
		full + `"transportRules":{"defaultAction":"Deny","rules":[{"action":"Allow","protocol":"Udp","destination":"0.0.0.0/0"}]}` + plain: true,
		full + `"tds":{}` + plain:                                             true,
		full + `"hookRef":"h"` + plain:                                        true,
		full + `"proxyActions":[]` + plain:                                    true,
		full + `"source":"elsewhere"` + plain:                                 true,
		full + `"validationWarnings":["rule 0 is not enforced"]` + plain:      true,
		full + `"bypass":false` + plain:                                       true,
		full + `"hostRules":[{"pattern":"a.example","action":"Allow","x":1}]`: true,
		full + `"hostRules":[{"pattern":"a.example","action":"Log"},{"pattern":"a.example","action":"Allow"}]`: true,
		full + `"hostRules":[{"pattern":"x.*","action":"Allow"}]`:                                              true,
		full + `"hostRules":[{"pattern":"*.*","action":"Allow"}]`:                                              true,
		full + `"hostRules":[{"pattern":"a.example/x","action":"Allow"}]`:                                      true,
		ruleOf(`"path":"/v1/*"`, `"type":"Allow"`):                                                             true,
		ruleOf(`"methods":["GET"]`, `"type":"Allow"`):                                                          true,
		ruleOf(`"host":"x.example"`, `"type":"Allow","then":1`):                                                true,
		ruleOf(`"host":"x.example"`, `"type":"Forward"`):                                                       true,
		ruleOf(`"host":"x.example"`, `"type":"Rewrite","host":"*"`):                                            true,
		full + `"http":{"defaultAction":"Allow","hostRules":[]}` + plain:                                       true,
		full + `"http":{"defaultAction":"Deny","hostRules":[],"http":{}}` + plain:                              true,

		full + `"hostRules":[{"pattern":"api-*.a.example","action":"Allow"},{"pattern":"a.example","action":"Allow"}]`: false,
		full + `"hostRules":[{"pattern":"*a.example","action":"Allow"}]`:                                               false,
		full + `"hostRules":[{"pattern":"192.0.2.7","action":"Allow"},{"pattern":"a.example","action":"Allow"}]`:       false,
		full + `"hostRules":[{"pattern":"a.example","action":"Allow"},{"pattern":"a.example","action":"Deny"}]`:        false,
		full + `"hostRules":[{"pattern":"a.example","action":"Allow"},{"pattern":"*","action":"Deny"}]`:                false,
		ruleOf(`"host":"a.example"`, `"type":"Deny"`):                                                                  false,
		ruleOf(`"host":"*.a.example"`, `"type":"Deny"`) + `,"x":1`:                                                     true,
		ruleOf(`"host":"x.example","path":"/v1/*"`, `"type":"Allow"`):                                                  false,
		ruleOf(`"host":"x.example","scheme":"ftp"`, `"type":"Allow"`):                                                  false,
		ruleOf(`"host":"x.example","methods":["get"]`, `"type":"Allow"`):                                               false,
		ruleOf(`"host":"x.example","methods":["*"]`, `"type":"Allow"`):                                                 false,
		ruleOf(`"host":"x.example"`, `"type":"Allow","headers":[{"operation":"Set","name":"a","value":"b"}]`):          false,
		ruleOf(`"host":"x.example"`, `"type":"Transform"`):                                                             false,
		ruleOf(`"host":"x.example"`, `"type":"Rewrite","host":"y.example"`):                                            false,
		ruleOf(`"host":"x.example"`, `"type":"Allow","host":"y.example"`):                                              false,
		full + `"http":{"defaultAction":"Deny","hostRules":[{"pattern":"b.example","action":"Allow"}]}` + plain:        false,
		full + `"http":{"defaultAction":"Deny","hostRules":[]}` + plain:                                                false,
	} {
		got := acasegress.Read(policyOf(t, members))
		if got.Clear() || got.Mode() != sandbox.EgressUnspecified || got.Findings()[0].Verdict != sandbox.Deny {
			t.Errorf("%s is clear", members)
		}
		if _, ok := got.Set(); ok {
			t.Errorf("%s is a set", members)
		}
		if !got.May(to("a.example", 443, "")) {
			t.Errorf("%s: less than its plain rule", members)
		}
		if got.May(to("other.test", 443, "")) != anything {
			t.Errorf("%s: anything is %t", members, !anything)
		}
	}
}

func TestWhatRequestsAreSentToIsWhatARewriteOpens(t *testing.T) {
	t.Parallel()
	got := acasegress.Read(policyOf(t, full+`"rules":[{"match":{"host":"x.example"},"action":{"type":"Rewrite","host":"evil.example"}}]`))
	if !got.May(to("evil.example", 443, "")) || got.May(to("other.example", 443, "")) || got.Does(to("x.example", 443, "")) {
		t.Errorf("%v", got.Findings())
	}
}

func TestACopyThatSaysTheSameIsNoFinding(t *testing.T) {
	t.Parallel()
	const rules = `"hostRules":[{"pattern":"a.example","action":"Allow"},{"pattern":"b.example","action":"Allow"}]`
	const turned = `"hostRules":[{"pattern":"b.example","action":"Allow"},{"pattern":"A.example","action":"Allow"}]`
	for _, inner := range []string{full + rules, full + turned, `"defaultAction":"Deny",` + rules} {
		if got := acasegress.Read(policyOf(t, full+rules+`,"http":{`+inner+`}`)); !got.Clear() {
			t.Errorf("%s: %v", inner, got.Findings())
		}
	}
}

func TestASandboxSaysMoreThanItsPolicy(t *testing.T) {
	t.Parallel()
	plain := policyOf(t, full+`"hostRules":[{"pattern":"a.example","action":"Allow"}]`)
	if got := acasegress.ReadSandbox(wire.Sandbox{EgressPolicy: plain}); !got.Clear() || got.Allows() != 1 {
		t.Errorf("%v", got.Findings())
	}
	if got := acasegress.ReadSandbox(wire.Sandbox{}); got.Mode() != sandbox.EgressUnrestricted {
		t.Errorf("no policy is %s", got.Mode())
	}
	for name, doc := range map[string]wire.Sandbox{
		"around the proxy": {EgressPolicy: plain, SkipEgressProxy: true},
		"a named policy":   {EgressPolicy: plain, EgressPolicyID: "p"},
	} {
		if got := acasegress.ReadSandbox(doc); got.Clear() || !got.May(to("other.test", 443, "")) {
			t.Errorf("%s is clear", name)
		}
	}
}

func TestTheZeroReadingLetsOutAnythingAndNothingForCertain(t *testing.T) {
	t.Parallel()
	var r acasegress.Reading
	q := to("a.example", 443, "")
	if r.Clear() || !r.May(q) || r.Does(q) || len(r.Findings()) == 0 || r.Mode() != sandbox.EgressUnspecified {
		t.Error("the zero reading says something")
	}
}

// What a hostile service sends is bounded in work and in words.
func TestAHugePolicyIsReadInBoundedWorkAndWords(t *testing.T) {
	t.Parallel()
	huge := func(n int, action func(int) string) *wire.EgressPolicy {
		p := policyOf(t, full+`"hostRules":[]`)
		for i := range n {
			p.Rules = append(p.Rules, wire.EgressRule{
				Match:  wire.EgressMatch{Host: "h" + strconv.Itoa(i) + "." + strings.Repeat("x", 50) + ".example", Methods: []string{"GET"}},
				Action: wire.EgressAction{Type: action(i)},
			})
		}
		return p
	}
	for name, c := range map[string]struct {
		policy *wire.EgressPolicy
		clear  bool
	}{
		"as many as are read":  {huge(4096, func(int) string { return "Allow" }), true},
		"one more":             {huge(4097, func(int) string { return "Allow" }), false},
		"a few turns":          {huge(250, func(i int) string { return []string{"Allow", "Deny"}[i%2] }), true},
		"thousands of turns":   {huge(4096, func(i int) string { return []string{"Allow", "Deny"}[i%2] }), false},
		"thousands of unknown": {huge(4096, func(i int) string { return "X" + strconv.Itoa(i) }), false},
		"a very long word":     {huge(1, func(int) string { return strings.Repeat("\u202e", 1<<16) }), false},
	} {
		got := acasegress.Read(c.policy)
		if got.Clear() != c.clear {
			t.Errorf("%s: clear is %t: %v", name, got.Clear(), got.Findings())
		}
		if n := len(got.Findings()); n > 16 {
			t.Errorf("%s: %d findings", name, n)
		}
		for _, f := range got.Findings() {
			if len(f.Found) > 1024 || strings.ContainsRune(f.Found, '\u202e') {
				t.Errorf("%s: %d bytes", name, len(f.Found))
			}
		}
		if !c.clear && !got.May(to("other.test", 443, "")) {
			t.Errorf("%s: bounded", name)
		}
	}
}
