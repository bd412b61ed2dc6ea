package provider

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// FuzzAnyValueIsReadOrRefused gives the readers whatever a function's dynamic
// argument may hold. They must not fail, and every finding must say what to do
// and end in its locator.
func FuzzAnyValueIsReadOrRefused(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `"x"`, `7`, `{"policy":null}`,
		`{"name":"agents","minimum_isolation":"microvm","egress_mode":"allowlist","egress_hosts":["a.example.com",null,{}]}`,
		`{"egress_mode":"allowlist","egress_rules":{"api":{"host":"a.example.com","ports":[443],"methods":["GET"],"paths":["/v1"]},"b":null}}`,
		`{"files_in_limits":{"max_bytes_per_file":1e30,"max_total_bytes":-1,"max_files":0.5}}`,
		`{"backend":"wasm","kind":"codeact","requires":["run_code"],"labels":{"a":"b","c":null},"outputs":{"x":{"path":"../x"}}}`,
		`{"backend":"acas","kind":"codeact","image":{"reference":"a/b@sha256:","user":"0:0"},"digest":"sha256:"}`,
		`{"egress_mode":"allowlist","egress_hosts":["xn--a.example","[::1]","0x7f.1","\u2028"]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var parsed any
		if json.Unmarshal(data, &parsed) != nil {
			return
		}
		v := untyped(parsed)
		policy, workload := readPolicy(v, true), readWorkload(v, true)
		a := admit(policy, nil, planning)
		j := a.judge(workload, planning)
		for _, finding := range append(a.findings, j.Findings...) {
			if !finding.Code.Known() || finding.Remedy == "" || finding.Found == "" {
				t.Errorf("finding %+v does not say what to do", finding)
			}
			if lines := strings.Split(detail(finding), "\n"); lines[len(lines)-1] != " "+finding.Locator() {
				t.Errorf("the last line of %q is not its locator", detail(finding))
			}
		}
	})
}

// untyped is a JSON value as Terraform gives it to a dynamic parameter.
func untyped(v any) tftypes.Value {
	switch v := v.(type) {
	case nil:
		return tftypes.NewValue(tftypes.DynamicPseudoType, nil)
	case string:
		return str(v)
	case bool:
		return tftypes.NewValue(tftypes.Bool, v)
	case float64:
		return tftypes.NewValue(tftypes.Number, v)
	case []any:
		elements := make([]tftypes.Value, len(v))
		for i, e := range v {
			elements[i] = untyped(e)
		}
		return tuple(elements...)
	case map[string]any:
		attrs := map[string]tftypes.Value{}
		for name, e := range v {
			attrs[name] = untyped(e)
		}
		return loose(attrs)
	default:
		return tftypes.NewValue(tftypes.DynamicPseudoType, nil)
	}
}
