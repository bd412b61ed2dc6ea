package imageregistry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// failure turns what the library or the network failed with into a refusal. What a
// registry wrote is not repeated: its status and our own words are.
func (l *lookup) failure(err error, doing string) error {
	if refused, ok := errors.AsType[*sandbox.Refusal](err); ok {
		return refused
	}
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		return l.status(answer, doing)
	}
	if ended := l.ended(); ended != nil {
		err = fmt.Errorf("%w: %w", ended, err) // content that was cut off is told as of another size
	}
	f := sandbox.Finding{
		Code: sandbox.CodeRegistryUnreachable, Path: referencePath(), Required: "an answer of registry " + sandbox.Echo(l.host),
		Remedy: "check the host, the network and the registry's certificate, and plan again",
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		f.Found = "no answer within " + l.limits.Time.String()
	case errors.Is(err, context.Canceled):
		f.Found = "the plan was stopped"
	case reachable(err):
		f.Code, f.Found, f.Required = sandbox.CodeRegistryAnswerInvalid, "an answer that is not what its digest or its type says", "the content that was asked for"
		f.Remedy = "compare what registry " + sandbox.Echo(l.host) + " serves with where the image was pushed"
	default:
		f.Found = "no connection: " + sandbox.Echo(cause(err))
	}
	f.Found = "could not " + doing + ": " + f.Found
	return f.Refusal(err)
}

// reachable reports whether an error came after an answer: of the library's
// reading, not of the network.
func reachable(err error) bool {
	var network interface{ Timeout() bool }
	return !errors.As(err, &network)
}

// cause is what went wrong underneath, without this machine's own addresses.
func cause(err error) string {
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		return lookup.Err
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

func (l *lookup) status(answer *transport.Error, doing string) error {
	f := sandbox.Finding{
		Path: referencePath(), Found: "could not " + doing + ": status " + strconv.Itoa(answer.StatusCode),
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return denied(l.host, "status "+strconv.Itoa(answer.StatusCode), answer)
	case http.StatusNotFound:
		f.Code, f.Required = sandbox.CodeRegistryNotFound, "an image that registry "+sandbox.Echo(l.host)+" has"
		f.Remedy = "check the path and the tag; some registries also answer so to whom they do not know"
	case http.StatusTooManyRequests:
		f.Code, f.Required = sandbox.CodeRegistryUnreachable, "an answer of registry "+sandbox.Echo(l.host)
		f.Remedy = "wait, sign in, or copy the image to a registry of your own"
	default:
		f.Code, f.Required = sandbox.CodeRegistryUnreachable, "an answer of registry "+sandbox.Echo(l.host)
		f.Remedy = "plan again once the registry answers"
	}
	return f.Refusal(answer)
}

func denied(host, found string, err error) error {
	return sandbox.Finding{
		Code: sandbox.CodeRegistryDenied, Path: referencePath(), Found: found, Required: "leave of registry " + sandbox.Echo(host) + " to read the image",
		Remedy: `sign in with "docker login" and set credentials = "docker" in registries["` + host + `"] of the provider block`,
	}.Refusal(err)
}

func answerInvalid(found, required string) error {
	return sandbox.Finding{
		Code: sandbox.CodeRegistryAnswerInvalid, Path: referencePath(), Found: found, Required: required,
		Remedy: "compare what the registry serves with where the image was pushed",
	}.Refusal(nil)
}
