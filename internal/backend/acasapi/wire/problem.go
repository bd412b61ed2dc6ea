package wire

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Problem is the data plane's error document, application/problem+json.
type Problem struct {
	// Title is the machine code, "SandboxNotFound"; a sentence when Errors is
	// given.
	Title     string `json:"title,omitempty"`
	Status    int    `json:"status,omitzero"`
	Detail    string `json:"detail,omitempty"`
	ErrorCode *int   `json:"errorCode,omitzero"`
	TraceID   string `json:"traceId,omitempty"`
	RequestID string `json:"requestId,omitempty"`
	// Errors maps a field to what is wrong with it, for a body that does not fit
	// the service's model.
	Errors map[string][]string `json:"errors,omitempty"`
	Extra  Extra               `json:",embed"`
}

// ARMError is the error document of the ARM plane.
type ARMError struct {
	Error ARMErrorBody `json:"error"`
	Extra Extra        `json:",embed"`
}

// ARMErrorBody is what an ARM error says.
type ARMErrorBody struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details []ARMErrorBody `json:"details,omitempty"`
	Extra   Extra          `json:",embed"`
}

// The problem codes that a caller does something about.
const (
	TitleSandboxNotFound         = "SandboxNotFound"
	TitleNotRunning              = "GlobalSandboxNotRunning"
	TitleNotRunningEgress        = "SandboxNotRunning"
	TitleDisabled                = "SandboxAdminDisabled"
	TitleInvalidTier             = "InvalidResourceTier"
	ErrorCodeNotFound            = 1
	ErrorCodeInvalidTier         = 18
	ErrorCodeNotRunning          = 501
	ProblemContentType           = "application/problem+json"
	TitleValidationErrorsPresent = "One or more validation errors occurred."
)

// Complaint is what an error document said, whatever its shape.
type Complaint struct {
	Code      string
	Text      string
	ErrorCode int
	RequestID string
	TraceID   string
}

// ReadComplaint understands every error shape that was seen: a problem document,
// {error:{code,message}}, {code,message}, {error:"text"} and an empty body. What it
// cannot read is an empty complaint; the status then speaks alone.
func ReadComplaint(body []byte) Complaint {
	doc := struct {
		Problem Problem        `json:",embed"`
		Code    jsontext.Value `json:"code"`
		Message string         `json:"message"`
		Error   jsontext.Value `json:"error"`
	}{}
	if DecodeText(body, &doc) != nil {
		return Complaint{}
	}
	c := Complaint{Code: doc.Problem.Title, Text: doc.Problem.Detail, RequestID: doc.Problem.RequestID, TraceID: doc.Problem.TraceID}
	if doc.Problem.ErrorCode != nil {
		c.ErrorCode = *doc.Problem.ErrorCode
	}
	for _, field := range slices.Sorted(maps.Keys(doc.Problem.Errors)) {
		c.Text = strings.TrimSpace(c.Text + " " + field + ": " + strings.Join(doc.Problem.Errors[field], "; "))
	}
	if c.Code == "" {
		_ = DecodeText(doc.Code, &c.Code)
		c.Text = firstText(c.Text, doc.Message)
	}
	if doc.Error.Kind() == '{' && c.Code == "" {
		var inner ARMErrorBody
		if DecodeText(doc.Error, &inner) == nil {
			c.Code, c.Text = inner.Code, inner.Message
			for _, d := range inner.Details {
				c.Text = strings.TrimSpace(c.Text + " " + d.Code + ": " + d.Message)
			}
		}
	}
	if doc.Error.Kind() == '"' {
		var text string
		if DecodeText(doc.Error, &text) == nil {
			c.Text = firstText(c.Text, text)
		}
	}
	return c
}

func firstText(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
