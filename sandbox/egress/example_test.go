package egress_test

import (
	"errors"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func ExampleParseHost() {
	for _, text := range []string{"API.Example.com.", "*.bücher.example", "10.0.0.0/8", "https://example.com:8443", "0177.0.0.1"} {
		host, err := egress.ParseHost(text)
		if refusal, ok := errors.AsType[*sandbox.Refusal](err); ok {
			fmt.Println(refusal.Found)
			fmt.Println("  ", refusal.Remedy)
			continue
		}
		fmt.Println(host)
	}
	// Output:
	// api.example.com
	// *.xn--bcher-kva.example
	// 10.0.0.0/8
	// host "https://example.com:8443": ":" at character 6 ends a scheme, which a host does not have
	//    write "example.com"; in a rule of egress_rules put 8443 into its ports
	// host "0177.0.0.1": "0" at character 1 makes the number octal to some readers
	//    write "177.0.0.1", or write "127.0.0.1" if the zeros mean octal
}

func ExampleSet_Match() {
	api, findings := egress.ParseRule("api", sandbox.EgressRule{
		Host: "api.example.com", Ports: []string{"443"}, Methods: []string{"GET"}, Paths: []string{"/v1"},
	}, sandbox.Path("egress_rules", sandbox.MapKey("api")))
	if len(findings) > 0 {
		fmt.Println(findings[0].Refusal(nil))
		return
	}
	set := egress.NewSet([]egress.Rule{api})

	// What a proxy does with each request.
	name, addr, err := egress.ParseRequestHost("API.example.com.")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range []string{"/v1/items", "/v10", "/v1/../admin"} {
		rule, ok := set.Match(egress.Request{Host: name, Addr: addr, Port: 443, Method: "GET", Path: path})
		if ok {
			fmt.Println(path, "is admitted by", rule.Name())
		} else {
			fmt.Println(path, "is refused")
		}
	}
	// Output:
	// /v1/items is admitted by api
	// /v10 is refused
	// /v1/../admin is refused
}

func ExampleSet_Within() {
	parse := func(hosts ...string) *egress.Set {
		var rules []egress.Rule
		for i, host := range hosts {
			rule, findings := egress.ParseShort(host, sandbox.Path("egress_hosts", i))
			if len(findings) > 0 {
				fmt.Println(findings[0].Refusal(nil))
			}
			rules = append(rules, rule)
		}
		return egress.NewSet(rules)
	}
	policy := parse("api.example.com", "*.files.example.org", "10.0.0.0/9", "10.128.0.0/9")

	for _, workload := range []*egress.Set{parse("a.b.files.example.org", "10.0.0.0/8"), parse("*.example.com")} {
		if witness, ok := workload.Within(policy); ok {
			fmt.Println("within the policy")
		} else {
			fmt.Println("would become reachable:", witness)
		}
	}
	// Output:
	// within the policy
	// would become reachable: evil.example.com:443
}

func ExampleSet_Overlaps() {
	allowed, _ := egress.ParseShort("*.example.com", nil)
	never, _ := egress.ParseRule("never", sandbox.EgressRule{
		Host: "*.internal.example.com", Ports: []string{"*"}, Methods: []string{"*"}, Paths: []string{"*"},
	}, nil)
	witness, ok := egress.NewSet([]egress.Rule{allowed}).Overlaps(egress.NewSet([]egress.Rule{never}))
	fmt.Println(ok, witness)
	// Output: true evil.internal.example.com:443
}

func ExampleSet_Minus() {
	set := func(hosts ...string) *egress.Set {
		var rules []egress.Rule
		for _, host := range hosts {
			rule, _ := egress.ParseShort(host, nil)
			rules = append(rules, rule)
		}
		return egress.NewSet(rules)
	}
	before := set("api.example.com", "*.files.example.org")
	after := set("*.example.com", "*.files.example.org", "a.files.example.org")

	boxes, err := after.Minus(before).Boxes()
	fmt.Println(boxes, err)
	redundant, err := after.Redundant()
	fmt.Println(redundant, err)
	// Output:
	// [*.example.com:443, but not api.example.com] <nil>
	// [{2 [1]}] <nil>
}
