package provider

import "testing"

func TestEgressAllowsWhatRulesAdmit(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	workload := without(spec(open()), "name", "minimum_isolation", "denied_capabilities", "never_reaches", "image_require_digest", "files_in_limits")
	for name, c := range map[string]struct {
		object  any
		request any
		want    string
	}{
		"a listed host":                     {open(), "a.example.com", "true"},
		"in another case":                   {open(), "A.Example.COM.", "true"},
		"any method and path of it":         {open(), map[string]any{"host": "a.example.com", "method": "DELETE", "path": "/x"}, "true"},
		"another port of it":                {open(), map[string]any{"host": "a.example.com", "port": 8443}, "false"},
		"a name below a suffix":             {open(), "x.y.b.example.com", "true"},
		"the suffix itself":                 {open(), "b.example.com", "false"},
		"another host":                      {open(), "evil.example.com", "false"},
		"a rule with method and path":       {open(), map[string]any{"host": "api.example.com", "method": "GET", "path": "/v1/x"}, "true"},
		"its other port, as text":           {open(), map[string]any{"host": "api.example.com", "port": "8001", "method": "GET", "path": "/v1"}, "true"},
		"another method":                    {open(), map[string]any{"host": "api.example.com", "method": "POST", "path": "/v1/x"}, "false"},
		"another path":                      {open(), map[string]any{"host": "api.example.com", "method": "GET", "path": "/v10"}, "false"},
		"without the method":                {open(), map[string]any{"host": "api.example.com", "path": "/v1/x"}, "false"},
		"a tunnel to a rule that restricts": {open(), "api.example.com", "false"},
		"the same of a workload":            {workload, map[string]any{"host": "api.example.com", "method": "GET", "path": "/v1/x"}, "true"},
		"another host of a workload":        {workload, "evil.example.com", "false"},
		"no mode":                           {map[string]any{}, "a.example.com", "false"},
		"a closed policy":                   {agents(), "a.example.com", "false"},
		"a closed workload":                 {spec(nil), "a.example.com", "false"},
		"an unrestricted policy":            {map[string]any{"egress_mode": "unrestricted"}, "a.example.com", "true"},
		"what it never reaches":             {map[string]any{"egress_mode": "unrestricted", "never_reaches": []string{"*.example.com"}}, "a.example.com", "false"},
		"beside what it never reaches":      {map[string]any{"egress_mode": "unrestricted", "never_reaches": []string{"*.example.com"}}, "a.example.org", "true"},
		"an address that is listed":         {map[string]any{"egress_mode": "allowlist", "egress_hosts": []string{"10.0.0.0/8"}}, "10.1.2.3", "true"},
		"metadata in a wide range":          {map[string]any{"egress_mode": "allowlist", "egress_hosts": []string{"0.0.0.0/0"}}, "169.254.169.254", "false"},
		"an unknown policy":                 {notKnown{}, "a.example.com", "unknown"},
		"an unknown request":                {open(), notKnown{}, "unknown"},
		"an unknown part of the request":    {open(), map[string]any{"host": "a.example.com", "port": notKnown{}}, "unknown"},
		"an unknown mode":                   {map[string]any{"egress_mode": notKnown{}}, "a.example.com", "unknown"},
		"a listed host beside unknown ones": {map[string]any{"egress_mode": "allowlist", "egress_hosts": []any{"a.example.com", notKnown{}}}, "a.example.com", "true"},
		"another beside unknown ones":       {map[string]any{"egress_mode": "allowlist", "egress_hosts": []any{"a.example.com", notKnown{}}}, "b.example.com", "unknown"},
		"what may never be reached":         {map[string]any{"egress_mode": "allowlist", "egress_hosts": []string{"a.example.com"}, "never_reaches": []any{notKnown{}}}, "a.example.com", "unknown"},
		"closed whatever else is unknown":   {map[string]any{"egress_mode": "closed", "never_reaches": notKnown{}, "name": notKnown{}}, "a.example.com", "false"},
		"a workload of an unknown kind":     {with(workload, map[string]any{"kind": notKnown{}}), "a.example.com", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := said(t, s.call(t, "egress_allows", c.object, c.request).must(t).value); got != c.want {
				t.Errorf("answered %s, want %s", got, c.want)
			}
		})
	}
}

func TestEgressAllowsRefusesQuestionsThatHaveNoAnswer(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for name, c := range map[string]struct {
		object   any
		request  any
		argument int64
		locators []string
	}{
		"no policy":                  {nil, "a.example.com", 0, []string{"value.missing"}},
		"text for a policy":          {"agents", "a.example.com", 0, []string{"value.wrong_type"}},
		"a misspelt name":            {with(open(), map[string]any{"egress_host": "a"}), "a.example.com", 0, []string{"value.unknown_name at egress_host"}},
		"a malformed rule":           {with(open(), map[string]any{"egress_hosts": []string{"*"}}), "a.example.com", 0, []string{"egress.host_invalid at egress_hosts[0]"}},
		"no request":                 {open(), nil, 1, []string{"value.null at host"}},
		"a request without a host":   {open(), map[string]any{"port": 443}, 1, []string{"value.null at host"}},
		"an empty host":              {open(), "", 1, []string{"egress.host_invalid at host"}},
		"a pattern":                  {open(), "*.b.example.com", 1, []string{"egress.host_invalid at host"}},
		"a range":                    {open(), "10.0.0.0/8", 1, []string{"egress.address_invalid at host"}},
		"a URL":                      {open(), "https://a.example.com/", 1, []string{"egress.host_invalid at host"}},
		"a list of hosts":            {open(), []string{"a.example.com"}, 1, []string{"value.wrong_type"}},
		"a flag":                     {open(), true, 1, []string{"value.wrong_type"}},
		"a misspelt part":            {open(), map[string]any{"host": "a.example.com", "methods": "GET"}, 1, []string{"value.unknown_name at methods"}},
		"a method in lower case":     {open(), map[string]any{"host": "a.example.com", "method": "get"}, 1, []string{"egress.method_invalid at method"}},
		"a path without its slash":   {open(), map[string]any{"host": "a.example.com", "path": "v1"}, 1, []string{"egress.path_invalid at path"}},
		"port 0 and a path of dots":  {open(), map[string]any{"host": "a.example.com", "port": 0, "path": "/v1/../x"}, 1, []string{"egress.port_invalid at port", "egress.path_invalid at path"}},
		"a port beyond the last one": {open(), map[string]any{"host": "a.example.com", "port": 70000}, 1, []string{"egress.port_invalid at port"}},
		"both at once":               {with(open(), map[string]any{"a": 1}), "", 0, []string{"value.unknown_name at a", "egress.host_invalid at host"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.call(t, "egress_allows", c.object, c.request).refusedAt(t, c.argument, c.locators...)
		})
	}
}
