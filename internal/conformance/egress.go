package conformance

import (
	"context"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Egress is what the probes of an allowlist need beside the backend.
type Egress struct {
	// World is the internet that the backend was given in place of the real one: it
	// looks names up there, connects there and verifies servers by its roots. The
	// probes put their servers into it.
	World *egressworld.World
	// Observed makes the observers that the backend tells; nil skips the probes about
	// that.
	Observed *Observed
	// EndProxy ends what stands between one sandbox and its network, as a crash of it
	// would; nil skips the probes about that.
	EndProxy func(ctx context.Context, instanceID string) error
}

// NewEgress makes a world, whom to tell of decisions, and nothing that ends a proxy.
// The world is the caller's to close, after the backend that reaches it.
func NewEgress() (*Egress, error) {
	world, err := egressworld.New()
	if err != nil {
		return nil, err
	}
	return &Egress{World: world, Observed: new(Observed)}, nil
}

// The hosts of the probes: one that the rules name, and one that they do not.
const (
	goodHost = "api.example.com"
	evilHost = "evil.example.net"
)

// rule is a rule as people write it, its lists separated by spaces.
func rule(host, ports, methods, paths string) sandbox.EgressRule {
	return sandbox.EgressRule{Host: host, Ports: fields(ports), Methods: fields(methods), Paths: fields(paths)}
}

type rules = map[string]sandbox.EgressRule

// goodRules admit the good host whole.
func goodRules() rules { return rules{"api": rule(goodHost, "80 443", "*", "*")} }

// openedRules ask for methods and paths of the good host.
func openedRules() rules { return rules{"api": rule(goodHost, "80 443", "GET POST", "/v1")} }

// noAllowlist says why a probe of an allowlist cannot be made; empty where it can.
func noAllowlist(s Subject) string {
	switch {
	case !s.Backend.Declarations().EgressModes.Has(sandbox.EgressAllowlist):
		return "without egress " + sandbox.EgressAllowlist.String()
	case s.Egress == nil:
		return "without a world for its sandboxes to reach"
	}
	return ""
}

// confined makes probes of an allowlist: each has rules, and a sandbox that was
// made with them.
func confined(probes []Probe) []Probe {
	for i := range probes {
		missing := probes[i].Missing
		probes[i].Missing = func(s Subject) string {
			if why := noAllowlist(s); why != "" || missing == nil {
				return why
			}
			return missing(s)
		}
		if probes[i].Rules == nil {
			probes[i].Rules = goodRules()
		}
	}
	return fromWithin(probes)
}

// under makes a scene's spec one with rules.
func under(spec sandbox.Spec, r rules) sandbox.Spec {
	spec.Egress = sandbox.Egress{Mode: sandbox.EgressAllowlist, Rules: r}
	return spec
}
