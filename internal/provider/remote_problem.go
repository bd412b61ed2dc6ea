package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// problem is an error of the service, or on the way there, as people see it: what
// was attempted on which object, what the service said, and what to do.
func problem(doing string, err error) diag.Diagnostic {
	if exists, ok := errors.AsType[*existsError](err); ok {
		return exists.diagnostic()
	}
	r := sandbox.RefusalOf(err)
	switch {
	case r == nil && errors.Is(err, context.DeadlineExceeded):
		return refusal(sandbox.Finding{
			Code: sandbox.CodeServiceTimeout, Subject: doing, Found: err.Error(), Required: "an answer within the deadline",
			Remedy: "give it more time in the block timeouts",
		})
	case r == nil && errors.Is(err, context.Canceled):
		return diag.NewErrorDiagnostic("Interrupted", "The run was interrupted while "+doing+": "+oneLine(err.Error())+
			".\n\nWhat exists by now is kept in the state; the next apply goes on from there.")
	case r == nil:
		return diag.NewErrorDiagnostic("Object could not be reached", "The provider failed while "+doing+": "+oneLine(err.Error())+".")
	}
	f := r.Finding
	if f.Subject != "" {
		f.Subject = doing + " " + f.Subject
	}
	if outer, _, wrapped := strings.Cut(err.Error(), r.Error()); wrapped && strings.HasSuffix(outer, ": ") {
		f.Subject = doing + ", to " + strings.TrimSuffix(outer, ": ")
	}
	if said := acasapi.ErrorOf(err); said != nil {
		f.Found = whatWasSaid(f.Found, said)
	}
	if f.Code == sandbox.CodeServiceTimeout {
		f.Remedy = "give it more time in the block timeouts, or look at what the service says of it"
	}
	return refusal(f)
}

// whatWasSaid adds the service's own words, and the names by which its operators
// find the request.
func whatWasSaid(found string, e *acasapi.Error) string {
	var b strings.Builder
	b.WriteString(found)
	if e.Text != "" && !strings.Contains(found, e.Text) {
		b.WriteString(": " + e.Text)
	}
	if e.Err != nil && e.Status == 0 {
		b.WriteString(": " + e.Err.Error())
	}
	for _, id := range []struct{ name, value string }{{"request", e.RequestID}, {"correlation", e.CorrelationID}} {
		if id.value != "" {
			fmt.Fprintf(&b, " (%s %s)", id.name, id.value)
		}
	}
	return b.String()
}

// existsError is an object that stands in the way of one that was to be made.
type existsError struct {
	kind, id, object string
	at               sandbox.FieldPath
	// hint is what else there is to do.
	hint string
}

// madeOtherwise is the hint about what an apply made that was killed, when the
// configuration was another one.
const madeOtherwise = "It was made by an apply that did not end, from another configuration; imported, it is changed to this one"

func (e *existsError) Error() string { return e.object + " exists" }

// diagnostic has the block that imports the object, to be pasted. The provider never
// learns an address, so its name is left to who pastes.
func (e *existsError) diagnostic() diag.Diagnostic {
	f := sandbox.Finding{Code: sandbox.CodeRemoteExists, Path: e.at}
	var b strings.Builder
	b.WriteString(sentence(e.object, '.'))
	text := " exists already and is not in this Terraform state, or another resource of this configuration made it. To manage it here, add this block with the address of this resource and plan again:"
	detail := strings.TrimSuffix(b.String(), ".") + text + fmt.Sprintf("\n\n import {\n   to = sandbox_%s.NAME\n   id = %s\n }\n", e.kind, pasted(e.id))
	if e.hint != "" {
		detail += "\n" + sentence(oneLine(e.hint), '.') + "\n"
	}
	return placed(f.Path, diag.NewErrorDiagnostic(f.Code.Summary(), detail+"\n "+f.Locator()))
}

// pasted is a text in quotes that Terraform reads as that text and nothing else. An id
// is plain ASCII; whatever else a service puts there is written as its number, and so
// is what begins a template. Package hcltext would bring a parser of HCL into the
// provider for this.
func pasted(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case r < ' ' || r > '~' || strings.ContainsRune("\"\\$%", r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}
