package acasemu

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

const (
	maxPorts     = 100
	maxRules     = 10
	maxCIDRs     = 10
	maxAuth      = 100
	lastPriority = 1000
)

var ruleName = regexp.MustCompile(`^[A-Za-z0-9-]{1,63}$`)

// newPort is a port as the service shows it.
func newPort(sandbox, place string, p wire.Port) (wire.Port, error) {
	if p.Port < 1 || p.Port > 65535 {
		return p, invalid("port is a number from 1 to 65535")
	}
	if !slices.Contains([]string{"", "Http", "Http2"}, p.Protocol) {
		return p, invalid("protocol is Http or Http2")
	}
	if !slices.Contains([]string{"", "Manual", "OnDemand"}, p.ActivationMode) {
		return p, invalid("activationMode is Manual or OnDemand")
	}
	if err := checkAuth(p.Auth); err != nil {
		return p, err
	}
	if err := checkAccess(p.IPAccessControl); err != nil {
		return p, err
	}
	if p.Name == "" {
		p.Name = fmt.Sprintf("port-%d", p.Port)
	}
	p.Protocol = cmp.Or(p.Protocol, "Http")
	p.ActivationMode = cmp.Or(p.ActivationMode, "Manual")
	p.URL = fmt.Sprintf("https://%s--%d.%s.adcproxy.io", sandbox, p.Port, place)
	p.HostPort = 0
	return p, nil
}

// newPorts are the ports of a sandbox that is made with some.
func newPorts(sandbox, place string, asked []wire.Port) ([]wire.Port, error) {
	var ports []wire.Port
	for _, p := range asked {
		var err error
		if ports, err = addPort(ports, sandbox, place, p); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

func addPort(ports []wire.Port, sandbox, place string, asked wire.Port) ([]wire.Port, error) {
	p, err := newPort(sandbox, place, asked)
	if err != nil {
		return nil, err
	}
	if len(ports) >= maxPorts {
		return nil, invalid("a sandbox has at most %d ports", maxPorts)
	}
	if slices.ContainsFunc(ports, func(o wire.Port) bool { return o.Port == p.Port || strings.EqualFold(o.Name, p.Name) }) {
		return nil, refuse(http.StatusConflict, "PortAlreadyExists", "port %d is there already", p.Port)
	}
	return append(ports, p), nil
}

func checkAuth(a *wire.PortAuth) error {
	if a == nil || a.EntraID == nil {
		return nil
	}
	if a.Anonymous != nil && *a.Anonymous && a.EntraID.Enabled {
		return invalid("auth is anonymous or entraId, not both")
	}
	if e := a.EntraID; len(e.Emails)+len(e.EmailSuffixes)+len(e.ObjectIDs)+len(e.TenantIDs) > maxAuth {
		return invalid("auth has at most %d entries", maxAuth)
	}
	return nil
}

func checkAccess(a *wire.IPAccessControl) error {
	if a == nil {
		return nil
	}
	actions := []string{"Allow", "Deny"}
	if !slices.Contains(actions, a.DefaultAction) {
		return invalid("ipAccessControl.defaultAction is Allow or Deny")
	}
	if len(a.Rules) > maxRules {
		return invalid("ipAccessControl has at most %d rules", maxRules)
	}
	names, priorities := map[string]bool{}, map[int]bool{}
	for _, r := range a.Rules {
		name := strings.ToLower(r.Name)
		if !ruleName.MatchString(r.Name) || names[name] {
			return invalid("a rule of ipAccessControl has a name of its own, 1 to 63 letters, digits and hyphens")
		}
		if r.Priority < 0 || r.Priority > lastPriority || priorities[r.Priority] {
			return invalid("a rule of ipAccessControl has a priority of its own, 0 to %d", lastPriority)
		}
		if !slices.Contains(actions, r.Action) || len(r.SourceCIDRs) == 0 || len(r.SourceCIDRs) > maxCIDRs {
			return invalid("a rule of ipAccessControl has an action and 1 to %d sourceCidrs", maxCIDRs)
		}
		for _, text := range r.SourceCIDRs {
			if cidr, err := netip.ParsePrefix(text); err != nil || cidr.Masked() != cidr {
				return invalid("sourceCidrs are in canonical form")
			}
		}
		names[name], priorities[r.Priority] = true, true
	}
	return nil
}

// changePorts lets f make a sandbox's ports others, and answers all of them.
func (e *Emulator) changePorts(ctx context.Context, c *call, f func(s *wire.Sandbox, place string) ([]wire.Port, error)) (answer, error) {
	got, err := e.change(ctx, c, false, func(_ *store.Tx, found *found) error {
		s := &found.sandbox
		if s.Deleted {
			return missingSandbox(s.Doc.ID)
		}
		ports, err := f(&s.Doc, region(found.group.Group.Location))
		if err == nil {
			s.Doc.Ports = ports
		}
		return err
	})
	if err != nil {
		return answer{}, err
	}
	return ok(wire.Ports{Ports: got.sandbox.Doc.Ports})
}

func (e *Emulator) portList(ctx context.Context, c *call) (answer, error) {
	f, err := e.sandbox(ctx, c)
	if err != nil {
		return answer{}, err
	}
	return ok(wire.Ports{Ports: f.sandbox.Doc.Ports})
}

func (e *Emulator) portAdd(ctx context.Context, c *call) (answer, error) {
	var body wire.Port
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	wire.Known(&body)
	return e.changePorts(ctx, c, func(s *wire.Sandbox, place string) ([]wire.Port, error) {
		return addPort(s.Ports, s.ID, place, body)
	})
}

func (e *Emulator) portRemove(ctx context.Context, c *call) (answer, error) {
	var body wire.PortRef
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	if body.Port == 0 && body.Name == "" {
		return answer{}, invalid("port or name is required")
	}
	return e.changePorts(ctx, c, func(s *wire.Sandbox, _ string) ([]wire.Port, error) {
		left := slices.DeleteFunc(slices.Clone(s.Ports), func(p wire.Port) bool {
			return (body.Port != 0 && p.Port == body.Port) || (body.Name != "" && p.Name == body.Name)
		})
		if len(left) == len(s.Ports) {
			return nil, refuse(http.StatusNotFound, "PortNotFound", "the sandbox has no such port")
		}
		return left, nil
	})
}

// portReplace takes whole views of ports alone, with the url that only the service
// can have given.
func (e *Emulator) portReplace(ctx context.Context, c *call) (answer, error) {
	var body wire.Ports
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	wire.Known(&body)
	return e.changePorts(ctx, c, func(s *wire.Sandbox, place string) ([]wire.Port, error) {
		strict := c.version != wire.V0901 && !e.cfg.Behaviour.LoosePorts
		if strict && slices.ContainsFunc(body.Ports, func(p wire.Port) bool { return p.URL == "" }) {
			return nil, invalid("each port needs a url")
		}
		return newPorts(s.ID, place, body.Ports)
	})
}

// portPatch replaces the ports that it names and leaves the others.
func (e *Emulator) portPatch(ctx context.Context, c *call) (answer, error) {
	var body wire.Ports
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	wire.Known(&body)
	return e.changePorts(ctx, c, func(s *wire.Sandbox, place string) ([]wire.Port, error) {
		ports := slices.Clone(s.Ports)
		for _, p := range body.Ports {
			ports = slices.DeleteFunc(ports, func(o wire.Port) bool { return o.Port == p.Port })
			var err error
			if ports, err = addPort(ports, s.ID, place, p); err != nil {
				return nil, err
			}
		}
		return ports, nil
	})
}
