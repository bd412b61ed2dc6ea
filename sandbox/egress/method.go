package egress

import (
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// tokenPunctuation is what an RFC 9110 token has besides letters and digits.
const tokenPunctuation = "!#$%&'*+-.^_`|~"

const maxMethod = 64

// parseMethod checks an RFC 9110 token in upper case. Methods are compared
// exactly, and the lower-case one is a different method that servers refuse.
func parseMethod(text string) *fault {
	switch {
	case text == "":
		return badMethod("it is empty", "")
	case len(text) > maxMethod:
		return badMethod("it has "+itoa(len(text))+" octets, and at most "+itoa(maxMethod)+" are read", "")
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(tokenPunctuation, c) >= 0:
		case 'a' <= c && c <= 'z':
			return badMethod(charAt(text, i)+" is lower case, and methods are compared exactly", meantMethod(text))
		default:
			return badMethod(charAt(text, i)+" is not in HTTP methods", meantMethod(text))
		}
	}
	return nil
}

func meantMethod(text string) string {
	upper := strings.ToUpper(strings.TrimSpace(text))
	if upper != "" && upper != text && parseMethod(upper) == nil {
		return write(upper)
	}
	parts := strings.FieldsFunc(upper, func(r rune) bool { return strings.ContainsRune(", ;|/", r) })
	if len(parts) < 2 {
		return ""
	}
	for i, p := range parts {
		if parseMethod(p) != nil {
			return ""
		}
		parts[i] = sandbox.Echo(p)
	}
	return "write each method as an entry of its own: " + strings.Join(parts, ", ")
}

func badMethod(why, remedy string) *fault {
	if remedy == "" {
		remedy = `write a method such as "GET", or ["*"] for any`
	}
	return &fault{code: sandbox.CodeEgressMethodInvalid, why: why, remedy: remedy}
}
