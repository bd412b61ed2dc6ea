package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/prober/visit"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// egressWithout are sandboxes whose programs do not know of the proxy, or whose
// proxy is gone.
func egressWithout() Suite {
	return Suite{Name: "EGRESS_WITHOUT", Gate: sandbox.CapabilityExec, Probes: confined([]Probe{
		{Name: "programs-are-told-where-the-proxy-is", Run: variables},
		{Name: "without-the-variables-nothing-is-reachable", Run: unset},
		{Name: "without-the-proxy-nothing-is-reachable", Missing: func(s Subject) string {
			if s.Egress.EndProxy == nil {
				return "without a way to end a proxy"
			}
			return ""
		}, Run: proxyGone},
	})}
}

// proxyVariables are where programs look for a proxy.
var proxyVariables = []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"}

func variables(ctx context.Context, s *Scene) error {
	if err := s.still(ctx); err != nil {
		return err
	}
	out, err := s.do(ctx, "env")
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range proxyVariables {
		value := variable(string(out), name)
		if !strings.HasPrefix(value, "http://127.0.0.1:") && !strings.HasPrefix(value, "http://localhost:") {
			errs = append(errs, fmt.Errorf("%s is %s", name, sandbox.Echo(value)))
		}
	}
	for _, name := range []string{"no_proxy", "NO_PROXY"} {
		if value := variable(string(out), name); strings.Contains(value, "example") || strings.Contains(value, "*") {
			errs = append(errs, fmt.Errorf("%s is %s", name, sandbox.Echo(value)))
		}
	}
	return errors.Join(errs...)
}

// past are visits to the good host that ask no proxy: by its name, and to where the
// world's servers really are.
func (s *Scene) past() []visit.Visit {
	get := []visit.Step{{Say: []byte(head("GET / HTTP/1.1", toGood))}, {End: true}, {Hear: visit.ToTheEnd}}
	visits := []visit.Visit{{To: "tcp " + goodHost + ":80", Steps: get}}
	for _, place := range s.subject.internet.Places() {
		visits = append(visits, visit.Visit{To: "tcp " + place, Steps: get})
	}
	return visits
}

// nothing wants none of the visits to have been answered, and no server asked.
func (s *Scene) nothing(ctx context.Context, visits []visit.Visit, env ...string) error {
	before := s.subject.internet.requests()
	outcomes, err := s.order(ctx, visit.Order{Visits: visits, Milliseconds: promptBound}, env...)
	if err != nil {
		return err
	}
	for i, o := range outcomes {
		if o.Bytes > 0 || o.Failed == "" {
			return fmt.Errorf("%q was answered: %s", visits[i].To, heard(o))
		}
	}
	if n := s.subject.internet.requests() - before; n > 0 {
		return fmt.Errorf("%d requests reached servers", n)
	}
	return nil
}

func unset(ctx context.Context, s *Scene) error {
	if err := s.still(ctx); err != nil {
		return err
	}
	var empty []string
	for _, name := range proxyVariables {
		empty = append(empty, name+"=")
	}
	return s.nothing(ctx, append(s.past(), said(absolute(goodHost, "/"))), empty...)
}

// proxyGone ends the proxy under a sandbox that has just used it, and under a program
// that goes on: it is told where to go once the proxy has ended.
func proxyGone(ctx context.Context, s *Scene) error {
	if err := s.still(ctx); err != nil {
		return err
	}
	visits := append(s.past(), said(absolute(goodHost, "/")), throughTLS(goodHost+":443", goodHost, s.worldRoots(), head("GET / HTTP/1.1", toGood)))
	order, err := json.Marshal(visit.Order{Visits: visits, Milliseconds: promptBound})
	if err != nil {
		return notShown("%v", err)
	}
	before := s.subject.internet.requests()
	held, release := io.Pipe()
	running := make(chan error, 1)
	go func() {
		cmd := sandbox.Command{Args: []string{"visits"}, Stdin: held}
		result, err := s.run(ctx, cmd)
		out, err := outcomeOf(cmd.Args, result, err)
		if err == nil {
			err = unanswered(visits, out)
		}
		_ = held.Close() // whether or not it was read
		running <- err
	}()
	// Half an order is with the program before the proxy ends.
	if _, err := release.Write(order[:1]); err != nil {
		return errors.Join(err, <-running)
	}
	if err := s.subject.Egress.EndProxy(ctx, s.Info().InstanceID); err != nil {
		_ = release.Close()
		return errors.Join(notShown("ending the proxy: %v", err), <-running)
	}
	told := s.proxyLost(ctx)
	_, err = release.Write(order[1:])
	err = errors.Join(told, err, release.Close(), <-running)
	if n := s.subject.internet.requests() - before; n > 0 {
		err = errors.Join(err, fmt.Errorf("%d requests reached servers", n))
	}
	// Whoever starts another program is told why it would reach nothing.
	if _, late := s.run(ctx, sandbox.Command{Args: []string{"nothing"}}); late != nil && !errors.Is(late, sandbox.CodeEgressProxyLost) {
		err = errors.Join(err, fmt.Errorf("the next program failed otherwise than with %s: %w", string(sandbox.CodeEgressProxyLost), late))
	}
	return err
}

// proxyLost wants the observer to be told.
func (s *Scene) proxyLost(ctx context.Context) error {
	if s.subject.Egress.Observed == nil {
		return nil
	}
	return s.subject.Egress.Observed.wait(ctx, s.Info().InstanceID, func(told []egress.Event) bool {
		return slices.ContainsFunc(told, func(e egress.Event) bool { return e.Code == sandbox.CodeEgressProxyLost })
	})
}

// unanswered wants none of the visits to have been answered.
func unanswered(visits []visit.Visit, out []byte) error {
	var outcomes []visit.Outcome
	if err := json.Unmarshal(out, &outcomes); err != nil || len(outcomes) != len(visits) {
		return notShown("%d visits gave %d outcomes: %v", len(visits), len(outcomes), err)
	}
	for i, o := range outcomes {
		if bytes.Contains(o.Heard, []byte(reached)) || o.Bytes > 0 && o.Failed == "" {
			return fmt.Errorf("%q was answered: %s", visits[i].To, heard(o))
		}
	}
	return nil
}
