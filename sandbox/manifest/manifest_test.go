package manifest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// full is a manifest that uses every field of version 1.
func full() manifest.Manifest {
	requires := sandbox.SetOf(sandbox.CapabilityExec, sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut,
		sandbox.CapabilityHostTools, sandbox.CapabilityAttachedIdentity)
	limits := sandbox.TransferLimits{MaxBytesPerFile: 1, MaxTotalBytes: sandbox.MaxDocumentInteger, MaxFiles: 0}
	rules := map[string]sandbox.EgressRule{
		"api": {Host: "api.example.com", Ports: []string{"443", "8000-8099"}, Methods: []string{"GET"}, Paths: []string{"/v1"}},
	}
	policy := sandbox.Policy{
		Name: "agents", MinimumIsolation: sandbox.IsolationMicroVM, MinimumEvidence: sandbox.EvidenceDocumented,
		MinimumIsolationScope: sandbox.ScopeCall, MinimumCleanup: sandbox.CleanupDispose,
		DeniedCapabilities: sandbox.SetOf(sandbox.CapabilitySnapshot), DeniedIdentities: sandbox.SetOf(sandbox.IdentityApp),
		MaximumIdentityScope: sandbox.IdentityScopePerSandbox,
		Egress: sandbox.Egress{
			Mode: sandbox.EgressAllowlist, Hosts: []string{"packages.example.org", "*.files.example.org"}, Rules: rules,
			Guarantees: sandbox.SetOf(sandbox.GuaranteeUDPDenied, sandbox.GuaranteeDNSConfined),
		},
		EgressMatch: sandbox.EgressMatchExact, MissingGuarantees: sandbox.MissingGuaranteesRefuse,
		NeverReaches: []string{"*.internal.example.com", "169.254.0.0/16"},
		FilesIn:      &limits, FilesOut: &limits,
		Images: sandbox.ImagePolicy{
			Registries: []string{}, RequireDigest: true, Prebuilt: sandbox.PrebuiltAllow, User: sandbox.ImageUserNonRoot,
		},
	}
	return manifest.Manifest{
		Generation: 7, Policy: policy, HostPolicy: &sandbox.Policy{MinimumIsolation: sandbox.IsolationContainer},
		Group:      &manifest.Group{ID: "/subscriptions/s/group", Endpoint: "https://endpoint.example", Location: "westeurope"},
		Guarantees: map[string]sandbox.GuaranteeSet{"acas": sandbox.SetOf(sandbox.GuaranteeDNSConfined)},
		Workloads: map[string]sandbox.Spec{"report": {
			Kind: "codeact", Backend: "acas",
			Image: sandbox.Image{
				Reference: "registry.example.com/a:1", Digest: "sha256:" + strings.Repeat("a", 64), User: "0", Platform: "linux/amd64",
			},
			Requires: &requires, MinimumIsolation: sandbox.IsolationMicroVM, IsolationScope: sandbox.ScopeCall,
			MinimumCleanup: sandbox.CleanupReset, OSFamily: sandbox.OSFamilyPOSIX, WorkDir: "/work",
			Labels: map[string]string{"team": "a"},
			Egress: sandbox.Egress{
				Mode: sandbox.EgressAllowlist, Hosts: []string{"packages.example.org"}, Rules: rules,
				Guarantees: sandbox.SetOf(sandbox.GuaranteeSNIBound),
			},
			FilesIn: &limits, FilesOut: &limits,
			Outputs: map[string]sandbox.Output{
				"chart": {Path: "chart.png", Name: "c.png", MediaType: "image/png", Optional: true},
				"log":   {Path: "run.log", Disposition: sandbox.DispositionConsume},
			},
			OutputsNamedAtCallTime: true, Identities: sandbox.SetOf(sandbox.IdentityUser),
			MaximumIdentityScope: sandbox.IdentityScopePerSandbox, IdentityRetentionSeconds: 60, ProgramProfile: "python-portable-v1",
		}},
	}
}

func encode(t *testing.T, m manifest.Manifest) []byte {
	t.Helper()
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAManifestReadsBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	want := full()
	got, err := manifest.Parse(encode(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read back\n%+v\nwant\n%+v", got, want)
	}
}

// TestVersionOneIsPinned fails when a change of the code would change what the
// documents of version 1 look like, and so every digest that hosts have pinned.
func TestVersionOneIsPinned(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/full.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := encode(t, full()); !bytes.Equal(got, want) {
		t.Errorf("the canonical form of version 1 changed:\n%s\nwas\n%s", got, want)
	}
}

func TestPolicyWorkloadAndBackendDocumentsReadBack(t *testing.T) {
	t.Parallel()
	m := full()
	b, err := manifest.EncodePolicy(m.Policy)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := manifest.ParsePolicy(b); err != nil || !reflect.DeepEqual(got, m.Policy) {
		t.Errorf("policy: %v\n%+v", err, got)
	}
	b, err = manifest.EncodeWorkload(m.Workloads["report"])
	if err != nil {
		t.Fatal(err)
	}
	if got, err := manifest.ParseWorkload(b); err != nil || !reflect.DeepEqual(got, m.Workloads["report"]) {
		t.Errorf("workload: %v\n%+v", err, got)
	}
	caps := sandbox.SetOf(sandbox.CapabilityExec, sandbox.CapabilityAttachedIdentity)
	limits := sandbox.DefaultTransferLimits()
	d := sandbox.Declarations{
		Backend: "acas", Isolation: sandbox.IsolationMicroVM,
		IsolationEvidence: sandbox.Evidence{Kind: sandbox.EvidenceDocumented, Reference: "the vendor's page"},
		Capabilities:      &caps, FilesIn: &limits, FilesOut: &limits,
		EgressModes:  sandbox.SetOf(sandbox.EgressClosed),
		Guarantees:   map[sandbox.Guarantee]sandbox.Evidence{sandbox.GuaranteeUDPDenied: {Kind: sandbox.EvidenceProbed}},
		MethodTokens: []string{"GET"}, ImageSources: sandbox.SetOf(sandbox.ImageSourcePrebuilt), OSFamilies: sandbox.SetOf(sandbox.OSFamilyPOSIX),
		IsolationScopes: sandbox.SetOf(sandbox.ScopeCall), WriteAuthority: sandbox.WriteAuthorityRoot,
		AttachedIdentity: sandbox.AttachedIdentity{
			Scope: sandbox.IdentityScopePerScope, RetentionSeconds: 5, Channels: sandbox.SetOf(sandbox.ChannelEgressHeader),
		},
		ProgramChannels: []sandbox.ProgramChannel{{
			Name: "exec", Profiles: []string{"p"}, HostTools: true, Needs: sandbox.SetOf(sandbox.CapabilityExec),
		}},
		ObservesEgress: true, ExclusiveAdmission: true,
	}
	b, err = manifest.EncodeDeclarations(d)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := manifest.ParseDeclarations(b); err != nil || !reflect.DeepEqual(got, d) {
		t.Errorf("declarations: %v\n%+v", err, got)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, b, "", "  "); err != nil {
		t.Fatal(err)
	}
	if _, err := manifest.ParseDeclarations(pretty.Bytes()); err != nil {
		t.Errorf("facts laid out for people: %v", err)
	}
}

// minimal is the smallest manifest; each row below changes its bytes by a step.
const minimal = `{"api_version":"sandbox/v1","document":"manifest","policy":{},"workloads":{"w":{"backend":"wasm","kind":"k","requires":[]}}}`

func TestBadDocumentsAreRefusedWithThePlaceAndTheCode(t *testing.T) {
	t.Parallel()
	swap := func(old, new string) string {
		if !strings.Contains(minimal, old) {
			t.Fatalf("the minimal manifest has no %q", old)
		}
		return strings.Replace(minimal, old, new, 1)
	}
	rows := []struct {
		name, document string
		want           string // locator of the first refusal, empty where it is accepted
		says           string
	}{
		{"the minimal manifest", minimal, "", ""},
		{"nothing", "", "document.syntax", "cut off"},
		{"cut off", minimal[:len(minimal)-1], "document.syntax", ""},
		{"not JSON", "policy = {}", "document.syntax", "byte 0"},
		{"not an object", `[]`, "document.type", ""},
		{"not UTF-8", swap(`"k"`, "\"\xff\""), "document.syntax", ""},
		{"a trailing line break", minimal + "\n", "document.not_canonical", "1 byte of white space"},
		{"a second document", minimal + minimal, "document.syntax", "more text"},
		{"white space inside", swap(`,"policy"`, `, "policy"`), "document.not_canonical", "at byte"},
		{"names out of order", swap(`"backend":"wasm","kind":"k"`, `"kind":"k","backend":"wasm"`), "document.not_canonical", ""},
		{"an escaped letter", swap(`"k"`, `"\u006b"`), "document.not_canonical", ""},
		{"an unknown field", swap(`"policy":{}`, `"policy":{"allow_all":true}`), "document.unknown_field at policy.allow_all", "allow_all"},
		{"an unknown field in a workload", swap(`"kind":"k"`, `"kind":"k","privileged":true`), `document.unknown_field at workloads["w"].privileged`, ""},
		{"a case variant", swap(`"policy":{}`, `"policy":{"Minimum_Isolation":"vm"}`), "document.unknown_field at policy.Minimum_Isolation", ""},
		{"a duplicate", swap(`"policy":{}`, `"policy":{"name":"a","name":"b"}`), "document.duplicate_name at policy.name", ""},
		{"null", swap(`"policy":{}`, `"policy":{"name":null}`), "value.null at policy.name", ""},
		{"a newer version", swap("sandbox/v1", "sandbox/v2"), "document.version at api_version", `"sandbox/v2"`},
		{"no version", `{}`, "document.version at api_version", "no api_version"},
		{"another document", swap(`"manifest"`, `"policy"`), "document.type at document", ""},
		{"an unknown word", swap(`"policy":{}`, `"policy":{"minimum_isolation":"process"}`), "value.unknown_word at policy.minimum_isolation", `"process"`},
		{"its neighbour", swap(`"policy":{}`, `"policy":{"minimum_isolation":"os_process"}`), "", ""},
		{"a word twice", swap(`"requires":[]`, `"requires":["exec","exec"]`), `document.not_canonical at workloads["w"].requires`, ""},
		{"words out of order", swap(`"requires":[]`, `"requires":["files_in","exec"]`), "document.not_canonical", ""},
		{"no workloads", swap(`{"w":{"backend":"wasm","kind":"k","requires":[]}}`, `{}`), "value.missing at workloads", "at least 1 entry"},
		{"a missing field", swap(`"kind":"k",`, ``), `value.missing at workloads["w"].kind`, ""},
		{"an integer beyond the safe range", swap(`"document":"manifest"`, `"document":"manifest","generation":9007199254740993`), "value.out_of_range at generation", "9007199254740993"},
		{"a fraction", swap(`"document":"manifest"`, `"document":"manifest","generation":1.5`), "value.out_of_range at generation", ""},
		{"an exponent", swap(`"document":"manifest"`, `"document":"manifest","generation":1e2`), "value.out_of_range at generation", ""},
		{"the largest integer", swap(`"document":"manifest"`, `"document":"manifest","generation":9007199254740991`), "", ""},
		{"a false that says nothing", swap(`"policy":{}`, `"policy":{"image_require_digest":false}`), "value.unknown_word at policy.image_require_digest", ""},
		{"a name with a line break", swap(`"w":`, `"w\nx":`), `value.invalid_text at workloads["w\nx"]`, "visible"},
		{"a name with a space", swap(`"w":`, `"w x":`), "", ""},
		{"a bad host", swap(`"policy":{}`, `"policy":{"egress_hosts":["http://x"],"egress_mode":"allowlist"}`), "egress.host_invalid at policy.egress_hosts[0]", "http://x"},
		{"a rule without its parts", swap(`"policy":{}`, `"policy":{"egress_mode":"allowlist","egress_rules":{"a":{"host":"x.example"}}}`), `value.missing at policy.egress_rules["a"].methods`, ""},
		{"deep nesting", strings.Repeat("[", 100) + strings.Repeat("]", 100), "document.syntax", "nesting"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := manifest.Parse([]byte(row.document))
			if row.want == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			refusals := sandbox.RefusalsOf(err)
			if len(refusals) == 0 {
				t.Fatalf("not refused: %v", err)
			}
			got := refusals[0].Locator()
			exact := got == row.want
			codeOnly := !strings.Contains(row.want, " at ") && strings.HasPrefix(got, row.want)
			if !exact && !codeOnly {
				t.Errorf("refused as %q, want %q: %v", got, row.want, err)
			}
			if !strings.Contains(err.Error(), row.says) {
				t.Errorf("does not say %q: %v", row.says, err)
			}
		})
	}
}

func TestAllMistakesOfADocumentAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := manifest.Parse([]byte(`{"api_version":"sandbox/v1","document":"manifest","policy":{"floor":1,"minimum_isolation":"x"},"workloads":{"w":{"backend":"wasm","kind":"k"}}}`))
	var codes []string
	for _, r := range sandbox.RefusalsOf(err) {
		codes = append(codes, r.Locator())
	}
	want := []string{
		"document.unknown_field at policy.floor", "value.unknown_word at policy.minimum_isolation",
		`value.missing at workloads["w"].requires`,
	}
	if !slices.Equal(codes, want) {
		t.Errorf("reported %q, want %q", codes, want)
	}
}

func TestAnOversizedDocumentIsRefusedUnread(t *testing.T) {
	t.Parallel()
	_, err := manifest.Parse(make([]byte, manifest.MaxDocument+1))
	if !errors.Is(err, sandbox.CodeDocumentTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestEncodeRefusesWhatCouldNotBeReadBack(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*manifest.Manifest){
		"text that is not UTF-8":        func(m *manifest.Manifest) { m.Policy.Name = "\xff" },
		"an integer beyond the range":   func(m *manifest.Manifest) { m.Generation = 1 << 60 },
		"a word outside the vocabulary": func(m *manifest.Manifest) { m.Policy.MinimumIsolation = 99 },
		"no workloads":                  func(m *manifest.Manifest) { m.Workloads = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := full()
			change(&m)
			if b, err := m.Encode(); err == nil {
				t.Errorf("wrote %s", b)
			}
		})
	}
}

// The schema repeats the vocabulary, since it is read without this program. The
// two are held together here.
func TestTheSchemaNamesTheWholeVocabulary(t *testing.T) {
	t.Parallel()
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Enum  []string
				Items struct{ Enum []string }
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(manifest.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	enum := func(def, property string) []string {
		p := schema.Defs[def].Properties[property]
		return append(p.Enum, p.Items.Enum...)
	}
	same := func(def, property string, want []string) {
		t.Helper()
		if got := enum(def, property); !slices.Equal(got, want) {
			t.Errorf("%s.%s: schema has %q, vocabulary %q", def, property, got, want)
		}
	}
	same("policy", "minimum_isolation", texts(sandbox.Isolations()))
	same("workload", "minimum_isolation", texts(sandbox.Isolations()))
	same("backendDocument", "isolation", texts(sandbox.Isolations()))
	same("policy", "minimum_evidence", texts(sandbox.EvidenceKinds())[1:])
	same("evidence", "kind", texts(sandbox.EvidenceKinds()))
	same("policy", "minimum_isolation_scope", texts(sandbox.IsolationScopes()))
	same("workload", "isolation_scope", texts(sandbox.IsolationScopes()))
	same("policy", "minimum_cleanup", texts(sandbox.Cleanups()))
	same("policy", "denied_capabilities", texts(sandbox.Capabilities()))
	same("workload", "requires", texts(sandbox.Capabilities()))
	same("backendDocument", "capabilities", texts(sandbox.Capabilities()))
	same("policy", "denied_identities", texts(sandbox.Identities()))
	same("policy", "maximum_identity_scope", texts(sandbox.IdentityScopes()))
	same("policy", "egress_mode", texts(sandbox.EgressModes()))
	same("workload", "egress_mode", texts(sandbox.EgressModes()))
	same("policy", "egress_match", texts(sandbox.EgressMatches()))
	same("policy", "missing_guarantees", texts(sandbox.MissingGuaranteesRules()))
	same("policy", "egress_guarantees", texts(sandbox.Guarantees()))
	same("policy", "image_prebuilt", texts(sandbox.PrebuiltRules()))
	same("policy", "image_user", texts(sandbox.ImageUsers()))
	same("workload", "os_family", texts(sandbox.OSFamilies()))
	same("backendDocument", "image_sources", texts(sandbox.ImageSources()))
	same("backendDocument", "write_authority", texts(sandbox.WriteAuthorities()))
}

func texts[T interface{ String() string }](words []T) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.String()
	}
	return out
}

func TestTheSchemaIsAValidSchemaThatAdmitsTheFullManifest(t *testing.T) {
	t.Parallel()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(manifest.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(encode(t, full())))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(instance); err != nil {
		t.Error(err)
	}
}

func TestDigestsParseExactly(t *testing.T) {
	t.Parallel()
	good := string(manifest.DigestOf(nil))
	if _, err := manifest.ParseDigest(good); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", good[7:], strings.ToUpper(good), good + "0", good[:70], "sha512:" + good[7:], good[:70] + "g"} {
		if _, err := manifest.ParseDigest(bad); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}

// FuzzParse holds the one law of documents: what is read is written back byte
// for byte.
func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	if b, err := full().Encode(); err == nil {
		f.Add(b)
	}
	for _, seed := range []string{
		`{}`, `null`, `{"api_version":"sandbox/v1"}`, `{"Api_version":"sandbox/v1","document":"manifest"}`,
		strings.Replace(minimal, `{}`, `{"image_registries":[]}`, 1), strings.Replace(minimal, `[]`, `["exec"]`, 1),
		strings.Replace(minimal, `"k"`, `"\ud800"`, 1), strings.Replace(minimal, `"w"`, `"1"`, 1), minimal + " ",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := manifest.Parse(b)
		if err != nil {
			if len(sandbox.RefusalsOf(err)) == 0 {
				t.Fatalf("an error that is no refusal: %v", err)
			}
			return
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatalf("read but cannot be written: %v", err)
		}
		if !bytes.Equal(again, b) {
			t.Fatalf("read %q\nwrote %q", b, again)
		}
	})
}
