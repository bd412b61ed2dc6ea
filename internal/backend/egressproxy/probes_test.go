package egressproxy

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/parts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// probe is one way around the rules, with its neighbours that are allowed. It
// returns what went wrong: the way was open, or the neighbour was shut.
type probe struct {
	name   string
	rules  map[string]sandbox.EgressRule
	world  func(testing.TB, *egressworld.World)
	config func(*Config)
	run    func(*scene) error
}

// try runs a probe against a proxy, broken or not.
func (p probe) try(t *testing.T, alter func(*parts.Parts)) error {
	t.Helper()
	w := newWorld(t)
	if p.world != nil {
		p.world(t, w)
	}
	return p.run(newScene(t, w, setting{rules: p.rules, config: p.config, altered: alter}))
}

func probes() []probe {
	var all []probe
	for _, some := range [][]probe{destinationProbes(), addressProbes(), tlsProbes(), requestProbes(), openedProbes()} {
		all = append(all, some...)
	}
	return all
}

func TestNoWayAroundTheRulesIsOpen(t *testing.T) {
	t.Parallel()
	for _, p := range probes() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if err := p.try(t, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// refused wants a denial of one code.
func refused(what string, r reply, err error, code sandbox.Code) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case r.status < 400 || r.answer().Code != code:
		return fmt.Errorf("%s: want %s, got %d %s", what, string(code), r.status, r.body)
	}
	return nil
}

// allowed wants a server's answer.
func allowed(what string, r reply, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case r.status != 200:
		return fmt.Errorf("%s: want 200, got %d %s", what, r.status, r.body)
	}
	return nil
}

// rawRefused sends bytes that have to be refused, with nothing behind the answer.
func (s *scene) rawRefused(text string, code sandbox.Code) error {
	r, rest, err := s.raw(text)
	if err == nil && rest != "" {
		err = fmt.Errorf("more came behind the denial: %q", rest)
	}
	if err == nil && !r.ends {
		err = errors.New("the connection goes on behind a denial")
	}
	return refused(fmt.Sprintf("%.200q", text), r, err, code)
}

func (s *scene) rawAllowed(text string) error {
	r, _, err := s.raw(text)
	return allowed(fmt.Sprintf("%.200q", text), r, err)
}

// tunnelRefused asks for a tunnel that has to be refused before it begins.
func (s *scene) tunnelRefused(authority string, code sandbox.Code) error {
	conn, r, err := s.tunnel(authority)
	if conn != nil {
		conn.Close()
	}
	return refused("CONNECT "+authority, r, err, code)
}

// tlsAllowed wants TLS to work inside a tunnel.
func (s *scene) tlsAllowed(authority, serverName string, opened bool) error {
	conn, err := s.tls(authority, serverName, opened)
	if err != nil {
		return fmt.Errorf("CONNECT %s, server name %q: %w", authority, serverName, err)
	}
	return conn.Close()
}

// tlsRefused wants TLS inside a tunnel to be ended by the proxy, with a code.
func (s *scene) tlsRefused(authority, serverName string, opened bool, code sandbox.Code) error {
	conn, err := s.tls(authority, serverName, opened)
	if err == nil {
		conn.Close()
		return fmt.Errorf("CONNECT %s, server name %q: TLS works", authority, serverName)
	}
	return s.events.code(code)
}

// step joins what went wrong.
func steps(errs ...error) error { return errors.Join(errs...) }
