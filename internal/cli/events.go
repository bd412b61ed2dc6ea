package cli

import (
	"errors"
	"io"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/learn"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress/eventlog"
)

// readEvent reads the one event that a text is, that stands in a file, or that comes
// on standard input.
func (a *app) readEvent(text string) (eventlog.Entry, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		e, err := eventlog.Decode([]byte(strings.TrimSpace(text)))
		return e, inInput("--event", exitBadInput(err))
	}
	f, err := a.open(text)
	if err != nil {
		return eventlog.Entry{}, err
	}
	defer f.Close()
	r := eventlog.NewReader(f)
	e, err := r.Next()
	switch {
	case errors.Is(err, io.EOF):
		return e, badInput("--event %s: there is no event", sandbox.Echo(text))
	case err != nil:
		return e, inLog(text, err)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		return e, badInput("--event %s: there is more than one line; give the one to explain, such as by tail -n 1", sandbox.Echo(text))
	}
	return e, nil
}

// requestOf is what an event was about.
func requestOf(e eventlog.Entry) (egress.Request, error) {
	switch {
	case e.End != nil:
		return egress.Request{}, badInput("--event: it tells that a tunnel has ended, and decides nothing; give the line of its beginning")
	case e.Lost:
		return egress.Request{}, badInput("--event: it says that %s; what was asked for then is nowhere", learn.LostText(int64(e.Count)))
	case e.Summary:
		return egress.Request{}, badInput("--event: it stands for %d decisions and says of none what was asked for", e.Count)
	case e.Host == "" || e.Port == 0:
		return egress.Request{}, badInput("--event: it names no destination, since none could be read: %s: %s",
			sandbox.Echo(string(e.Code)), sandbox.Echo(e.Found))
	case strings.HasPrefix(e.Method, `"`) || strings.HasPrefix(e.Path, `"`):
		return egress.Request{}, badInput("--event: its method or its path is not in it as it was sent, since it is long or cannot be printed: %s %s",
			sandbox.Echo(e.Method), sandbox.Echo(e.Path))
	}
	name, addr, err := egress.ParseRequestHost(e.Host)
	if err != nil {
		return egress.Request{}, inInput("--event", exitBadInput(err))
	}
	return egress.Request{Host: name, Addr: addr, Port: e.Port, Method: e.Method, Path: e.Path}, nil
}

// inLog names the file in which a line was refused.
func inLog(name string, err error) error {
	if name == "-" {
		name = "standard input"
	}
	refused := sandbox.RefusalOf(err)
	if refused == nil {
		return badInput("%s: %w", sandbox.Echo(name), withoutPath(err))
	}
	f := refused.Finding
	f.Subject = name + ", " + f.Subject
	return exitBadInput(f.Refusal(refused.Err))
}

// exitBadInput is an error that leaves no answer; nil stays nil.
func exitBadInput(err error) error {
	if err == nil {
		return nil
	}
	return &exit{ExitBadInput, err}
}
