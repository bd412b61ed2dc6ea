package egress

import (
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// maxHostText bounds what is looked at, in bytes. The longest name of 253 octets
// stays below it in any script.
const maxHostText = 1024

// Host is one host pattern in normal form: a name, everything below a name, an
// address or a range of addresses. Two hosts are equal (==) exactly when they
// cover the same destinations. The zero value covers nothing; [ParseHost] makes
// the others.
type Host struct {
	kind   hostKind
	name   string       // the name, or the suffix that a wildcard stands below
	prefix netip.Prefix // masked; a single address has all its bits
}

type hostKind uint8

const (
	hostNone hostKind = iota
	hostExact
	hostWildcard
	hostAddress
)

// ParseHost parses one host pattern:
//
//	host     = name | "*." name | address | address "/" bits
//	name     = label *( "." label ) [ "." ]     at most 253 octets as A-labels
//	label    = 1 to 63 letters, digits and inner hyphens, or a U-label
//
// Names are folded to lower case and U-labels are turned into A-labels by UTS 46,
// non-transitional, with STD3, hyphen, joiner and bidi rules. One trailing dot is
// dropped. "*." covers names of any depth below the suffix and never the suffix
// itself; a star stands nowhere else. localhost is a name like any other: it is
// accepted, as in the reference, and refused when dialled, see
// [Host.AlwaysBlocked].
//
// Stricter than UTS 46: a character that the mapping would turn into ASCII (full
// width letters and digits, the Kelvin sign, ideographic full stops) or would
// drop (soft hyphen, variation selectors) is refused, so that nothing but ASCII
// is ever read as an ASCII name or as an address.
//
// A text is taken for an address when it has two colons or when its last label
// is a number, as the URL standard and most resolvers do. Addresses have one
// spelling: octal, hexadecimal, short and integer forms of IPv4, IPv4-mapped
// IPv6, zones and brackets are refused, and a range with host bits set as well.
//
// The error is a [*sandbox.Refusal] without a path. It names the character that
// is wrong, where it stands, and what was probably meant.
func ParseHost(text string) (Host, error) {
	h, f := parseHost(text)
	if f != nil {
		return Host{}, hostFinding(f, text, nil).Refusal(nil)
	}
	return h, nil
}

// NormalizeHost gives the normal text form of a host pattern: lower-case A-labels
// without a trailing dot, or the canonical address or range. Errors are those of
// [ParseHost]. Normal forms are fixed points.
func NormalizeHost(text string) (string, error) {
	h, err := ParseHost(text)
	return h.String(), err
}

// ParseRequestHost parses the host of a request as it comes off the wire, with
// the grammar and the refusals of [ParseHost], for [Request]. Exactly one of name
// and addr is set. Patterns and ranges are refused, and an IPv6 address may stand
// in the brackets that authorities need.
func ParseRequestHost(text string) (name string, addr netip.Addr, err error) {
	bare := text
	if inner, ok := strings.CutPrefix(bare, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok && strings.Contains(inner, ":") {
			bare = inner
		}
	}
	h, f := parseHost(bare)
	switch {
	case f != nil:
	case h.kind == hostWildcard:
		f = &fault{
			code: sandbox.CodeEgressHostInvalid, why: charAt(text, 0) + " makes it a pattern, not a host",
			remedy: "name one host below " + sandbox.Echo(h.name),
		}
	case h.kind == hostAddress && !h.prefix.IsSingleIP():
		f = &fault{
			code: sandbox.CodeEgressAddressInvalid, why: "a range is not one address",
			remedy: "name one address of the range, such as " + sandbox.Echo(h.prefix.Addr().String()),
		}
	}
	if f != nil {
		return "", netip.Addr{}, hostFinding(f, text, nil).Refusal(nil)
	}
	if h.kind == hostAddress {
		return "", h.prefix.Addr(), nil
	}
	return h.name, netip.Addr{}, nil
}

// String is the normal form, empty for the zero value.
func (h Host) String() string {
	switch h.kind {
	case hostExact:
		return h.name
	case hostWildcard:
		return "*." + h.name
	case hostAddress:
		if h.prefix.IsSingleIP() {
			return h.prefix.Addr().String()
		}
		return h.prefix.String()
	default:
		return ""
	}
}

// IsAddress reports whether the pattern is an address or a range of addresses.
func (h Host) IsAddress() bool { return h.kind == hostAddress }

// IsWildcard reports whether the pattern is "*." and a suffix.
func (h Host) IsWildcard() bool { return h.kind == hostWildcard }

// Name is the name of an exact pattern, the suffix of a wildcard, and empty for
// addresses.
func (h Host) Name() string { return h.name }

// Prefix is the range of an address pattern, masked, a single address with all
// its bits; it is invalid for names.
func (h Host) Prefix() netip.Prefix { return h.prefix }

func hostFinding(f *fault, text string, at sandbox.FieldPath) sandbox.Finding {
	if f.remedy == "" {
		f.remedy = meantHost(text)
	}
	return f.finding("host", text, at)
}

func badHost(why, remedy string) *fault {
	return &fault{code: sandbox.CodeEgressHostInvalid, why: why, remedy: remedy}
}

func parseHost(text string) (Host, *fault) {
	switch {
	case text == "":
		return Host{}, badHost("it is empty", `name one host, such as "api.example.com"`)
	case len(text) > maxHostText:
		return Host{}, badHost("it is longer than any host name", "one entry holds one host")
	case looksLikeAddress(text):
		return parseAddress(text)
	}
	if f := checkCharacters(text); f != nil {
		return Host{}, f
	}
	suffix, wildcard := strings.CutPrefix(text, "*.")
	if strings.Contains(suffix, "*") || suffix == "" {
		return Host{}, badStar(text)
	}
	offset := len(text) - len(suffix)
	name, f := parseName(text, offset)
	if f != nil {
		return Host{}, f
	}
	if !wildcard {
		return Host{kind: hostExact, name: name}, nil
	}
	if len(name)+len("*.") > maxName {
		return Host{}, badHost("nothing fits below it: a name has at most 253 octets", "shorten the suffix, or name it without the star")
	}
	return Host{kind: hostWildcard, name: name}, nil
}

// badStar explains a star that is not the whole first label before a name.
func badStar(text string) *fault {
	if strings.Trim(text, "*.") == "" {
		return badHost("a star alone would be every host", `name the hosts; any host at all is egress_mode = "unrestricted"`)
	}
	var why string
	switch first := strings.IndexByte(text, '*'); {
	case first > 0:
		why = charAt(text, first) + " is not the first label"
	case text[1] != '.':
		why = charAt(text, 1) + " stands where the dot after the star does"
	default:
		why = charAt(text, 1+strings.IndexByte(text[1:], '*')) + " is a second star"
	}
	last := strings.LastIndexByte(text, '*')
	suffix := strings.TrimLeft(text[last+1:], ".")
	if _, f := parseHost("*." + suffix); f == nil && strings.Trim(text[:last], "*.") == "" {
		return badHost(why, write("*."+suffix))
	}
	if !strings.HasPrefix(text[last+1:], ".") { // the star stands inside a label: leave the label out
		_, suffix, _ = strings.Cut(suffix, ".")
	}
	if _, f := parseHost("*." + suffix); f != nil || !strings.Contains(suffix, ".") {
		return badHost(why, "name each host; a star stands only as the first label, before a name")
	}
	return badHost(why, "name each host, or "+write("*."+suffix)+" for every name below "+suffix)
}

// checkCharacters refuses the first character that no host has.
func checkCharacters(text string) *fault {
	for i, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-', r >= 'A' && r <= 'Z', r == '*':
			continue
		case r == utf8.RuneError:
			if _, size := utf8.DecodeRuneInString(text[i:]); size <= 1 {
				return badHost(charAt(text, i)+" is not UTF-8", "")
			}
		case r < utf8.RuneSelf:
			return badHost(charAt(text, i)+" "+whyNot(text, i), "")
		}
		if why := whyNotUnicode(r); why != "" {
			return badHost(charAt(text, i)+" "+why, "")
		}
	}
	return nil
}

// whyNot says what the ASCII character at offset i does in a host where it has
// no place.
func whyNot(text string, i int) string {
	switch c := text[i]; {
	case c == ':' && strings.HasPrefix(text[i:], "://"):
		return "ends a scheme, which a host does not have"
	case c == ':':
		return "starts a port, and ports stand in ports"
	case c == '/':
		return "starts a path, and paths stand in paths"
	case c == '?', c == '#':
		return "starts what only a URL has"
	case c == '@':
		return "ends a user, which a host does not have"
	case c == '[', c == ']':
		return "is for addresses in URLs, not for hosts"
	case c == '%':
		return "is an escape or a zone, and a host has neither"
	case c == '_':
		return "is not in host names, only in service records"
	case c == '\\':
		return `is not in host names; some readers take it for "/"`
	case c == ',', c == ';', c == '|':
		return "separates entries, and one entry holds one host"
	case c == ' ', c == '\t', c == '\n', c == '\r', c == '\v', c == '\f':
		return "is white space"
	case c < ' ', c == 0x7f:
		return "is a control character"
	default:
		return "is not in host names"
	}
}
