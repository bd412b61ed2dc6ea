package acasapi

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func (s *Sandbox) checkPort(n int) error {
	if n < 1 || n > 65535 {
		return refusal(sandbox.CodeOutOfRange, s.object(), "port "+strconv.Itoa(n), "1 to 65535", "")
	}
	return nil
}

// Ports gives the sandbox's exposed ports.
func (s *Sandbox) Ports(ctx context.Context) ([]wire.Port, error) {
	return s.portsAfter(ctx, s.call(wire.PortList))
}

func (s *Sandbox) portsAfter(ctx context.Context, c call) ([]wire.Port, error) {
	a, err := s.plane().send(ctx, c)
	if err != nil {
		return nil, err
	}
	return readWith(s.plane(), a, wire.ReadPorts, nil)
}

// AddPort exposes a port and gives all of them. One that is exposed already is
// service.conflict. It is sent once; after a lost answer the ports are looked at
// before it is sent again.
func (s *Sandbox) AddPort(ctx context.Context, port wire.Port) ([]wire.Port, error) {
	if err := s.checkPort(port.Port); err != nil {
		return nil, err
	}
	port.URL, port.HostPort = "", 0
	c := s.call(wire.PortAdd)
	c.object = "port " + strconv.Itoa(port.Port) + " of " + c.object
	c.body = port
	return making[[]wire.Port]{
		client: s.group.client(), object: c.object,
		send: func(ctx context.Context) ([]wire.Port, error) { return s.portsAfter(ctx, c) },
		find: func(ctx context.Context) ([][]wire.Port, error) {
			ports, err := s.Ports(ctx)
			if err != nil || !exposes(ports, port.Port) {
				return nil, err
			}
			return [][]wire.Port{ports}, nil
		},
	}.run(ctx)
}

func exposes(ports []wire.Port, n int) bool {
	return slices.ContainsFunc(ports, func(p wire.Port) bool { return p.Port == n })
}

// RemovePort closes a port and gives those that are left. One that is not exposed is
// success.
func (s *Sandbox) RemovePort(ctx context.Context, port int) ([]wire.Port, error) {
	if err := s.checkPort(port); err != nil {
		return nil, err
	}
	c := s.call(wire.PortRemove)
	c.body = wire.PortRef{Port: port}
	ports, err := s.portsAfter(ctx, c)
	if errors.Is(err, sandbox.CodeServiceNotFound) {
		return s.Ports(ctx) // says whether it was the port or the sandbox that is not there
	}
	return ports, err
}

// ReplacePorts replaces all of the sandbox's ports. The older version of the service
// takes only ports as it gave them, URL included; to change one there, remove and
// add it.
func (s *Sandbox) ReplacePorts(ctx context.Context, ports []wire.Port) ([]wire.Port, error) {
	return s.writePorts(ctx, wire.PortReplace, ports)
}

// PatchPorts changes some ports, in the newer version of the service.
func (s *Sandbox) PatchPorts(ctx context.Context, ports []wire.Port) ([]wire.Port, error) {
	return s.writePorts(ctx, wire.PortPatch, ports)
}

func (s *Sandbox) writePorts(ctx context.Context, op wire.Op, ports []wire.Port) ([]wire.Port, error) {
	for _, p := range ports {
		if err := s.checkPort(p.Port); err != nil {
			return nil, err
		}
	}
	c := s.call(op)
	c.body = wire.Ports{Ports: ports}
	return s.portsAfter(ctx, c)
}
