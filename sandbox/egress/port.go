package egress

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// PortRange is the ports from First to Last, both included, 1 to 65535.
type PortRange struct{ First, Last uint16 }

const (
	httpsPort = 443
	maxPort   = 65535
)

// Ports that many rules share. They are never written to.
var (
	onlyHTTPS = []PortRange{{httpsPort, httpsPort}}
	everyPort = []PortRange{{1, maxPort}}
)

// String is "443" for one port, "8000-8099" for a range, and "*" for all ports.
func (p PortRange) String() string {
	switch {
	case p == everyPort[0]:
		return "*"
	case p.First == p.Last:
		return strconv.Itoa(int(p.First))
	default:
		return strconv.Itoa(int(p.First)) + "-" + strconv.Itoa(int(p.Last))
	}
}

func (p PortRange) contains(port uint16) bool { return p.First <= port && port <= p.Last }

// parsePortRange reads a port or a range, decimal, without sign, space or leading
// zero.
func parsePortRange(text string) (PortRange, *fault) {
	first, last, ranged := strings.Cut(text, "-")
	a, f := parsePort(text, first)
	if f != nil || !ranged {
		return PortRange{a, a}, f
	}
	b, f := parsePort(text, last)
	switch {
	case f != nil:
		return PortRange{}, f
	case a > b:
		return PortRange{}, badPort("the range runs backwards", write(last+"-"+first))
	}
	return PortRange{a, b}, nil
}

func parsePort(text, digits string) (uint16, *fault) {
	n, err := strconv.ParseUint(digits, 10, 16)
	if err == nil && n > 0 && strconv.FormatUint(n, 10) == digits {
		return uint16(n), nil
	}
	switch trimmed := strings.TrimSpace(text); {
	case text == "":
		return 0, badPort("it is empty", `write "443"`)
	case digits == "":
		return 0, badPort("the range has only one end", `write both ends, such as "8000-8099"`)
	case trimmed != text:
		return 0, badPort("white space stands around it", meantPort(trimmed))
	case strings.Trim(digits, "0123456789") == "" && digits[0] == '0' && strings.Trim(digits, "0") != "":
		return 0, badPort(charAt(text, strings.Index(text, digits))+" is a leading zero", meantPort(withoutZeros(text)))
	case strings.Trim(digits, "0123456789") == "":
		return 0, badPort(digits+" is not from 1 to 65535", "")
	}
	for name, port := range map[string]string{"http": "80", "https": "443", "ssh": "22", "any": "*", "all": "*"} {
		if strings.EqualFold(digits, name) {
			return 0, badPort("it is a word", write(port))
		}
	}
	bad := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '-' })
	if bad < 0 {
		bad = strings.LastIndexByte(text, '-')
	}
	return 0, badPort(charAt(text, bad)+" is not a digit", "")
}

func withoutZeros(text string) string {
	parts := strings.Split(text, "-")
	for i := range parts {
		parts[i] = strings.TrimLeft(parts[i], "0")
	}
	return strings.Join(parts, "-")
}

// meantPort is the remedy that writes another port, or nothing when that is not
// one either. What it is given is never refused for the same reason again.
func meantPort(text string) string {
	if _, f := parsePortRange(text); f != nil {
		return ""
	}
	return write(text)
}

func badPort(why, remedy string) *fault {
	if remedy == "" {
		remedy = `write one number from 1 to 65535, such as "443"`
	}
	return &fault{code: sandbox.CodeEgressPortInvalid, why: why, remedy: remedy}
}

// mergePorts sorts ranges and joins those that overlap or touch. It may reuse
// the memory of its argument.
func mergePorts(ranges []PortRange) []PortRange {
	slices.SortFunc(ranges, comparePorts)
	merged := ranges[:0]
	for _, r := range ranges {
		if n := len(merged); n > 0 && int(r.First) <= int(merged[n-1].Last)+1 {
			merged[n-1].Last = max(merged[n-1].Last, r.Last)
			continue
		}
		merged = append(merged, r)
	}
	return slices.Clip(merged)
}

func comparePorts(a, b PortRange) int {
	return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last))
}

// portsContain reports whether one of the merged ranges has the port.
func portsContain(ranges []PortRange, port uint16) bool {
	i, _ := slices.BinarySearchFunc(ranges, port, func(r PortRange, port uint16) int { return cmp.Compare(r.Last, port) })
	return i < len(ranges) && ranges[i].contains(port)
}
