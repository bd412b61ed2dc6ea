package azblobsink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// Error is a failure of the service or on the way to it. It keeps what can be told to
// anybody: errors of the client repeat addresses with their signatures, and bodies of
// whatever answered.
type Error struct {
	// Doing is what was attempted, with the key.
	Doing string
	// Status is the HTTP status that was answered, 0 for none, and Code the service's
	// own word for it.
	Status int
	Code   string
	// Reason is why there was no answer.
	Reason string
}

func (e *Error) Error() string {
	switch {
	case e.Status == 0:
		return e.Doing + ": " + e.Reason
	case e.Code == "":
		return fmt.Sprintf("%s: status %d", e.Doing, e.Status)
	}
	return fmt.Sprintf("%s: status %d, %s", e.Doing, e.Status, e.Code)
}

// clean says what was attempted and keeps of an error what is safe to tell. The
// caller's own cancellation stays recognisable.
func clean(doing string, err error) error {
	if err == nil {
		return nil
	}
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			return fmt.Errorf("%s: %w", doing, ended)
		}
	}
	if status := statusOf(err); status != 0 {
		return &Error{Doing: doing, Status: status, Code: codeOf(err)}
	}
	return &Error{Doing: doing, Reason: reasonOf(err)}
}

// reasonOf names the failures that are worth telling apart, in words of our own.
func reasonOf(err error) string {
	var (
		certificate *tls.CertificateVerificationError
		lookup      *net.DNSError
		operation   *net.OpError
		network     net.Error
	)
	switch {
	case errors.As(err, &certificate):
		return "the server's certificate is not trusted"
	case errors.As(err, &lookup):
		return "the account's name was not found"
	case errors.As(err, &network) && network.Timeout():
		return "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended before the answer"
	case errors.As(err, &operation):
		return "the connection failed to " + operation.Op
	}
	return "the client could not make the request, or not read the answer"
}

var plainCode = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)

// codeOf is the service's word for a failure, if it is a word.
func codeOf(err error) string {
	var answered *azcore.ResponseError
	if !errors.As(err, &answered) || !plainCode.MatchString(answered.ErrorCode) {
		return ""
	}
	return answered.ErrorCode
}

func statusOf(err error) int {
	var answered *azcore.ResponseError
	if !errors.As(err, &answered) {
		return 0
	}
	return answered.StatusCode
}

// stands reports whether a conditional write failed by its condition.
func stands(err error) bool {
	switch statusOf(err) {
	case http.StatusPreconditionFailed:
		return true
	case http.StatusConflict:
		return codeOf(err) == "BlobAlreadyExists"
	}
	return false
}
