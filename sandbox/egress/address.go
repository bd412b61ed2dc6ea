package egress

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func badAddress(why, remedy string) *fault {
	return &fault{code: sandbox.CodeEgressAddressInvalid, why: why, remedy: remedy}
}

// looksLikeAddress reports whether a text is judged as an address: it has two
// colons and only what IPv6 addresses have, or its last label is a number.
func looksLikeAddress(text string) bool {
	bare, _, _ := strings.Cut(text, "/")
	if strings.Count(bare, ":") >= 2 {
		bare, _, _ = strings.Cut(bare, "%")
		return strings.Trim(bare, "0123456789abcdefABCDEF:.") == ""
	}
	if strings.ContainsFunc(bare, func(r rune) bool {
		return !('a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || r == '.' || r == '-')
	}) {
		return false
	}
	bare = strings.TrimRight(bare, ".")
	return isNumeric(bare[strings.LastIndexByte(bare, '.')+1:])
}

// parseAddress parses an address or a range into a host. What it is given looks
// like one.
func parseAddress(text string) (Host, *fault) {
	bare, bits, ranged := strings.Cut(text, "/")
	if i := strings.IndexByte(bare, '%'); i >= 0 {
		return Host{}, badAddress(charAt(text, i)+" starts a zone, which means something on one machine only", meantAddress(bare[:i], ""))
	}
	addr, err := netip.ParseAddr(bare)
	switch {
	case err != nil && strings.Contains(bare, ":"):
		return Host{}, badAddress("it is not an IPv6 address", "")
	case err != nil:
		return Host{}, badIPv4(text, bare)
	case addr.Is4In6():
		return Host{}, badMapped(addr, bits)
	case !ranged:
		return Host{kind: hostAddress, prefix: netip.PrefixFrom(addr, addr.BitLen())}, nil
	}
	n, f := parseBits(bits, addr)
	if f != nil {
		return Host{}, f
	}
	p := netip.PrefixFrom(addr, n)
	if masked := p.Masked(); masked != p {
		remedy := write(addr.String()) + " for the one address, or " + write(masked.String()) + " for the range"
		if n == 0 {
			remedy = write(addr.String()) + "; a range of 0 bits is every address, and is written " + sandbox.Echo(masked.String())
		}
		return Host{}, badAddress("bits are set behind the first "+itoa(n), remedy)
	}
	return Host{kind: hostAddress, prefix: p}, nil
}

// parseBits reads the length of a prefix: decimal, no sign, no leading zero.
func parseBits(bits string, addr netip.Addr) (int, *fault) {
	n, err := strconv.Atoi(bits)
	if err != nil || n < 0 || n > addr.BitLen() || strconv.Itoa(n) != bits {
		return 0, badAddress("what stands after \"/\" is "+sandbox.Echo(bits)+", not a number of bits from 0 to "+itoa(addr.BitLen()),
			"write a range such as "+sandbox.Echo(netip.PrefixFrom(addr, addr.BitLen()-8).Masked().String())+", or put a path into paths")
	}
	return n, nil
}

// badMapped explains ::ffff:a.b.c.d, which one stack takes for the IPv4 address
// and another for an IPv6 one.
func badMapped(addr netip.Addr, bits string) *fault {
	const why = "it is an IPv4 address in an IPv6 spelling, and systems disagree about which of the two it is"
	v4 := addr.Unmap()
	if bits == "" {
		return badAddress(why, write(v4.String()))
	}
	const before = 96
	n, err := strconv.Atoi(bits)
	if err != nil || n < before || n > addr.BitLen() {
		return badAddress(why, "write an IPv4 range, such as "+sandbox.Echo(netip.PrefixFrom(v4, 24).Masked().String()))
	}
	return badAddress(why, write(netip.PrefixFrom(v4, n-before).Masked().String()))
}

// badIPv4 explains a text whose last label is a number and which is not four
// decimal numbers.
func badIPv4(text, bare string) *fault {
	if trimmed := strings.TrimRight(bare, "."); trimmed != bare {
		return badAddress(charAt(text, len(trimmed))+" ends it, and an address has no trailing dot", meantAddress(trimmed, ""))
	}
	labels := strings.Split(bare, ".")
	start := 0
	for _, label := range labels {
		switch {
		case label == "":
			return badAddress(charAt(text, start)+" has no number before it", "")
		case !isNumeric(label):
			return badAddress("its last label is a number, so that it would be read as an address, and "+sandbox.Echo(label)+" is none",
				"write an IP address, or a name that ends in a letter")
		case len(label) > 1 && label[0] == '0':
			other := "octal"
			if label[1]|0x20 == 'x' {
				other = "hexadecimal"
			}
			return badAddress(charAt(text, start)+" makes the number "+other+" to some readers", meantAddress(bare, decimal(labels)))
		}
		start += len(label) + 1
	}
	if len(labels) != 4 {
		return badAddress("it has "+plural(len(labels), "number")+", and an IPv4 address has 4", meantAddress(bare, ""))
	}
	return badAddress("one of its numbers is over 255", meantAddress("", ""))
}

// decimal reads numbers with leading zeros as people do, or gives "".
func decimal(labels []string) string {
	plain := make([]string, len(labels))
	for i, l := range labels {
		plain[i] = strings.TrimLeft(l, "0")
		if plain[i] == "" {
			plain[i] = "0"
		}
	}
	addr, err := netip.ParseAddr(strings.Join(plain, "."))
	if err != nil {
		return ""
	}
	return addr.String()
}

// meantAddress names the addresses that a spelling may stand for: what the C
// library reads, and other where that is another one.
func meantAddress(bare, other string) string {
	read, ok := inetAton(bare)
	if addr, err := netip.ParseAddr(bare); err == nil {
		read, ok = addr.Unmap(), true
	}
	switch {
	case ok && other != "" && other != read.String():
		return write(other) + ", or " + write(read.String()) + " if the zeros mean octal"
	case ok:
		return write(read.String())
	case other != "":
		return write(other)
	default:
		return `write four decimal numbers, such as "192.0.2.1"`
	}
}

// inetAton reads an IPv4 address as the C library does: one to four numbers,
// each decimal, octal or hexadecimal, the last filling what is left. It is only
// used to tell people what they wrote.
func inetAton(text string) (netip.Addr, bool) {
	parts := strings.Split(text, ".")
	const octets = 4
	if len(parts) > octets {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		base, digits := 10, part
		switch {
		case len(part) > 1 && part[0] == '0' && part[1]|0x20 == 'x':
			base, digits = 16, "0"+part[2:]
		case len(part) > 1 && part[0] == '0':
			base = 8
		}
		n, err := strconv.ParseUint(digits, base, 32)
		if err != nil {
			return netip.Addr{}, false
		}
		room := uint(8)
		if i == len(parts)-1 {
			room = uint(8 * (octets - i))
		}
		if n >= 1<<room {
			return netip.Addr{}, false
		}
		value = value<<room | n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return itoa(n) + " " + noun + "s"
}
