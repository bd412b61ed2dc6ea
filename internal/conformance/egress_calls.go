package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/prober/visit"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// call is one visit of a guest and what has to come of it.
type call struct {
	what  string
	visit visit.Visit
	// code is why it has to be refused; empty where it has to be answered. Backends
	// that answer with no code at all are held to the refusal alone.
	code sandbox.Code
	// asks is how many requests of it reach a server; 0 is one for what has to be
	// answered.
	asks int
	// judge, where it is not nil, is all the judgement there is, and asks is exact.
	judge func(visit.Outcome) error
}

// visitBound is how long one visit may take, in milliseconds.
const visitBound = 20_000

// fields splits at spaces.
func fields(text string) []string { return strings.Fields(text) }

// said is a visit to the proxy that says something whole and hears what comes.
func said(text string) visit.Visit {
	return visit.Visit{Steps: []visit.Step{{Say: []byte(text)}, {End: true}, {Hear: visit.ToTheEnd}}}
}

// absolute is a request for an absolute target.
func absolute(host, path string, headers ...string) string {
	return head(append([]string{"GET http://" + host + path + " HTTP/1.1", "Host: " + host}, headers...)...)
}

// head is a request head of lines as they are given.
func head(lines ...string) string { return strings.Join(lines, "\r\n") + "\r\n\r\n" }

// answered has to be answered by a server.
func answered(text string) call { return call{what: quote(text), visit: said(text)} }

// denied has to be refused with a code.
func denied(text string, code sandbox.Code) call {
	return call{what: quote(text), visit: said(text), code: code}
}

// quote shows the beginning of what a guest says.
func quote(text string) string {
	line, _, _ := strings.Cut(text, "\r\n\r\n")
	return fmt.Sprintf("%.160q", line)
}

// throughTLS is TLS in a tunnel to an authority and a request in it, whose server is
// verified by roots.
func throughTLS(authority, name, roots, request string) visit.Visit {
	return visit.Visit{Steps: []visit.Step{
		{Tunnel: authority},
		{TLS: &visit.TLS{Name: name, Protocols: []string{"http/1.1"}, Roots: roots}},
		{Say: []byte(request)},
		{Hear: visit.OneReply},
	}}
}

// calls makes visits all at once and judges each.
func (s *Scene) calls(ctx context.Context, calls ...call) error {
	before := s.subject.internet.requests()
	outcomes, err := s.visits(ctx, calls)
	if err != nil {
		return err
	}
	var errs []error
	expected := 0
	for i, c := range calls {
		if err := c.verdict(outcomes[i]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.what, err))
		}
		if expected += c.asks; c.asks == 0 && c.code == "" && c.judge == nil {
			expected++
		}
	}
	if got := s.subject.internet.requests() - before; len(errs) == 0 && got != expected {
		errs = append(errs, fmt.Errorf("%d requests reached servers instead of %d", got, expected))
	}
	return errors.Join(errs...)
}

// visits lets the guest make the visits of calls.
func (s *Scene) visits(ctx context.Context, calls []call) ([]visit.Outcome, error) {
	order := visit.Order{Milliseconds: visitBound}
	for _, c := range calls {
		order.Visits = append(order.Visits, c.visit)
	}
	return s.order(ctx, order)
}

// order lets the guest carry out an order, with variables of the environment
// beside its own.
func (s *Scene) order(ctx context.Context, order visit.Order, env ...string) ([]visit.Outcome, error) {
	text, err := json.Marshal(order)
	if err != nil {
		return nil, notShown("writing an order: %v", err)
	}
	cmd := sandbox.Command{Args: []string{"visits"}, Stdin: bytes.NewReader(text), Env: env}
	result, err := s.run(ctx, cmd)
	out, err := outcomeOf(cmd.Args, result, err)
	if err != nil {
		return nil, err
	}
	var outcomes []visit.Outcome
	if err := json.Unmarshal(out, &outcomes); err != nil || len(outcomes) != len(order.Visits) {
		return nil, notShown("%d visits gave %d outcomes: %v", len(order.Visits), len(outcomes), err)
	}
	return outcomes, nil
}

// verdict says what was wrong with an outcome.
func (c call) verdict(o visit.Outcome) error {
	switch {
	case strings.HasPrefix(o.Failed, "connecting: "):
		return notShown("the guest finds no way to its proxy: %s", sandbox.Echo(o.Failed))
	case c.judge != nil:
		return c.judge(o)
	case c.code == "":
		return wasAnswered(c.visit, o)
	}
	return wasRefused(c.visit, o, c.code)
}

// wasAnswered wants every step to be done, and a server's answer at the end.
func wasAnswered(v visit.Visit, o visit.Outcome) error {
	if o.Done < len(v.Steps) || !bytes.HasPrefix(o.Heard, []byte("HTTP/1.1 200 ")) || !bytes.Contains(o.Heard, []byte(reached)) {
		return fmt.Errorf("was not answered: %s", heard(o))
	}
	return nil
}

// wasRefused wants nothing of a server's to have come, and the refusal to have come
// by itself, not by the end of somebody's patience.
func wasRefused(v visit.Visit, o visit.Outcome, code sandbox.Code) error {
	switch {
	case bytes.Contains(o.Heard, []byte(reached)) || bytes.HasPrefix(o.Heard, []byte("HTTP/1.1 2")):
		return fmt.Errorf("was let through: %s", heard(o))
	case strings.Contains(o.Failed, "i/o timeout"):
		return fmt.Errorf("was neither refused nor let through in time: %s", heard(o))
	case o.Done == len(v.Steps) && len(o.Heard) == 0 && v.Steps[0].Tunnel != "":
		return errors.New("was let through")
	}
	_, body, _ := strings.Cut(string(o.Heard), "\r\n\r\n")
	var said struct {
		Code sandbox.Code `json:"code"`
	}
	if json.NewDecoder(strings.NewReader(body)).Decode(&said) == nil && said.Code != "" && said.Code != code {
		return fmt.Errorf("was refused otherwise than with %s: %s", string(code), heard(o))
	}
	return nil
}

// heard is an outcome for a person.
func heard(o visit.Outcome) string {
	text := sandbox.Echo(string(o.Heard))
	if o.Failed != "" {
		text += ", " + sandbox.Echo(o.Failed)
	}
	return text
}
