package provider

import (
	"strings"
	"testing"
)

func TestEgressContainsSaysWhatOnlyTheInnerSideReaches(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	allow := func(hosts ...any) map[string]any {
		return map[string]any{"egress_mode": "allowlist", "egress_hosts": hosts}
	}
	asks := func(hosts ...any) map[string]any {
		return with(allow(hosts...), map[string]any{"kind": "codeact", "backend": "wasm"})
	}
	everything := map[string]any{"egress_mode": "unrestricted"}
	for name, c := range map[string]struct {
		outer, inner      any
		contains, witness string
	}{
		"a policy in itself":                {open(), open(), "true", "null"},
		"a host in a suffix":                {allow("*.example.com"), asks("a.example.com"), "true", "null"},
		"a suffix in a host":                {allow("a.example.com"), asks("*.example.com"), "false", "evil.example.com:443"},
		"another spelling":                  {allow("a.example.com"), allow("A.Example.COM."), "true", "null"},
		"a workload in a workload":          {asks("a.example.com"), asks("b.example.com"), "false", "b.example.com:443"},
		"a closed workload in nothing":      {map[string]any{}, spec(nil), "true", "null"},
		"a host in nothing":                 {map[string]any{}, asks("a.example.com"), "false", "a.example.com:443"},
		"a host in everything":              {everything, asks("a.example.com"), "true", "null"},
		"everything in a host":              {allow("a.example.com"), everything, "false", "any destination"},
		"a host in all but that":            {with(everything, map[string]any{"never_reaches": []string{"a.example.com"}}), asks("a.example.com"), "false", "a.example.com:443"},
		"any method in one":                 {map[string]any{"egress_mode": "allowlist", "egress_rules": map[string]any{"r": rule("a.example.com", "GET")}}, asks("a.example.com"), "false", "a.example.com:443 (DELETE /)"},
		"an unknown outer side":             {notKnown{}, asks("a.example.com"), "unknown", "unknown"},
		"an unknown inner side":             {allow("a.example.com"), notKnown{}, "unknown", "unknown"},
		"a certain host beside unknown":     {allow("a.example.com"), asks("b.example.com", notKnown{}), "false", "b.example.com:443"},
		"an unknown host":                   {allow("a.example.com"), asks("a.example.com", notKnown{}), "unknown", "unknown"},
		"an unknown host within everything": {everything, asks(notKnown{}), "true", "null"},
		"nothing within what is unknown":    {notKnown{}, spec(nil), "true", "null"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.call(t, "egress_contains", c.outer, c.inner)
			if contains, witness := got.of(t, "contains"), got.of(t, "witness"); contains != c.contains || witness != c.witness {
				t.Errorf("contains %s, witness %s", contains, witness)
			}
		})
	}
}

func rule(host string, methods ...string) map[string]any {
	return map[string]any{"host": host, "ports": []any{443}, "methods": methods, "paths": []string{"*"}}
}

func TestEgressContainsRefusesAtTheArgument(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for name, c := range map[string]struct {
		outer, inner any
		argument     int64
		locators     []string
	}{
		"no outer side":            {nil, open(), 0, []string{"value.missing"}},
		"no inner side":            {open(), nil, 1, []string{"value.missing"}},
		"text":                     {open(), "a.example.com", 1, []string{"value.wrong_type"}},
		"a misspelt name":          {with(open(), map[string]any{"egress_host": "a"}), open(), 0, []string{"value.unknown_name at egress_host"}},
		"a misspelt name inside":   {open(), map[string]any{"egress_mode": "allowlist", "egress_rules": map[string]any{"r": with(rule("a.example.com", "GET"), map[string]any{"method": "GET"})}}, 1, []string{`value.unknown_name at egress_rules["r"].method`}},
		"a mode without its hosts": {open(), map[string]any{"kind": "codeact", "egress_hosts": []string{"a.example.com"}}, 1, []string{"egress.hosts_without_allowlist at egress_hosts"}},
		"a digest of another":      {open(), with(open(), map[string]any{"digest": "sha256:" + strings.Repeat("0", 64)}), 1, []string{"document.attributes_lost"}},
		"both at once":             {map[string]any{"a": 1}, map[string]any{"b": 1}, 0, []string{"value.unknown_name at a", "value.unknown_name at b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.call(t, "egress_contains", c.outer, c.inner).refusedAt(t, c.argument, c.locators...)
		})
	}
}
