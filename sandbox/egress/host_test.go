package egress

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestHostHasOneNormalForm(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 63)
	longest := long + "." + long + "." + long + "." + long[:61]
	for _, c := range []struct{ name, text, want string }{
		{"name", "api.example.com", "api.example.com"},
		{"upper case", "API.Example.COM", "api.example.com"},
		{"trailing dot", "example.com.", "example.com"},
		{"one label", "intranet", "intranet"},
		{"localhost", "LocalHost", "localhost"},
		{"digits in front", "9.9.9.9.in-addr.arpa", "9.9.9.9.in-addr.arpa"},
		{"nearly hexadecimal", "a.0xg", "a.0xg"},
		{"nearly a number", "a.1e5", "a.1e5"},
		{"two hyphens early", "a--b.example", "a--b.example"},
		{"longest label", long + ".example", long + ".example"},
		{"longest name", longest, longest},
		{"wildcard", "*.Example.com.", "*.example.com"},
		{"wildcard below one label", "*.com", "*.com"},
		{"longest wildcard", "*." + longest[2:], "*." + longest[2:]},
		{"U-label", "bücher.example", "xn--bcher-kva.example"},
		{"U-label in upper case", "BÜCHER.example", "xn--bcher-kva.example"},
		{"U-label, decomposed", "bu\u0308cher.example", "xn--bcher-kva.example"},
		{"A-label", "XN--Bcher-KVA.example", "xn--bcher-kva.example"},
		{"wildcard below a U-label", "*.bücher.example", "*.xn--bcher-kva.example"},
		{"sharp s is itself", "straße.example", "xn--strae-oqa.example"},
		{"final sigma is itself", "ς.example", "xn--3xa.example"},
		{"right to left", "נעם.example", "xn--iebfg.example"},
		{"joiner where a script needs it", "क्\u200dष.example", "xn--11b2ezcw70k.example"},
		{"IPv4", "192.0.2.1", "192.0.2.1"},
		{"IPv4 range", "10.0.0.0/8", "10.0.0.0/8"},
		{"every IPv4 address", "0.0.0.0/0", "0.0.0.0/0"},
		{"range of one address", "192.0.2.1/32", "192.0.2.1"},
		{"IPv6", "2001:DB8:0:0::1", "2001:db8::1"},
		{"IPv6 written out", "2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"},
		{"IPv6 range", "2001:db8::/32", "2001:db8::/32"},
		{"IPv6 range of one address", "::1/128", "::1"},
		{"every IPv6 address", "::/0", "::/0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, err := ParseHost(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if h.String() != c.want {
				t.Fatalf("got %q, want %q", h, c.want)
			}
			if again, err := ParseHost(c.want); err != nil || again != h {
				t.Fatalf("the normal form parses to %q, %v", again, err)
			}
		})
	}
}

// refusals lists what is not a host, with what the refusal must say and a text
// one step away that is accepted.
var refusals = []struct {
	name, text string
	code       sandbox.Code
	why        string // part of Found
	remedy     string // part of Remedy
	neighbour  string
}{
	{"nothing", "", sandbox.CodeEgressHostInvalid, "empty", "api.example.com", "a"},
	{"scheme", "https://example.com", sandbox.CodeEgressHostInvalid, `":" at character 6 ends a scheme`, `write "example.com"`, "example.com"},
	{"URL", "https://u:p@example.com:8443/v1/x?q#f", sandbox.CodeEgressHostInvalid, `":" at character 6`, `write "example.com"; in a rule of egress_rules put 8443 into its ports, and "/v1/x" into its paths`, "example.com"},
	{"scheme without a colon", "//example.com", sandbox.CodeEgressHostInvalid, `"/" at character 1`, `write "example.com"`, "example.com"},
	{"user", "user@example.com", sandbox.CodeEgressHostInvalid, `"@" at character 5`, `write "example.com"`, "example.com"},
	{"port", "example.com:443", sandbox.CodeEgressHostInvalid, `":" at character 12`, `write "example.com"; in a rule of egress_rules put 443 into its ports`, "example.com"},
	{"port of an address", "192.0.2.1:443", sandbox.CodeEgressHostInvalid, `":" at character 10`, `write "192.0.2.1"; in a rule of egress_rules put 443 into its ports`, "192.0.2.1"},
	{"port left out", "example.com:", sandbox.CodeEgressHostInvalid, `":" at character 12`, `write "example.com"`, "example.com"},
	{"path", "example.com/v1", sandbox.CodeEgressHostInvalid, `"/" at character 12`, `write "example.com"; in a rule of egress_rules put "/v1" into its paths`, "example.com"},
	{"query", "example.com?x", sandbox.CodeEgressHostInvalid, `"?" at character 12`, `write "example.com"`, "example.com"},
	{"fragment", "example.com#x", sandbox.CodeEgressHostInvalid, `"#" at character 12`, `write "example.com"`, "example.com"},
	{"backslash", `example.com\evil.example`, sandbox.CodeEgressHostInvalid, `"\\" at character 12`, `write "example.com"`, "example.com"},
	{"list with commas", "a.example,b.example", sandbox.CodeEgressHostInvalid, `"," at character 10`, `"a.example", "b.example"`, "a.example"},
	{"list with spaces", "a.example b.example", sandbox.CodeEgressHostInvalid, `" " at character 10`, `"a.example", "b.example"`, "a.example"},
	{"long list", "a.example;b.example;c.example;d.example;e.example", sandbox.CodeEgressHostInvalid, `";" at character 10`, `"c.example", …`, "a.example"},
	{"separator of another syntax", "good.example.com,allow@any", sandbox.CodeEgressHostInvalid, `"," at character 17`, "name one host", "good.example.com"},
	{"escape", "%61.example", sandbox.CodeEgressHostInvalid, `"%" at character 1`, "name one host", "a.example"},
	{"underscore", "a_b.example", sandbox.CodeEgressHostInvalid, `"_" at character 2`, "name one host", "a-b.example"},
	{"apostrophe", "a'b.example", sandbox.CodeEgressHostInvalid, `"'" at character 2`, "name one host", "ab.example"},

	{"leading space", " example.com", sandbox.CodeEgressHostInvalid, `" " at character 1 is white space`, `write "example.com"`, "example.com"},
	{"trailing newline", "example.com\n", sandbox.CodeEgressHostInvalid, `"\n" at character 12 is white space`, `write "example.com"`, "example.com"},
	{"no-break space", "example.com\u00a0", sandbox.CodeEgressHostInvalid, `(U+00A0) at character 12 is white space`, `write "example.com"`, "example.com"},
	{"NUL", "exa\x00mple.com", sandbox.CodeEgressHostInvalid, `"\x00" at character 4 is a control character`, `write "example.com"`, "example.com"},
	{"C1 control", "exa\u009fmple.com", sandbox.CodeEgressHostInvalid, `(U+009F) at character 4 is a control character`, `write "example.com"`, "example.com"},
	{"zero width space", "example.com\u200b", sandbox.CodeEgressHostInvalid, `(U+200B) at character 12 cannot be seen`, `write "example.com"`, "example.com"},
	{"byte order mark", "\ufeffexample.com", sandbox.CodeEgressHostInvalid, `(U+FEFF) at character 1 cannot be seen`, `write "example.com"`, "example.com"},
	{"soft hyphen", "exam\u00adple.com", sandbox.CodeEgressHostInvalid, `(U+00AD) at character 5 cannot be seen`, `write "example.com"`, "example.com"},
	{"variation selector", "a\ufe0f.example", sandbox.CodeEgressHostInvalid, `(U+FE0F) at character 2 cannot be seen`, `write "a.example"`, "a.example"},
	{"direction override", "a\u202eb.example", sandbox.CodeEgressHostInvalid, `(U+202E) at character 2 cannot be seen`, `write "ab.example"`, "ab.example"},
	{"not UTF-8", "a\xff.example", sandbox.CodeEgressHostInvalid, "byte 0xFF at character 2", `write "a.example"`, "a.example"},

	{"full width letter", "ｅxample.com", sandbox.CodeEgressHostInvalid, `(U+FF45) at character 1 looks like "e"`, `write "example.com"`, "example.com"},
	{"Kelvin sign", "\u212aelvin.example", sandbox.CodeEgressHostInvalid, `(U+212A) at character 1 looks like "k"`, `write "kelvin.example"`, "kelvin.example"},
	{"long s", "\u017f.example", sandbox.CodeEgressHostInvalid, `looks like "s"`, `write "s.example"`, "s.example"},
	{"dotted capital I", "\u0130.example", sandbox.CodeEgressHostInvalid, `(U+0130) at character 1 looks like`, "", "i.example"},
	{"ligature", "ﬁle.example", sandbox.CodeEgressHostInvalid, `looks like "fi"`, `write "file.example"`, "file.example"},
	{"ideographic full stop", "example。com", sandbox.CodeEgressHostInvalid, `(U+3002) at character 8 looks like "."`, `write "example.com"`, "example.com"},
	{"full width digits", "１２７.0.0.1", sandbox.CodeEgressHostInvalid, `(U+FF11) at character 1 looks like "1"`, `write "127.0.0.1"`, "127.0.0.1"},
	{"full width dots in an address", "127．0．0．1", sandbox.CodeEgressHostInvalid, `(U+FF0E) at character 4 looks like "."`, `write "127.0.0.1"`, "127.0.0.1"},
	{"circled digit", "①.1.1.1", sandbox.CodeEgressHostInvalid, `looks like "1"`, `write "1.1.1.1"`, "1.1.1.1"},
	{"emoji that IDNA does not know", "a\U0001FAEA\u2028.example", sandbox.CodeEgressHostInvalid, "at character", "", "a.example"},

	{"empty label", "a..example", sandbox.CodeEgressHostInvalid, `"." at character 3 has no label before it`, `write "a.example"`, "a.example"},
	{"two trailing dots", "example..", sandbox.CodeEgressHostInvalid, `"." at character 8`, `write "example"`, "example."},
	{"leading dot", ".example.com", sandbox.CodeEgressHostInvalid, `"." at character 1`, `write "example.com", or write "*.example.com"`, "*.example.com"},
	{"only a dot", ".", sandbox.CodeEgressHostInvalid, "no name", "name one host", "a."},
	{"hyphen in front", "-a.example", sandbox.CodeEgressHostInvalid, `"-" at character 1 begins a label`, `write "a.example"`, "a-a.example"},
	{"hyphen in front, later label", "a.-b.example", sandbox.CodeEgressHostInvalid, `"-" at character 3 begins a label`, "name one host", "a.b-b.example"},
	{"hyphen at the end", "a-.example", sandbox.CodeEgressHostInvalid, `"-" at character 2 ends a label`, "name one host", "a-a.example"},
	{"reserved hyphens", "ab--c.example", sandbox.CodeEgressHostInvalid, `"-" at character 3`, "", "a--b.example"},
	{"label of 64", strings.Repeat("a", 64) + ".example", sandbox.CodeEgressHostInvalid, "64 octets", "", strings.Repeat("a", 63) + ".example"},
	{"name of 254", strings.Repeat("a.", 126) + "aa", sandbox.CodeEgressHostInvalid, "254 octets", "", strings.Repeat("a.", 126) + "a"},
	{"wildcard with no room", "*." + strings.Repeat("a.", 125) + "aa", sandbox.CodeEgressHostInvalid, "nothing fits below it", "", "*." + strings.Repeat("a.", 125) + "a"},
	{"label too long as an A-label", strings.Repeat("ü", 60) + ".example", sandbox.CodeEgressHostInvalid, "is not a label under IDNA", "", strings.Repeat("ü", 20) + ".example"},
	{"A-label that decodes to nothing", "xn--.example", sandbox.CodeEgressHostInvalid, "starts like an A-label", "", "xn.example"},
	{"A-label of ASCII", "xn--abc-.example", sandbox.CodeEgressHostInvalid, "starts like an A-label", "", "abc.example"},
	{"A-label of a full width letter", "xn--x-6q0i.example", sandbox.CodeEgressHostInvalid, "starts like an A-label", "", "xn--bcher-kva.example"},
	{"A-label of a long s", "xn--kha.example", sandbox.CodeEgressHostInvalid, "starts like an A-label", "", "xn--zca.example"},
	{"joiner without its script", "a\u200db.example", sandbox.CodeEgressHostInvalid, "is not a label under IDNA", "", "ab.example"},
	{"mixed directions", "נa.example", sandbox.CodeEgressHostInvalid, "is not a label under IDNA", "", "נ.example"},
	{"mixed directions once a symbol is mapped", "\u2136m.example", sandbox.CodeEgressHostInvalid, "is not a label under IDNA", "", "\u2136.example"},
	{"more than any name", strings.Repeat("a", maxHostText+1), sandbox.CodeEgressHostInvalid, "longer than any host name", "", "a"},

	{"star alone", "*", sandbox.CodeEgressHostInvalid, "every host", "unrestricted", "*.example.com"},
	{"two stars alone", "**", sandbox.CodeEgressHostInvalid, "every host", "unrestricted", "*.example.com"},
	{"star and dot", "*.", sandbox.CodeEgressHostInvalid, "every host", "unrestricted", "*.example.com"},
	{"star without a dot", "*example.com", sandbox.CodeEgressHostInvalid, `"e" at character 2 stands where the dot`, `write "*.example.com"`, "*.example.com"},
	{"double star", "**.example.com", sandbox.CodeEgressHostInvalid, `"*" at character 2`, `write "*.example.com"`, "*.example.com"},
	{"two stars", "*.*.example.com", sandbox.CodeEgressHostInvalid, `"*" at character 3 is a second star`, `write "*.example.com"`, "*.example.com"},
	{"star at the end of a label", "api*.example.com", sandbox.CodeEgressHostInvalid, `"*" at character 4 is not the first label`, `write "*.example.com" for every name below`, "*.example.com"},
	{"star at the front of a label", "*-api.example.com", sandbox.CodeEgressHostInvalid, `"-" at character 2 stands where the dot`, `write "*.example.com" for every name below`, "*.example.com"},
	{"star inside a label", "ex*ample.com", sandbox.CodeEgressHostInvalid, `"*" at character 3`, "name each host", "*.ample.com"},
	{"star as a later label", "example.*.com", sandbox.CodeEgressHostInvalid, `"*" at character 9`, "name each host", "*.com"},
	{"star as the top level", "example.*", sandbox.CodeEgressHostInvalid, `"*" at character 9`, "name each host", "*.example"},
	{"wildcard below a number", "*.1", sandbox.CodeEgressHostInvalid, "is a number", "", "*.a1"},
	{"wildcard below an address", "*.10.0.0.5", sandbox.CodeEgressHostInvalid, "is a number", "address range", "10.0.0.0/29"},

	{"octal", "0177.0.0.1", sandbox.CodeEgressAddressInvalid, `"0" at character 1 makes the number octal`, `write "177.0.0.1", or write "127.0.0.1" if the zeros mean octal`, "127.0.0.1"},
	{"leading zero", "10.0.0.01", sandbox.CodeEgressAddressInvalid, `"0" at character 8`, `write "10.0.0.1"`, "10.0.0.1"},
	{"hexadecimal", "0x7f.0.0.1", sandbox.CodeEgressAddressInvalid, `"0" at character 1 makes the number hexadecimal`, `write "127.0.0.1"`, "127.0.0.1"},
	{"hexadecimal, whole", "0x7F000001", sandbox.CodeEgressAddressInvalid, "hexadecimal", `write "127.0.0.1"`, "127.0.0.1"},
	{"bare 0x", "0x", sandbox.CodeEgressAddressInvalid, "hexadecimal", `write "0.0.0.0"`, "0x.a"},
	{"short", "127.1", sandbox.CodeEgressAddressInvalid, "2 numbers", `write "127.0.0.1"`, "127.0.0.1"},
	{"integer", "2130706433", sandbox.CodeEgressAddressInvalid, "1 number", `write "127.0.0.1"`, "127.0.0.1"},
	{"integer too large", "4294967296", sandbox.CodeEgressAddressInvalid, "1 number", "four decimal numbers", "255.255.255.255"},
	{"number over 255", "256.0.0.1", sandbox.CodeEgressAddressInvalid, "over 255", "four decimal numbers", "255.0.0.1"},
	{"five numbers", "1.2.3.4.5", sandbox.CodeEgressAddressInvalid, "5 numbers", "four decimal numbers", "1.2.3.4"},
	{"address with a trailing dot", "192.0.2.1.", sandbox.CodeEgressAddressInvalid, `"." at character 10`, `write "192.0.2.1"`, "192.0.2.1"},
	{"empty number", "1..2.3", sandbox.CodeEgressAddressInvalid, `"." at character 3`, "", "1.2.3.4"},
	{"name that ends in a number", "example.1", sandbox.CodeEgressAddressInvalid, `"example" is none`, "", "example.a1"},
	{"name that ends in hexadecimal", "a.0X1F", sandbox.CodeEgressAddressInvalid, `"a" is none`, "", "a.0X1Fg"},
	{"IPv4 in IPv6", "::ffff:10.0.0.1", sandbox.CodeEgressAddressInvalid, "IPv4 address in an IPv6 spelling", `write "10.0.0.1"`, "10.0.0.1"},
	{"IPv4 in IPv6, hexadecimal", "::FFFF:0A00:0001", sandbox.CodeEgressAddressInvalid, "IPv4 address in an IPv6 spelling", `write "10.0.0.1"`, "::fffe:a00:1"},
	{"IPv4 range in IPv6", "::ffff:10.0.0.0/104", sandbox.CodeEgressAddressInvalid, "IPv4 address in an IPv6 spelling", `write "10.0.0.0/8"`, "10.0.0.0/8"},
	{"zone", "fe80::1%eth0", sandbox.CodeEgressAddressInvalid, `"%" at character 8 starts a zone`, `write "fe80::1"`, "fe80::1"},
	{"brackets", "[2001:db8::1]", sandbox.CodeEgressHostInvalid, `"[" at character 1`, `write "2001:db8::1"`, "2001:db8::1"},
	{"brackets and port", "[2001:db8::1]:443", sandbox.CodeEgressHostInvalid, `"[" at character 1`, `write "2001:db8::1"; in a rule of egress_rules put 443 into its ports`, "2001:db8::1"},
	{"IPv6 with a group too many", "1:2:3:4:5:6:7:8:9", sandbox.CodeEgressAddressInvalid, "not an IPv6 address", "", "1:2:3:4:5:6:7:8"},
	{"host bits", "10.0.0.5/8", sandbox.CodeEgressAddressInvalid, "bits are set behind the first 8", `write "10.0.0.5" for the one address, or write "10.0.0.0/8" for the range`, "10.0.0.0/8"},
	{"host bits of IPv6", "2001:db8::1/32", sandbox.CodeEgressAddressInvalid, "bits are set", `write "2001:db8::/32"`, "2001:db8::/32"},
	{"everything by accident", "10.0.0.0/0", sandbox.CodeEgressAddressInvalid, "bits are set behind the first 0", `a range of 0 bits is every address`, "0.0.0.0/0"},
	{"bits over 32", "10.0.0.0/33", sandbox.CodeEgressAddressInvalid, `"33"`, "", "10.0.0.0/32"},
	{"bits with a zero", "10.0.0.0/08", sandbox.CodeEgressAddressInvalid, `"08"`, "", "10.0.0.0/8"},
	{"bits with a sign", "10.0.0.0/+8", sandbox.CodeEgressAddressInvalid, `"+8"`, "", "10.0.0.0/8"},
	{"net mask", "10.0.0.0/255.0.0.0", sandbox.CodeEgressAddressInvalid, `"255.0.0.0"`, "", "10.0.0.0/8"},
	{"no bits", "10.0.0.0/", sandbox.CodeEgressAddressInvalid, `""`, "", "10.0.0.0"},
	{"range of a name", "example.com/24", sandbox.CodeEgressHostInvalid, `"/" at character 12`, "", "192.0.2.0/24"},
}

func TestWhatIsNotOneHostIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, err := ParseHost(c.text)
			if err == nil {
				t.Fatalf("accepted as %q", h)
			}
			checkRefusal(t, c.text, err, func(s string) error { _, err := ParseHost(s); return err })
			r := sandbox.RefusalOf(err)
			if !errors.Is(err, c.code) || !strings.Contains(r.Found, c.why) || !strings.Contains(r.Remedy, c.remedy) {
				t.Errorf("want %s … %s … %s\n got %v", c.code, c.why, c.remedy, err)
			}
			if _, err := ParseHost(c.neighbour); err != nil {
				t.Errorf("the neighbour %q is refused: %v", c.neighbour, err)
			}
			if rule, findings := ParseShort(c.text, sandbox.Path("egress_hosts", 2)); len(findings) != 1 || findings[0].Path.String() != "egress_hosts[2]" || findings[0].Verdict != sandbox.Deny {
				t.Errorf("short form gives %v, %+v", rule, findings)
			}
		})
	}
}

func TestRequestHostIsOneDestination(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, name, addr string }{
		{"API.example.com.", "api.example.com", ""},
		{"bücher.example", "xn--bcher-kva.example", ""},
		{"192.0.2.1", "", "192.0.2.1"},
		{"2001:DB8::1", "", "2001:db8::1"},
		{"[2001:db8::1]", "", "2001:db8::1"},
	} {
		name, addr, err := ParseRequestHost(c.text)
		if err != nil || name != c.name || addr.IsValid() != (c.addr != "") || addr.IsValid() && addr.String() != c.addr {
			t.Errorf("%q: %q %s %v", c.text, name, addr, err)
		}
	}
	for _, text := range []string{"", "*.example.com", "10.0.0.0/8", "[example.com]", "[192.0.2.1]", "[::1", "[::1]:443", "[fe80::1%25eth0]", "[::ffff:10.0.0.1]", "[[::1]]", "0x7f.1", "example.com..", "a b"} {
		name, addr, err := ParseRequestHost(text)
		if err == nil || name != "" || addr.IsValid() {
			t.Errorf("%q is accepted as %q %s", text, name, addr)
			continue
		}
		checkRefusal(t, text, err, func(s string) error { _, err := ParseHost(s); return err })
	}
}

func TestHostsThatCoverTheSameAreEqual(t *testing.T) {
	t.Parallel()
	hosts := map[Host]string{}
	for _, pair := range [][2]string{
		{"Example.com.", "example.com"},
		{"bücher.example", "xn--bcher-kva.example"},
		{"192.0.2.1/32", "192.0.2.1"},
		{"2001:db8:0::", "2001:db8::/128"},
	} {
		a, errA := ParseHost(pair[0])
		b, errB := ParseHost(pair[1])
		if errA != nil || errB != nil || a != b {
			t.Errorf("%q and %q: %q %q %v %v", pair[0], pair[1], a, b, errA, errB)
		}
		hosts[a] = pair[0]
	}
	const kinds = 4
	if len(hosts) != kinds {
		t.Errorf("different hosts are equal: %v", hosts)
	}
	if zero := (Host{}); zero.String() != "" || zero.IsAddress() || zero.IsWildcard() {
		t.Error("the zero host is something")
	}
}

func TestAlwaysBlockedSaysWhichRulesNeverTakeEffect(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.0/8": true, "126.0.0.0/7": false, "128.0.0.1": false,
		"169.254.169.254": true, "169.254.0.0/16": true, "169.252.0.0/14": false, "169.253.0.1": false,
		"0.0.0.0": true, "0.0.0.0/0": false, "255.255.255.255": true, "224.0.0.1": true, "223.255.255.255": false,
		"100.100.100.200": true, "100.100.100.201": false, "168.63.129.16": true,
		"::1": true, "::": true, "::2": true, "1::2": false, "::/0": false, "fe80::1": true, "fec0::1": false, "ff02::1": true,
		"fd00:ec2::254": true, "fd00:ec2::253": true, "fd00:ec2::252": false,
		"64:ff9b::7f00:1": true, "64:ff9b::808:808": false, "2002:a9fe:a9fe::1": true, "2002:808:808::1": false, "2002::/16": false,
		"10.0.0.0/8": false, "192.168.1.1": false, "fd00::1": false,
		"localhost": true, "*.localhost": true, "a.localhost": true, "notlocalhost": false, "localhost.example": false,
		"invalid": true, "observed.invalid": true, "*.invalid": true, "notinvalid": false, "observed.invalid.example": false, "*.notinvalid": false,
		"a.onion": true, "onion.example": false, "b.a.alt": true, "alt.example": false,
		"db.internal": false, "printer.local": false, "nas.home.arpa": false, "a.test": false, "a.example": false,
	} {
		h, err := ParseHost(text)
		if err != nil {
			t.Fatal(err)
		}
		if why, got := h.AlwaysBlocked(); got != want || got != (why != "") {
			t.Errorf("%s: blocked %v (%s)", text, got, why)
		}
	}
	for text, want := range map[string]bool{"::ffff:127.0.0.1": true, "::ffff:8.8.8.8": false, "fe80::1%eth0": true, "192.0.2.1": false} {
		if why, got := BlockedAddress(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: blocked %v (%s)", text, got, why)
		}
	}
	if _, blocked := BlockedAddress(netip.Addr{}); !blocked {
		t.Error("no address at all is dialled")
	}
}

func TestAnAddressIsKnownThatAnotherCarries(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"64:ff9b::b09:909": "11.9.9.9", "2002:b09:909::1": "11.9.9.9", "::ffff:11.9.9.9": "11.9.9.9",
		"64:ff9b:2::b09:909": "", "2003:b09:909::1": "", "11.9.9.9": "",
	} {
		if got, ok := CarriedAddress(netip.MustParseAddr(text)); ok != (want != "") || ok && got.String() != want {
			t.Errorf("%s carries %s, %t", text, got, ok)
		}
	}
	if _, ok := CarriedAddress(netip.Addr{}); ok {
		t.Error("no address carries one")
	}
}
