package egress

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// fault is why a piece of text was refused. remedy is empty where the door that
// was asked has a better guess than the place that noticed; meant is then that
// place's guess, not yet checked.
type fault struct {
	code   sandbox.Code
	why    string
	remedy string
	meant  string
}

// finding makes the fault into what people see. noun says what the text was
// meant to be.
func (f *fault) finding(noun, text string, at sandbox.FieldPath) sandbox.Finding {
	return sandbox.Finding{
		Code:     f.code,
		Path:     at,
		Found:    noun + " " + sandbox.Echo(text) + ": " + f.why,
		Required: required(f.code),
		Remedy:   f.remedy,
	}
}

// required says what would have been accepted, per code.
func required(code sandbox.Code) string {
	switch code {
	case sandbox.CodeEgressHostInvalid:
		return "one DNS name, *.suffix, IP address or CIDR range"
	case sandbox.CodeEgressAddressInvalid:
		return "an IPv4 address as four decimal numbers, an IPv6 address without a zone, or a CIDR range of either"
	case sandbox.CodeEgressPortInvalid:
		return `a port from 1 to 65535, a range such as "8000-8099", or "*" alone`
	case sandbox.CodeEgressMethodInvalid:
		return `an HTTP method in upper case, or "*" alone`
	case sandbox.CodeEgressPathInvalid:
		return `a path prefix of whole segments such as "/v1", or "*" alone`
	default:
		return "all of host, ports, methods and paths"
	}
}

// charAt names the character at a byte offset and where it stands, counted in
// characters from 1: `":" at character 12`.
func charAt(text string, offset int) string {
	r, size := utf8.DecodeRuneInString(text[offset:])
	where := " at character " + strconv.Itoa(utf8.RuneCountInString(text[:offset])+1)
	switch {
	case r == utf8.RuneError && size <= 1:
		return fmt.Sprintf("byte 0x%02X%s", text[offset], where)
	case r < utf8.RuneSelf:
		return sandbox.Echo(string(r)) + where
	default:
		return fmt.Sprintf("%s (%U)%s", sandbox.Echo(string(r)), r, where)
	}
}

// write is the remedy that replaces the text by another.
func write(text string) string {
	if !sandbox.EchoesWhole(text) {
		return "correct it there" // what would be shown is cut, and cut it means something else
	}
	return "write " + sandbox.Echo(text)
}
