package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cedar-policy/cedar-go"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

//go:embed posture.cedar
var postureCedar string

// cedarEngine decides with Cedar. Cedar has no loops and no quantifiers, so "each
// rule of the workload lies within some rule of the policy" is not one request:
// it is one for everything but egress, and one for each rule that is asked for.
type cedarEngine struct {
	posture  *cedar.PolicySet
	connect  []*cedar.PolicySet // by policy
	entities cedar.EntityMap
	cases    []cedarCase
}

type cedarCase struct {
	policy  int
	run     cedar.Request
	connect []cedar.Request
}

// newCedar writes the policies in one of two ways. asSets puts the hosts of all
// rules that restrict nothing else into one set, the fastest form that was found;
// otherwise every rule of the policy is one Cedar policy, as people write it.
func newCedar(p *plainCorpus, asSets bool) (*cedarEngine, error) {
	posture, err := parseCedar(postureCedar)
	if err != nil {
		return nil, err
	}
	e := &cedarEngine{posture: posture, entities: cedar.EntityMap{}}
	contexts := make([]cedar.RecordMap, len(p.Policies))
	for i := range p.Policies {
		set, err := parseCedar(connectPolicies(p.Policies[i], asSets))
		if err != nil {
			return nil, err
		}
		e.connect = append(e.connect, set)
		record, err := cedarRecord(p.Policies[i])
		if err != nil {
			return nil, err
		}
		contexts[i] = cedar.RecordMap{"policy": record, "plain": plainHosts(p.Policies[i])}
	}
	for i, b := range p.Backends {
		if err := e.entity(backendUID(i), b); err != nil {
			return nil, err
		}
	}
	for i, c := range p.Cases {
		who := cedar.NewEntityUID("Workload", cedar.String(index(i)))
		if err := e.entity(who, c.Workload); err != nil {
			return nil, err
		}
		next := cedarCase{policy: c.Policy, run: cedar.Request{
			Principal: who, Action: cedar.NewEntityUID("Action", "run"), Resource: backendUID(c.Backend),
			Context: cedar.NewRecord(cedar.RecordMap{"policy": contexts[c.Policy]["policy"]}),
		}}
		for _, r := range c.Workload.Rules {
			request, err := connectRequest(who, r, contexts[c.Policy]["plain"])
			if err != nil {
				return nil, err
			}
			next.connect = append(next.connect, request)
		}
		e.cases = append(e.cases, next)
	}
	return e, nil
}

func backendUID(i int) cedar.EntityUID { return cedar.NewEntityUID("Backend", cedar.String(index(i))) }

func (e *cedarEngine) entity(uid cedar.EntityUID, attributes any) error {
	record, err := cedarRecord(attributes)
	e.entities[uid] = cedar.Entity{UID: uid, Attributes: record}
	return err
}

// decide runs every request of a case, whatever the others say, as the other
// engines ask every question.
func (e *cedarEngine) decide(i int) {
	c := &e.cases[i]
	cedar.Authorize(e.posture, e.entities, c.run)
	for k := range c.connect {
		cedar.Authorize(e.connect[c.policy], e.entities, c.connect[k])
	}
}

func (e *cedarEngine) codes(i int) (map[sandbox.Code]bool, error) {
	c := &e.cases[i]
	codes := map[sandbox.Code]bool{}
	decision, why := cedar.Authorize(e.posture, e.entities, c.run)
	if len(why.Errors) > 0 {
		return nil, fmt.Errorf("case %d: %v", i, why.Errors)
	}
	if decision == cedar.Deny {
		for _, r := range why.Reasons {
			codes[sandbox.Code(r.PolicyID)] = true
		}
	}
	for k := range c.connect {
		decision, why := cedar.Authorize(e.connect[c.policy], e.entities, c.connect[k])
		if len(why.Errors) > 0 {
			return nil, fmt.Errorf("case %d, rule %d: %v", i, k, why.Errors)
		}
		if decision == cedar.Deny {
			codes[sandbox.CodeEgressNotWithinPolicy] = true
		}
	}
	return codes, nil
}

// connectRequest asks for one rule. It has one range of ports and at most one
// path; several would each be a request of their own.
func connectRequest(who cedar.EntityUID, r plainRule, plain cedar.Value) (cedar.Request, error) {
	if len(r.Ports) != 1 || len(r.Paths) > 1 {
		return cedar.Request{}, fmt.Errorf("rule for %s has %d port ranges and %d paths", r.Host, len(r.Ports), len(r.Paths))
	}
	path := ""
	if len(r.Paths) == 1 {
		path = r.Paths[0]
	}
	return cedar.Request{
		Principal: who, Action: cedar.NewEntityUID("Action", "connect"),
		Resource: cedar.NewEntityUID("Host", cedar.String(r.Host)),
		Context: cedar.NewRecord(cedar.RecordMap{
			"host": cedar.String(r.Host), "keys": cedarStrings(r.Keys), "plain": plain,
			"first": cedar.Long(r.Ports[0].First), "last": cedar.Long(r.Ports[0].Last),
			"any_method": cedar.Boolean(r.Methods == nil), "methods": cedarStrings(r.Methods),
			"path": cedar.String(path),
		}),
	}, nil
}

// isPlain reports whether a rule is a host alone.
func isPlain(r plainRule) bool {
	return r.Methods == nil && r.Paths == nil && slices.Equal(r.Ports, []plainPort{{443, 443}})
}

func plainHosts(p plainPolicy) cedar.Set {
	var hosts []string
	for host, r := range p.Rules {
		if isPlain(r) {
			hosts = append(hosts, host)
		}
	}
	return cedarStrings(hosts)
}

func connectPolicies(p plainPolicy, asSets bool) string {
	var text strings.Builder
	if asSets {
		text.WriteString(`@id("plain") permit (principal, action == Action::"connect", resource)
when { context.plain.containsAny(context.keys) && context.first == 443 && context.last == 443 };` + "\n")
	}
	for _, host := range slices.Sorted(maps.Keys(p.Rules)) {
		if r := p.Rules[host]; !asSets || !isPlain(r) {
			text.WriteString(connectPolicy(r))
		}
	}
	return text.String()
}

func connectPolicy(r plainRule) string {
	resource, conditions := `resource == Host::`+strconv.Quote(r.Host), []string{}
	if strings.HasPrefix(r.Host, "*.") {
		resource, conditions = "resource", []string{"context.host like " + strconv.Quote(r.Host)}
	}
	var ports, paths []string
	for _, p := range r.Ports {
		ports = append(ports, fmt.Sprintf("(%d <= context.first && context.last <= %d)", p.First, p.Last))
	}
	conditions = append(conditions, "("+strings.Join(ports, " || ")+")")
	if r.Methods != nil {
		methods, _ := json.Marshal(r.Methods) // strings always marshal
		conditions = append(conditions, "!context.any_method", string(methods)+".containsAll(context.methods)")
	}
	for _, p := range r.Paths {
		paths = append(paths, fmt.Sprintf("context.path == %q || context.path like %q", p, p+"/*"))
	}
	if paths != nil {
		conditions = append(conditions, "("+strings.Join(paths, " || ")+")")
	}
	return fmt.Sprintf("@id(%q) permit (principal, action == Action::\"connect\", %s)\nwhen { %s };\n",
		r.Host, resource, strings.Join(conditions, " && "))
}

// parseCedar parses policies and names each after its @id.
func parseCedar(text string) (*cedar.PolicySet, error) {
	list, err := cedar.NewPolicyListFromBytes("bench.cedar", []byte(text))
	if err != nil {
		return nil, fmt.Errorf("parse Cedar policies: %w", err)
	}
	set := cedar.NewPolicySet()
	for _, p := range list {
		if !set.Add(cedar.PolicyID(p.Annotations()["id"]), p) {
			return nil, fmt.Errorf("two Cedar policies are named %q", p.Annotations()["id"])
		}
	}
	return set, nil
}

func cedarStrings(words []string) cedar.Set {
	values := make([]cedar.Value, len(words))
	for i, w := range words {
		values[i] = cedar.String(w)
	}
	return cedar.NewSet(values...)
}

// cedarRecord gives the attributes of a plain form, without its rules.
func cedarRecord(v any) (cedar.Record, error) {
	fields, err := viaJSON[map[string]any](v)
	if err != nil {
		return cedar.Record{}, err
	}
	delete(fields, "rules")
	text, err := json.Marshal(fields)
	if err != nil {
		return cedar.Record{}, fmt.Errorf("write JSON: %w", err)
	}
	var record cedar.Record
	if err := json.Unmarshal(text, &record); err != nil {
		return cedar.Record{}, fmt.Errorf("read %s as a Cedar record: %w", text, err)
	}
	return record, nil
}
