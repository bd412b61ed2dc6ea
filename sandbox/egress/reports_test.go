package egress

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Defects that other projects reported of lists like these, each as a test of its
// whole kind.

func refused(t *testing.T, remedy string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		_, findings := ParseShort(text, sandbox.Path("egress_hosts", 1))
		if len(findings) != 1 || findings[0].Path.String() != "egress_hosts[1]" || !strings.Contains(findings[0].Remedy, remedy) {
			t.Errorf("%q: %+v, want a remedy with %q", text, findings, remedy)
		}
	}
}

func TestGlobsInsideALabelAreAcceptedNowhere(t *testing.T) {
	t.Parallel()
	refused(t, `write "*.example.com"`, "*-api.example.com", "api-*.example.com", "a*b.example.com")
	hosts(t, "*.example.com")
}

func TestBareStarsAreRefusedAndTopLevelWildcardsWork(t *testing.T) {
	t.Parallel()
	refused(t, "unrestricted", "*", "**", "*.", "*.*", "**.")
	// "*.com" is accepted: it has the effect that it says, in every place, since
	// there is one matcher.
	if _, ok := hosts(t, "*.com").Match(on443("api.example.com")); !ok {
		t.Error("*.com is accepted and has no effect")
	}
}

func TestApexAndSubdomainAreDifferentHosts(t *testing.T) {
	t.Parallel()
	apex, below := hosts(t, "example.com"), hosts(t, "*.example.com")
	if _, ok := apex.Match(on443("deb.example.com")); ok {
		t.Error("the apex covers a subdomain")
	}
	if _, ok := below.Match(on443("example.com")); ok {
		t.Error("the wildcard covers its apex")
	}
	if hint := apex.Hint(on443("deb.example.com")); !strings.Contains(hint, `add "*.example.com"`) {
		t.Error(hint)
	}
	if hint := below.Hint(on443("example.com")); !strings.Contains(hint, `add "example.com"`) {
		t.Error(hint)
	}
}

func TestStarCoversAnyNumberOfLabels(t *testing.T) {
	t.Parallel()
	s := hosts(t, "*.example.com")
	for name := "a.example.com"; len(name) <= maxName; name = "a." + name {
		if _, ok := s.Match(on443(name)); !ok {
			t.Errorf("%s is not covered", name)
		}
	}
}

func TestStarsInOddPlaces(t *testing.T) {
	t.Parallel()
	refused(t, "", "ex*ample.com", "*.*.example.com", "a..example.com", "-a.example.com", "a-.example.com", "example.*", strings.Repeat("a", 64)+".com")
	hosts(t, strings.Repeat("a", 63)+".com")
}

func TestSeparatorsOfOtherSyntaxes(t *testing.T) {
	t.Parallel()
	refused(t, "", "good.example.com,allow@any", "https://example.com/", "user@example.com", "a#b", "a?b", "a/b", "a b", "a;b", "a|b", "a'b", `a"b`, "a$b", "a`b", "a=b", "a&b", "a!b", "a(b)", "{a}", "<a>", "a\nb")
}

func TestHostAloneIsPort443(t *testing.T) {
	t.Parallel()
	s := hosts(t, "example.com")
	for _, port := range []uint16{0, 1, 22, 80, 442, 444, 8443, 9999, 65535} {
		if _, ok := s.Match(Request{Host: "example.com", Port: port}); ok {
			t.Errorf("port %d is open", port)
		}
	}
	refused(t, `write "example.com"; in a rule of egress_rules put 9999 into its ports`, "example.com:9999")
	s = mustSet(t, rule("example.com", "9999", "*", "*"))
	if _, ok := s.Match(Request{Host: "example.com", Port: 9999}); !ok {
		t.Error("the stated port is shut")
	}
	if _, ok := s.Match(on443("example.com")); ok {
		t.Error("443 is open beside the stated port")
	}
}

func TestBothSidesAreNormalisedAlike(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"*.Example.COM", "API.example.com."},
		{"files.example.com.", "files.example.com"},
		{"files.example.com", "FILES.example.com."},
		{"bücher.example", "xn--bcher-kva.example"},
		{"xn--bcher-kva.example", "BÜCHER.example"},
	} {
		name, addr, err := ParseRequestHost(pair[1])
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := hosts(t, pair[0]).Match(Request{Host: name, Addr: addr, Port: 443}); !ok {
			t.Errorf("%s does not admit %s", pair[0], pair[1])
		}
	}
	if _, _, err := ParseRequestHost("example.com.."); err == nil {
		t.Error("two dots are dropped")
	}
}

func TestTwoSpellingsOfOneHostAreOneRule(t *testing.T) {
	t.Parallel()
	if !hosts(t, "bücher.example", "xn--bcher-kva.example").Equal(hosts(t, "BÜCHER.example.")) {
		t.Error("they differ")
	}
	a, _ := ParseShort("bücher.example", nil)
	b, _ := ParseShort("xn--bcher-kva.example", nil)
	if !a.Equal(b) {
		t.Error("a caller cannot see that they are one")
	}
}

func TestInvisibleCharactersAreRefusedOnBothSides(t *testing.T) {
	t.Parallel()
	s := hosts(t, "example.com", "*.com")
	for r := range rune(0x3100) {
		text := "exa" + string(r) + "mple.com"
		h, fault := parseHost(text)
		if r < 0x80 {
			continue // refused one by one elsewhere, or part of a name
		}
		if fault == nil && (h.String() == "example.com" || !hasACE(h.Name())) {
			t.Errorf("%U is read as %s", r, h)
		}
		if _, ok := s.Match(on443(text)); ok {
			t.Errorf("%U matches unparsed", r)
		}
	}
}

func TestCompatibilityFormsNeverBecomeASCII(t *testing.T) {
	t.Parallel()
	for r := rune(0x80); r <= 0x1ffff; r++ {
		h, fault := parseHost(string(r) + ".example")
		if fault == nil && !hasACE(h.Name()) {
			t.Errorf("%U is read as %s", r, h)
		}
	}
	refused(t, `write "example.com"`, "ｅxample.com", "example。com", "example．com", "example｡com")
}

func TestRulesThatNeverTakeEffectAreTold(t *testing.T) {
	t.Parallel()
	// They parse, since a list of what must never be reached names them too.
	for _, text := range []string{"169.254.169.254", "127.0.0.1", "::1", "0.0.0.0", "localhost"} {
		h, err := ParseHost(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, blocked := h.AlwaysBlocked(); !blocked {
			t.Errorf("%s is not told", text)
		}
	}
	refused(t, `write "::1"`, "[::1]")
	// "0.0.0.0/0" takes effect for all that is not blocked.
	if h, _ := ParseHost("0.0.0.0/0"); h.Prefix() != netip.MustParsePrefix("0.0.0.0/0") {
		t.Error("every address is not every address")
	}
}

func TestOneFamilyIsNotTheOther(t *testing.T) {
	t.Parallel()
	if _, ok := hosts(t, "0.0.0.0/0").Match(Request{Addr: netip.MustParseAddr("2001:db8::1"), Port: 443}); ok {
		t.Error("an IPv4 list opens IPv6")
	}
}
