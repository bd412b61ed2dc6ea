package egress

import (
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const (
	maxName   = 253 // octets of a name without its trailing dot, RFC 1035 2.3.4
	maxLabel  = 63
	acePrefix = "xn--"
)

// strictIDNA is UTS 46, non-transitional, with every check on; mappingOnly is its
// mapping step alone. Both are immutable.
var (
	strictIDNA = idna.New(
		idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.StrictDomainName(true),
		idna.CheckHyphens(true), idna.CheckJoiners(true), idna.ValidateLabels(true), idna.VerifyDNSLength(true),
	)
	mappingOnly = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.ValidateLabels(false), idna.StrictDomainName(false))
)

// whyNotUnicode refuses characters outside ASCII that IDNA does not know, that
// cannot be seen, or that its mapping would drop or turn into ASCII. The joiners
// pass here: IDNA allows them where a script needs them.
func whyNotUnicode(r rune) string {
	const zwnj, zwj = 0x200c, 0x200d
	if r == zwnj || r == zwj {
		return ""
	}
	mapped, err := mappingOnly.ToUnicode(string(r))
	switch {
	case unicode.IsSpace(r):
		return "is white space"
	case unicode.IsControl(r):
		return "is a control character"
	case unicode.Is(unicode.Cf, r) || err == nil && mapped == "":
		return "cannot be seen"
	case err != nil:
		return "is not in host names"
	case strings.ContainsFunc(mapped, func(m rune) bool { return m < 0x80 }):
		return "looks like " + sandbox.Echo(mapped) + " and is another character"
	default:
		return ""
	}
}

// parseName turns the name that starts at offset into its normal form. The
// characters have been checked.
func parseName(text string, offset int) (string, *fault) {
	name := strings.TrimSuffix(text[offset:], ".")
	if name == "" {
		return "", badHost("there is no name", "")
	}
	if i := emptyLabel(name); i >= 0 {
		return "", badEmptyLabel(text, offset+i)
	}
	lower := strings.ToLower(name)
	if isASCII(name) && !hasACE(lower) {
		if f := checkLabels(text, offset, lower); f != nil {
			return "", f
		}
		return lower, nil
	}
	ascii, ok := toASCII(name)
	if !ok {
		return "", badIDN(text, offset, name)
	}
	if f := checkLabels(ascii, 0, ascii); f != nil {
		return "", f
	}
	return ascii, nil
}

// toASCII is the normal form of a name in A-labels, if IDNA has one. The result is
// asked again: the library judges writing directions by the characters before
// their mapping, so that a symbol such as U+2136, which maps to a Hebrew letter,
// passed beside a Latin one into an A-label that no resolver takes.
func toASCII(name string) (ascii string, ok bool) {
	ascii, err := strictIDNA.ToASCII(name)
	if err != nil {
		return "", false
	}
	again, err := strictIDNA.ToASCII(ascii)
	return ascii, err == nil && again == ascii
}

// checkLabels holds a lower-case ASCII name to the rules. It stands at offset in
// text, where faults are reported.
func checkLabels(text string, offset int, name string) *fault {
	if len(name) > maxName {
		return badHost("it has "+itoa(len(name))+" octets, and a name has at most 253", "check the spelling; no such name exists")
	}
	for start := 0; start <= len(name); {
		label, _, _ := strings.Cut(name[start:], ".")
		at := offset + start
		switch {
		case len(label) > maxLabel:
			return badHost("the label from character "+itoa(at+1)+" has "+itoa(len(label))+" octets, and a label has at most 63", "check the spelling; no such name exists")
		case label[0] == '-':
			return badHost(charAt(text, at)+" begins a label", "")
		case label[len(label)-1] == '-':
			return badHost(charAt(text, at+len(label)-1)+" ends a label", "")
		case reservedLabel(label):
			return badHost(charAt(text, at+2)+` and its neighbour are reserved: only "xn--" stands before two hyphens`, "")
		case start+len(label) == len(name) && isNumeric(label):
			return badHost("its last label "+sandbox.Echo(label)+" is a number, so that it would be read as an address", "write an address range, or a name that ends in a letter")
		}
		start += len(label) + 1
	}
	return nil
}

// reservedLabel reports a label with hyphens in its third and fourth place that
// is not an A-label (RFC 5890 2.3.1).
func reservedLabel(label string) bool {
	return len(label) >= 4 && label[2] == '-' && label[3] == '-' && !strings.HasPrefix(label, acePrefix)
}

// validName reports whether name has the shape of a normal form. It does not
// decode A-labels. It allocates nothing: the matcher asks it for every request.
func validName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	start := 0
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '.' {
			c := name[i]
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
			continue
		}
		label := name[start:i]
		if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' || reservedLabel(label) {
			return false
		}
		if i == len(name) {
			return !isNumeric(label)
		}
		start = i + 1
	}
	return false
}

// isNumeric reports whether a last label makes a name an IPv4 address in the eyes
// of a URL parser: all digits, or 0x and hexadecimal digits, or 0x alone.
func isNumeric(label string) bool {
	if label == "" {
		return false
	}
	if len(label) >= 2 && label[0] == '0' && label[1]|0x20 == 'x' {
		return strings.Trim(label[2:], "0123456789abcdefABCDEF") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func hasACE(lower string) bool {
	return strings.HasPrefix(lower, acePrefix) || strings.Contains(lower, "."+acePrefix)
}

// emptyLabel is the offset of the dot that has no label before it, or of the end
// of a name that ends in a dot, or -1.
func emptyLabel(name string) int {
	if name[0] == '.' {
		return 0
	}
	if i := strings.Index(name, ".."); i >= 0 {
		return i + 1
	}
	if name[len(name)-1] == '.' {
		return len(name) - 1
	}
	return -1
}

func badEmptyLabel(text string, at int) *fault {
	why := charAt(text, at) + " has no label before it"
	if at == 0 {
		if rest := strings.TrimLeft(text, "."); rest != "" {
			if _, f := parseHost("*." + rest); f == nil {
				return badHost(why, write(rest)+", or "+write("*."+rest)+" for the names below it")
			}
		}
	}
	return badHost(why, "")
}

// badIDN finds the first label that IDNA refuses. What is wrong may lie between
// labels (the bidi rule), or in the whole (its length as A-labels).
func badIDN(text string, offset int, name string) *fault {
	start := 0
	for label := range strings.SplitSeq(name, ".") {
		if _, ok := toASCII(label); !ok {
			at := offset + start
			why := "the label " + sandbox.Echo(label) + " from character " + itoa(len([]rune(text[:at]))+1)
			if hasACE(strings.ToLower(label)) {
				return badHost(why+" starts like an A-label and is none", "write the name in its own script; the A-label is made from it")
			}
			return badHost(why+" is not a label under IDNA", "check the spelling of that label")
		}
		start += len(label) + 1
	}
	return badHost("it is not a name under IDNA: too long as A-labels, or its labels mix writing directions", "check the spelling")
}
