package acasapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Error is what the service said, or that it said nothing. It stands below the
// refusal that every method returns. All of its text is bounded and escaped.
type Error struct {
	Op     wire.Op
	Object string
	// Class is the refusal's code.
	Class sandbox.Code
	// Status is the HTTP status, zero without an answer.
	Status int
	// Code and Number are the service's own: "SandboxNotFound", 1.
	Code   string
	Number int
	// Text is what the service said beside the code, withheld where the request
	// held secrets.
	Text string
	// RetryAfter is how long the service asked to wait, zero when it did not.
	RetryAfter time.Duration
	// Attempts is how often the request was sent.
	Attempts int
	// ClientRequestID is this client's name for the request, the same for each
	// attempt; RequestID and CorrelationID are the service's.
	ClientRequestID, RequestID, CorrelationID string
	// Err is what failed underneath.
	Err error

	// outcome says whether the request may have been carried out.
	outcome outcome
	// emulated says that the endpoint is not the service's own, and loopback that it is
	// this machine's.
	emulated, loopback bool
	// repeated says that an earlier attempt may have been.
	repeated bool
}

// outcome is what is known about a request that failed.
type outcome uint8

const (
	// mayHaveRun: no answer, or one that does not say.
	mayHaveRun outcome = iota
	// notSent: no connection was made.
	notSent
	// turnedAway: the service answered that it did not do it.
	turnedAway
)

// Error is one line without a secret in it.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", e.Op)
	if e.Status != 0 {
		fmt.Fprintf(&b, " answered %d", e.Status)
	}
	if e.Code != "" {
		b.WriteString(" " + e.Code)
	}
	if e.Text != "" {
		b.WriteString(": " + e.Text)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, ", asking to wait %s", e.RetryAfter)
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " (sent %d times)", e.Attempts)
	}
	for _, id := range []struct{ name, value string }{
		{"client request", e.ClientRequestID}, {"request", e.RequestID}, {"correlation", e.CorrelationID},
	} {
		if id.value != "" {
			b.WriteString(" " + id.name + "=" + id.value)
		}
	}
	return b.String()
}

// Unwrap is what failed underneath.
func (e *Error) Unwrap() error { return e.Err }

// refusal is a finding as an error.
func refusal(code sandbox.Code, subject, found, required, remedy string) *sandbox.Refusal {
	return &sandbox.Refusal{Finding: sandbox.Finding{Code: code, Subject: subject, Found: found, Required: required, Remedy: remedy}}
}

// refuse puts an error of the service at the boundary: who reads it needs to know
// what to do, and finds what was said below.
func (e *Error) refuse() error {
	if r := sandbox.RefusalOf(e.Err); r != nil {
		return r // it says what is wrong, and the request is not it
	}
	r := refusal(e.Class, e.Object, e.found(), "", e.remedy())
	r.Err = e
	return r
}

// remedy is what to do. The two planes have roles of their own, and neither includes
// the other's.
func (e *Error) remedy() string {
	if remedy := e.emulatorsRemedy(); remedy != "" {
		return remedy
	}
	switch {
	case e.Op.Operation().Plane != wire.ARM:
	case e.Class == sandbox.CodeServiceForbidden:
		return `give the identity a role that manages the group, such as Contributor on its resource group; "Container Apps SandboxGroup Data Owner" does not include it`
	case e.Class == sandbox.CodeServiceNotFound && e.Op == wire.GroupPut:
		return "check the subscription and the resource group; a subscription that the identity cannot see is not found either"
	}
	return remedies[e.Class]
}

// emulatorsRemedy is what to do about an emulator, which nobody signs in to and no
// system trusts.
func (e *Error) emulatorsRemedy() string {
	switch {
	case e.Code == wire.EmulatorState:
		return "restore the state file and the key beside it, whose name ends in .key, from the same copy; without the key the values of secrets are lost, and to begin anew is to remove both files"
	case !e.emulated:
	case e.Class == sandbox.CodeServiceUnauthenticated:
		return "give the token that the emulator takes: --emulator-token-file of sandboxctl, emulator_token in the provider block acas"
	case e.Class == sandbox.CodeServiceUnreachable && untrusted(e.Err):
		return "name the file that the emulator wrote with --ca-out: --ca-file of sandboxctl, ca_file in the provider block acas; it is another one after every start"
	case e.Class == sandbox.CodeServiceUnreachable:
		return "start the emulator, or correct the endpoint: it is the url that the emulator printed"
	}
	return ""
}

func (e *Error) found() string {
	switch {
	case e.Status == 0:
		return "no answer"
	case e.Code != "":
		return strconv.Itoa(e.Status) + " " + e.Code
	default:
		return strconv.Itoa(e.Status)
	}
}

var remedies = map[sandbox.Code]string{
	sandbox.CodeServiceUnauthenticated: "sign in again, and check the audience that is configured",
	sandbox.CodeServiceForbidden:       `give the identity the role "Container Apps SandboxGroup Data Owner" on the group; Owner and Contributor do not include it`,
	sandbox.CodeServiceNotRunning:      "resume the sandbox first",
	sandbox.CodeServiceUnreachable:     "check the endpoint, the network, and the certificate authority that is configured",
	sandbox.CodeServiceOutcomeUnknown:  "look at what exists before you try again",
}

// classOf is the code for a status and what the service called it.
func classOf(status int, c wire.Complaint) sandbox.Code {
	switch {
	case status == http.StatusUnauthorized:
		return sandbox.CodeServiceUnauthenticated
	case status == http.StatusForbidden:
		return sandbox.CodeServiceForbidden
	case status == http.StatusNotFound:
		return sandbox.CodeServiceNotFound
	case status == http.StatusConflict && (c.Code == wire.TitleNotRunning || c.Code == wire.TitleNotRunningEgress || c.ErrorCode == wire.ErrorCodeNotRunning):
		return sandbox.CodeServiceNotRunning
	case status == http.StatusConflict, status == http.StatusPreconditionFailed:
		return sandbox.CodeServiceConflict
	case status == http.StatusRequestEntityTooLarge:
		return sandbox.CodeServiceTooLarge
	case status == http.StatusTooManyRequests:
		return sandbox.CodeServiceThrottled
	case status == http.StatusRequestTimeout:
		return sandbox.CodeServiceUnavailable
	case status >= 300 && status < 400:
		return sandbox.CodeServiceAnswerInvalid
	case status >= 400 && status < 500:
		return sandbox.CodeServiceInvalid
	default:
		return sandbox.CodeServiceUnavailable
	}
}

// outcomeOf reads from a status whether the request was carried out. A server error
// and a time-out say nothing about it.
func outcomeOf(status int) outcome {
	if status >= 300 && status < 500 && status != http.StatusRequestTimeout {
		return turnedAway
	}
	return mayHaveRun
}

// fromTransport makes an error of a request that got no answer.
func fromTransport(err error) *Error {
	e := &Error{Class: sandbox.CodeServiceUnreachable, Err: err}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		e.outcome = notSent
	}
	if untrusted(err) || sandbox.RefusalOf(err) != nil {
		e.outcome = notSent
	}
	return e
}

// untrusted reports a peer whose certificate does not hold. Asking again does not
// change that.
func untrusted(err error) bool {
	_, verify := errors.AsType[*tls.CertificateVerificationError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	return verify || unknown || host || record
}

// ended reports the caller's own context, which is not the service's doing.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

var (
	codeForm  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,80}$`)
	fieldForm = regexp.MustCompile(`^[A-Za-z0-9._\[\]-]{1,120}$`)
)

// word keeps a machine code as it is and quotes what is not one.
func word(s string) string { return quoteUnless(codeForm, s) }

// fieldWord does so with the path of a field.
func fieldWord(s string) string { return quoteUnless(fieldForm, s) }

func quoteUnless(form *regexp.Regexp, s string) string {
	if s == "" || form.MatchString(s) {
		return s
	}
	return sandbox.Echo(s)
}

// ErrorOf is what the service said, if err came from it.
func ErrorOf(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}
