package explain

import (
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Event is what a proxy decided of the request, beside what the documents say of it.
type Event struct {
	Time    time.Time `json:"time"`
	Allowed bool      `json:"allowed"`
	// Code and Found are why it was refused, in the proxy's words.
	Code  sandbox.Code `json:"code,omitempty"`
	Found string       `json:"found,omitempty"`
	// Rule is the rule that admitted it or came nearest, under the name it had.
	Rule  string `json:"rule,omitempty"`
	Layer string `json:"layer"`
	Count int    `json:"count"`
	// Notes say where the proxy and the documents differ, and what that means.
	Notes []string `json:"notes,omitempty"`
}

// Explain puts a proxy's decision beside the answer of the documents.
func (a *Answer) Explain(e egress.Event) {
	event := Event{
		Time: e.Time, Allowed: e.Allowed, Code: e.Code, Found: e.Found, Rule: e.Rule, Layer: string(e.Layer), Count: e.Count,
	}
	ruled := a.byRules()
	switch {
	case e.Allowed && !ruled:
		event.Notes = append(event.Notes, "it was let through, and by these documents it would not be: the sandbox ran under others")
	case e.Code == sandbox.CodeEgressDenied && ruled:
		event.Notes = append(event.Notes, "no rule admitted it then, and these documents do: the sandbox ran under others")
	case !e.Allowed && e.Code != sandbox.CodeEgressDenied:
		event.Notes = append(event.Notes, "rules are not why it was refused, and no edit of them changes that")
		if meaning := e.Code.Meaning(); meaning != "" {
			event.Notes = append(event.Notes, meaning)
		}
	}
	if a.unnamed != "" && !ruled {
		event.Notes = append(event.Notes, "no rule can name its "+a.unnamed+", and one for any is not offered for a request that a guest chose")
	}
	a.Event = &event
}

// byRules reports whether the rules of all layers admit the request for some
// workload, whatever else there is against that workload.
func (a *Answer) byRules() bool {
	for _, w := range a.Workloads {
		admits := len(w.Layers) > 0
		for _, l := range w.Layers {
			admits = admits && l.Allows
		}
		if admits {
			return true
		}
	}
	return false
}

func (e *Event) text() string {
	if e == nil {
		return ""
	}
	page := show.NewPage(0, eventColumn)
	page.Row("decided", e.decided())
	page.List("note", e.Notes, len(e.Notes))
	return page.String()
}

const eventColumn = 10

func (e *Event) decided() string {
	var b strings.Builder
	b.WriteString(e.Time.UTC().Format(time.RFC3339) + ": ")
	by := ", by rule "
	if e.Allowed {
		b.WriteString("let through")
	} else {
		b.WriteString("refused, " + string(e.Code))
		if e.Found != "" {
			b.WriteString(": " + e.Found)
		}
		by = "; nearest was rule "
	}
	if e.Rule != "" {
		b.WriteString(by + sandbox.Echo(e.Rule))
	}
	if e.Layer == string(egress.LayerConnection) {
		b.WriteString("; the connection as a whole")
	}
	if e.Count > 1 {
		b.WriteString("; " + show.Count(int64(e.Count)) + " times")
	}
	return b.String()
}
