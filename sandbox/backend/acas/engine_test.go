package acas_test

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/acas"
)

func TestASandboxIsMadeOnceAndFoundAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	req := request("a.example", "*.b.example")
	first := w.start(t, w.engine(t), req)
	if first.Origin != sandbox.OriginCreated || !maps.Equal(first.Labels, req.Labels) {
		t.Errorf("%v %v", first.Origin, first.Labels)
	}
	again := w.start(t, w.engine(t), req) // another host
	if again.Origin != sandbox.OriginAdopted || again.Guest.ID() != first.Guest.ID() || !maps.Equal(again.Labels, req.Labels) {
		t.Errorf("%v %v", again.Origin, again.Labels)
	}
	e := w.engine(t)
	found, err := e.List(t.Context(), map[string]string{"team": "x"})
	if err != nil || len(found) != 1 || found[0].Name != req.Name || !maps.Equal(found[0].Labels, req.Labels) {
		t.Errorf("%v %v", found, err)
	}
	for range 2 {
		if err := e.Delete(t.Context(), first.Guest.ID()); err != nil {
			t.Error(err)
		}
	}
	if left := w.Guests(); len(left) != 0 {
		t.Errorf("left are %q", left)
	}
	if third := w.start(t, e, req); third.Origin != sandbox.OriginCreated || third.Guest.ID() == first.Guest.ID() {
		t.Errorf("%v", third.Origin)
	}
}

func TestASandboxWithOtherLabelsIsAnsweredForTheLayerToRefuse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(t, w.engine(t), request("a.example"))
	other := request("b.example")
	other.Labels["team"] = "y"
	if got := w.start(t, w.engine(t), other); got.Origin != sandbox.OriginAdopted || got.Labels["team"] != "x" {
		t.Errorf("%v %v", got.Origin, got.Labels)
	}
}

// Whatever the service does to the policy, nothing is served and nothing is left.
func TestASandboxWhoseEgressIsNotWhatWasAskedIsNotServed(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"nothing":        {"", ""},
		"audit":          {`"defaultAction":"Deny"`, `"defaultAction":"Deny","enforcementMode":"Audit"`},
		"allow":          {`"defaultAction":"Deny"`, `"defaultAction":"Allow"`},
		"no inspection":  {`"trafficInspection":"Full"`, `"trafficInspection":"None"`},
		"a wider host":   {`"pattern":"a.example"`, `"pattern":"*.example"`},
		"a host less":    {`"pattern":"a.example","action":"Allow"`, `"pattern":"a.example","action":"Deny"`},
		"a transport":    {`"defaultAction":"Deny"`, `"defaultAction":"Deny","transportRules":{"rules":[{"protocol":"Udp"}]}`},
		"a new key":      {`"defaultAction":"Deny"`, `"defaultAction":"Deny","bypass":true`},
		"no policy":      {`"egressPolicy":`, `"egressPolicyBefore":`},
		"round it":       {`"state":"Running"`, `"state":"Running","skipEgressProxy":true`},
		"a port":         {`"ports":[]`, `"ports":[{"port":8080}]`},
		"an identity":    {`"state":"Running"`, `"state":"Running","identitySettings":[{"identity":"system","lifecycle":"All"}]`},
		"a group policy": {`"state":"Running"`, `"state":"Running","egressPolicyId":"p"`},

		"no word of ports":         {`"ports":[]`, `"portsBefore":[]`},
		"ports of another name":    {`"ports":[]`, `"ports":[],"exposedPorts":[{"port":8080}]`},
		"ports that are null":      {`"ports":[]`, `"ports":null`},
		"a network":                {`"state":"Running"`, `"state":"Running","customerVnetConnectionName":"corp"`},
		"a network, as before":     {`"state":"Running"`, `"state":"Running","vnetConnectionName":"corp"`},
		"a connection":             {`"connections":[]`, `"connections":["c"]`},
		"a gateway connection":     {`"state":"Running"`, `"state":"Running","gatewayConnections":[{}]`},
		"a credential":             {`"state":"Running"`, `"state":"Running","credentialRefs":["x"]`},
		"an agent's identity":      {`"state":"Running"`, `"state":"Running","agentIdentity":{"clientId":"x"}`},
		"round it, in capitals":    {`"state":"Running"`, `"state":"Running","SkipEgressProxy":true`},
		"egress by another member": {`"state":"Running"`, `"state":"Running","egressEnforcement":"Disabled"`},

		// One for each word of what is not known.
		"an inbound port":          {`"state":"Running"`, `"state":"Running","inboundPort":1`},
		"a workload's identity":    {`"state":"Running"`, `"state":"Running","workloadIdentity":"x"`},
		"a link to a network":      {`"state":"Running"`, `"state":"Running","linkedVnets":["x"]`},
		"another proxy":            {`"state":"Running"`, `"state":"Running","proxyMode":"Direct"`},
		"a profile of the network": {`"state":"Running"`, `"state":"Running","networkProfile":"x"`},
		"a connection by another":  {`"state":"Running"`, `"state":"Running","privateConnection":"x"`},
		"a credential by another":  {`"state":"Running"`, `"state":"Running","credentialSource":"x"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			changed := false
			w.tampers(func(r *http.Request, body []byte) []byte {
				if r.Method != http.MethodGet || change[0] == "" {
					return body
				}
				after := strings.ReplaceAll(string(body), change[0], change[1])
				changed = changed || after != string(body)
				return []byte(after)
			})
			started, err := w.engine(t).Start(t.Context(), request("a.example"))
			if change[0] == "" {
				if err != nil || len(w.Guests()) != 1 {
					t.Errorf("%v", err)
				}
				return
			}
			if !changed {
				t.Fatal("nothing was changed")
			}
			if err == nil || started.Guest != nil {
				t.Error("it was served")
			}
			if left := w.Guests(); len(left) != 0 {
				t.Errorf("left are %q", left)
			}
		})
	}
}

// What the service may add one day, or shows empty, stands in nobody's way.
func TestASandboxThatShowsMoreAndReachesNoMoreIsServed(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{
		"a new member":      `"color":"blue"`,
		"no connections":    `"gatewayConnections":[],"credentialRefs":[]`,
		"no agent identity": `"agentIdentity":{}`,
		"no network":        `"customerVnetConnectionName":""`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.tampers(func(r *http.Request, body []byte) []byte {
				return []byte(strings.ReplaceAll(string(body), `"state":"Running"`, `"state":"Running",`+more))
			})
			if w.start(t, w.engine(t), request("a.example")).Guest == nil {
				t.Error("it was not served")
			}
		})
	}
}

func TestAFoundSandboxWithOtherEgressIsRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(t, w.engine(t), request("a.example"))
	_, err := w.engine(t).Start(t.Context(), request("b.example"))
	if !errors.Is(err, sandbox.CodeServiceEgressDiffers) || sandbox.RefusalOf(err).Witness != "a.example:80" {
		t.Errorf("%v", err)
	}
	if len(w.Guests()) != 1 {
		t.Error("it was removed")
	}
	if got := w.start(t, w.engine(t), request("A.example")); got.Origin != sandbox.OriginAdopted {
		t.Errorf("%v", got.Origin)
	}
}

// What cannot be made is refused before anything is sent.
func TestWhatTheServiceCannotConfineIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := len(w.Requests())
	req := request("192.0.2.7")
	if _, err := w.engine(t).Start(t.Context(), req); !errors.Is(err, sandbox.CodeCapabilityMissing) {
		t.Errorf("%v", err)
	}
	if len(w.Requests()) != before {
		t.Error("something was sent")
	}
	req = request("a.example")
	req.Image = sandbox.Image{Reference: "registry.example/app@sha256:1"}
	if _, err := w.engine(t).Start(t.Context(), req); !errors.Is(err, sandbox.CodeServiceNotFound) || len(w.Guests()) != 0 {
		t.Errorf("an image that is not there: %v", err)
	}
}

func TestAnEmulatorIsDeclaredAsWhatItsConfigurationSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	declared := func(c acas.Config) sandbox.Declarations {
		b, err := acas.New(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := b.Close(t.Context()); err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
		})
		return b.Declarations()
	}
	if d := declared(w.config); d.Isolation != sandbox.IsolationNone || d.IsolationEvidence.Kind != sandbox.EvidenceEmulated {
		t.Errorf("%v by %v", d.Isolation, d.IsolationEvidence)
	}
	rung := w.config
	rung.EmulatorIsolation = sandbox.IsolationContainer
	d := declared(rung)
	if d.Isolation != sandbox.IsolationContainer || d.IsolationEvidence.Kind != sandbox.EvidenceEmulated {
		t.Errorf("%v by %v", d.Isolation, d.IsolationEvidence)
	}
	for g, evidence := range d.Guarantees {
		if evidence.Kind != sandbox.EvidenceEmulated {
			t.Errorf("%v by %v", g, evidence)
		}
	}
	service := acas.Config{Subscription: subscription, ResourceGroup: "rg", Group: "g", Location: "swedencentral", Credential: auth.Emulator{}, EmulatorIsolation: sandbox.IsolationNone}
	if d := declared(service); d.Isolation != sandbox.IsolationMicroVM || d.IsolationEvidence.Kind != sandbox.EvidenceDocumented {
		t.Errorf("%v by %v", d.Isolation, d.IsolationEvidence)
	}
}
