package provider

import (
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// declared are the shipped declarations of a backend.
func declared(t *testing.T, name string) sandbox.Declarations {
	t.Helper()
	d, err := facts.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestMeetsFloorFollowsTheLadder(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for i, rung := range sandbox.Isolations() {
		for j, floor := range sandbox.Isolations() {
			want := "false"
			if i >= j {
				want = "true"
			}
			if got := said(t, s.call(t, "meets_floor", rung.String(), floor.String()).must(t).value); got != want {
				t.Errorf("meets_floor(%s, %s) is %s", rung, floor, got)
			}
		}
	}
}

func TestMeetsFloorTakesNullForTheDefaultFloor(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for rung, want := range map[string]string{"hardened_container": "false", "microvm": "true", "vm": "true"} {
		if got := said(t, s.call(t, "meets_floor", rung, nil).must(t).value); got != want {
			t.Errorf("meets_floor(%s, null) is %s", rung, got)
		}
	}
}

func TestMeetsFloorRefusesWordsThatAreNone(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	s.call(t, "meets_floor", "process", "vm").refusedAt(t, 0, "value.unknown_word at rung")
	s.call(t, "meets_floor", "vm", "").refusedAt(t, 1, "value.unknown_word at floor")
	s.call(t, "meets_floor", "VM", "micro-vm").refusedAt(t, 0, "value.unknown_word at rung", "value.unknown_word at floor")
}

func TestStrongestIsTheTopOfWhatIsStated(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for name, c := range map[string]struct {
		rungs []any
		want  string
	}{
		"none":                        {nil, "null"},
		"only nulls":                  {[]any{nil, nil}, "null"},
		"one":                         {[]any{"container"}, "container"},
		"several":                     {[]any{"container", "microvm", "none"}, "microvm"},
		"beside null":                 {[]any{nil, "runtime"}, "runtime"},
		"beside what may be stronger": {[]any{"microvm", notKnown{}}, "unknown"},
		"beside what cannot be":       {[]any{notKnown{}, "vm"}, "vm"},
	} {
		if got := said(t, s.call(t, "strongest", c.rungs...).must(t).value); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	s.call(t, "strongest", "vm", "process", notKnown{}, "").refusedAt(t, 1, "value.unknown_word at rungs[1]", "value.unknown_word at rungs[3]")
}

func TestNormalizeHostHasOneSpelling(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	for host, want := range map[string]string{
		"API.Example.com.": "api.example.com", "*.EXAMPLE.org": "*.example.org", "bücher.example": "xn--bcher-kva.example",
		"10.0.0.0/8": "10.0.0.0/8", "2001:DB8:0:0::1": "2001:db8::1",
	} {
		got := said(t, s.call(t, "normalize_host", host).must(t).value)
		if got != want {
			t.Errorf("%s is %s, want %s", host, got, want)
		}
		if again := said(t, s.call(t, "normalize_host", got).must(t).value); again != got {
			t.Errorf("%s is no fixed point: %s", got, again)
		}
	}
	for host, locator := range map[string]string{
		"https://example.com": "egress.host_invalid at host", "*": "egress.host_invalid at host",
		"": "egress.host_invalid at host", "010.0.0.1": "egress.address_invalid at host",
	} {
		s.call(t, "normalize_host", host).refusedAt(t, 0, locator)
	}
}

func TestDigestIsOfExactBytes(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	policy := s.call(t, "policy", agents())
	whole := s.call(t, "manifest", agents(), map[string]any{"report": spec(nil)})
	if got := said(t, s.call(t, "digest", policy.of(t, "document")).must(t).value); got != policy.of(t, "digest") {
		t.Errorf("digest of a policy is %s", got)
	}
	if got := said(t, s.call(t, "digest", whole.of(t, "document")).must(t).value); got != whole.of(t, "digest") {
		t.Errorf("digest of a manifest is %s", got)
	}
	facts, err := manifest.EncodeDeclarations(declared(t, "wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if got := said(t, s.call(t, "digest", string(facts)).must(t).value); got != string(manifest.DigestOf(facts)) {
		t.Errorf("digest of facts is %s", got)
	}
}

func TestDigestRefusesWhatAHostWouldRefuse(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline())
	document := s.call(t, "manifest", agents(), map[string]any{"report": spec(nil)}).of(t, "document")
	for name, c := range map[string]struct{ text, locator string }{
		"a line break at the end": {document + "\n", "document.not_canonical"},
		"a space":                 {strings.Replace(document, ":", ": ", 1), "document.not_canonical"},
		"a truncated document":    {document[:len(document)-1], "document.syntax"},
		"another version":         {strings.Replace(document, "sandbox/v1", "sandbox/v2", 1), "document.version at api_version"},
		"another sort":            {strings.Replace(document, `"manifest"`, `"posture"`, 1), "document.type at document"},
		"an unknown field":        {strings.Replace(document, `"document":"manifest",`, `"document":"manifest","extra":1,`, 1), "document.unknown_field at extra"},
		"a name stated twice":     {strings.Replace(document, `"document":"manifest",`, `"document":"manifest","document":"manifest",`, 1), "document.duplicate_name at document"},
		"nothing":                 {"", "document.syntax"},
		"no object":               {"[]", "document.type"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := s.call(t, "digest", c.text); got.err == nil {
				t.Fatalf("answered %s", got.value)
			} else if at := functionLocators(got.err); len(at) == 0 || at[0] != c.locator {
				t.Errorf("found %q, want %q", at, c.locator)
			}
		})
	}
}
