package sandbox_test

import (
	"encoding"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// word is what every vocabulary type can do.
type word interface {
	~uint8
	String() string
	MarshalText() ([]byte, error)
}

// vocabularyCase is one vocabulary with its published words in order.
type vocabularyCase struct {
	name  string
	words []string
	run   func(t *testing.T, words []string)
}

func vocabularyOf[T word, P interface {
	*T
	encoding.TextUnmarshaler
}](name string, parse func(string) (T, error), all func() []T, words ...string,
) vocabularyCase {
	return vocabularyCase{name, words, func(t *testing.T, words []string) {
		t.Helper()
		if got := texts(all()); !slices.Equal(got, words) {
			t.Errorf("lists %q, want %q", got, words)
		}
		for i, text := range words {
			got, err := parse(text)
			if err != nil || int(got) != i+1 || got.String() != text {
				t.Errorf("parsing %q: %v, %v", text, got, err)
			}
			written, err := got.MarshalText()
			if err != nil || string(written) != text {
				t.Errorf("writing %q: %q, %v", text, written, err)
			}
			var back T
			if err := P(&back).UnmarshalText(written); err != nil || back != got {
				t.Errorf("reading %q back: %v, %v", text, back, err)
			}
			for _, near := range []string{strings.ToUpper(text), " " + text, text + " ", text + "\n", text[1:], text + text, strings.ReplaceAll(text, "_", "-") + "-"} {
				if _, err := parse(near); !errors.Is(err, sandbox.CodeUnknownWord) || !errors.Is(err, sandbox.ErrValue) {
					t.Errorf("%q parses: %v", near, err)
				}
			}
		}
		if _, err := parse(""); err == nil {
			t.Error("the empty text parses")
		}
		var zero T
		if zero.String() != "" {
			t.Errorf("zero reads %q, want nothing", zero)
		}
		for _, outside := range []T{0, T(len(words) + 1), 255} {
			if b, err := outside.MarshalText(); err == nil {
				t.Errorf("value %d is written as %q", outside, b)
			}
		}
	}}
}

func texts[T interface{ String() string }](words []T) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.String()
	}
	return out
}

// The words are the contract: HCL, JSON, command line and docs all use them.
func TestEveryWordParsesExactlyAndReadsBack(t *testing.T) {
	t.Parallel()
	cases := []vocabularyCase{
		vocabularyOf("isolation", sandbox.ParseIsolation, sandbox.Isolations,
			"none", "runtime", "os_process", "container", "hardened_container", "microvm", "vm"),
		vocabularyOf("capability", sandbox.ParseCapability, sandbox.Capabilities,
			"exec", "run_code", "host_tools", "files_in", "files_out", "files_list", "files_delete", "snapshot",
			"attached_identity", "reclaim", "egress_ports", "egress_methods", "egress_paths", "egress_addresses"),
		vocabularyOf("egress mode", sandbox.ParseEgressMode, sandbox.EgressModes, "closed", "allowlist", "unrestricted"),
		vocabularyOf("egress match", sandbox.ParseEgressMatch, sandbox.EgressMatches, "exact", "at_least"),
		vocabularyOf("guarantee", sandbox.ParseGuarantee, sandbox.Guarantees,
			"dns_confined", "ip_literal_denied", "port_confined", "sni_bound", "method_confined", "path_confined",
			"metadata_denied", "udp_denied"),
		vocabularyOf("OS family", sandbox.ParseOSFamily, sandbox.OSFamilies, "posix", "windows"),
		vocabularyOf("integrity", sandbox.ParseSourceIntegrity, sandbox.SourceIntegrities, "untrusted", "trusted"),
		vocabularyOf("identity", sandbox.ParseIdentity, sandbox.Identities, "app", "user"),
		vocabularyOf("identity scope", sandbox.ParseIdentityScope, sandbox.IdentityScopes, "none", "per_sandbox", "per_scope", "shared"),
		vocabularyOf("authority channel", sandbox.ParseAuthorityChannel, sandbox.AuthorityChannels, "egress_header"),
		vocabularyOf("entry kind", sandbox.ParseEntryKind, sandbox.EntryKinds, "file", "directory", "symlink", "other"),
		vocabularyOf("disposition", sandbox.ParseDisposition, sandbox.Dispositions, "land", "consume"),
		vocabularyOf("isolation scope", sandbox.ParseIsolationScope, sandbox.IsolationScopes, "conversation", "call"),
		vocabularyOf("clean-up", sandbox.ParseCleanup, sandbox.Cleanups, "reclaim", "reset", "dispose"),
		vocabularyOf("disposal code", sandbox.ParseDisposalCode, sandbox.DisposalCodes,
			"unreachable", "timeout", "refused", "unlisted", "unknown"),
		vocabularyOf("evidence", sandbox.ParseEvidenceKind, sandbox.EvidenceKinds, "emulated", "documented", "probed"),
		vocabularyOf("image user", sandbox.ParseImageUser, sandbox.ImageUsers, "any", "non_root", "root"),
		vocabularyOf("prebuilt rule", sandbox.ParsePrebuiltRule, sandbox.PrebuiltRules, "deny", "allow"),
		vocabularyOf("on widening", sandbox.ParseOnWidening, sandbox.OnWidenings, "allow", "warn", "refuse"),
		vocabularyOf("missing guarantees", sandbox.ParseMissingGuarantees, sandbox.MissingGuaranteesRules, "warn", "refuse"),
		vocabularyOf("image source", sandbox.ParseImageSource, sandbox.ImageSources, "prebuilt", "reference"),
		vocabularyOf("principal", sandbox.ParsePrincipal, sandbox.Principals, "guest", "root"),
		vocabularyOf("write authority", sandbox.ParseWriteAuthority, sandbox.WriteAuthorities, "guest", "root_confined", "root"),
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, c.words)
		})
	}
}

func TestTheRetiredRungNeverParses(t *testing.T) {
	t.Parallel()
	if _, err := sandbox.ParseIsolation("process"); !errors.Is(err, sandbox.CodeUnknownWord) {
		t.Errorf("process parses: %v", err)
	}
	if got, err := sandbox.ParseIsolation("os_process"); err != nil || got != sandbox.IsolationOSProcess {
		t.Errorf("os_process: %v, %v", got, err)
	}
}

func TestAnUnspecifiedRungMeetsNothing(t *testing.T) {
	t.Parallel()
	for _, floor := range append([]sandbox.Isolation{0}, sandbox.Isolations()...) {
		if sandbox.Isolation(0).Meets(floor) || sandbox.Isolation(200).Meets(floor) {
			t.Errorf("no rung meets %s", floor)
		}
	}
	for i, declared := range sandbox.Isolations() {
		if declared.Meets(200) {
			t.Errorf("%s meets a floor outside the ladder", declared)
		}
		for j, floor := range sandbox.Isolations() {
			if declared.Meets(floor) != (i >= j) {
				t.Errorf("%s meets %s: %v", declared, floor, !(i >= j))
			}
		}
	}
}

func TestStrongestIgnoresNoOpinion(t *testing.T) {
	t.Parallel()
	if got := sandbox.Strongest(0, sandbox.IsolationContainer, sandbox.IsolationNone); got != sandbox.IsolationContainer {
		t.Errorf("got %s", got)
	}
	if got := sandbox.Strongest[sandbox.Isolation](); got != 0 {
		t.Errorf("of nothing: %s", got)
	}
}

func TestSetsForgetOrderAndRepetition(t *testing.T) {
	t.Parallel()
	a, findings := sandbox.ParseSet[sandbox.Capability]([]string{"files_in", "exec", "exec"}, sandbox.Path("requires"))
	if len(findings) > 0 || a != sandbox.DefaultCapabilities() {
		t.Errorf("%v, %v", a, findings)
	}
	if got := a.Strings(); !slices.Equal(got, []string{"exec", "files_in"}) {
		t.Errorf("sorted text %q", got)
	}
	if got := (sandbox.CapabilitySet{}).String(); got != "nothing" {
		t.Errorf("the empty set reads %q", got)
	}
	if sandbox.SetOf(sandbox.Capability(0), sandbox.Capability(64)).Len() != 0 {
		t.Error("a word outside the vocabulary is in a set")
	}
}

func TestEveryUnknownWordOfAListIsReportedAtItsPlace(t *testing.T) {
	t.Parallel()
	_, findings := sandbox.ParseSet[sandbox.Capability]([]string{"Exec", "exec", "files-in", "runcode", "shell"}, sandbox.Path("requires"))
	got := []string{}
	for _, f := range findings {
		got = append(got, f.Locator()+" "+f.Remedy)
	}
	want := []string{
		`value.unknown_word at requires[0] write "exec"`, `value.unknown_word at requires[2] write "files_in"`,
		`value.unknown_word at requires[3] write "run_code"`, `value.unknown_word at requires[4] write one of these words exactly`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestZeroVerdictAndZeroDecisionRefuse(t *testing.T) {
	t.Parallel()
	var d sandbox.Decision
	if d.Verdict != sandbox.Deny || d.Err() == nil || sandbox.Verdict(9).String() != "deny" {
		t.Errorf("zero decides %s", d.Verdict)
	}
}

func TestADenyOutranksAnUndecided(t *testing.T) {
	t.Parallel()
	undecided := sandbox.Finding{Verdict: sandbox.Undecided, Code: sandbox.CodeUndecided}
	deny := sandbox.Finding{Code: sandbox.CodeCapabilityDenied, Path: sandbox.Path("requires")}
	warning := sandbox.Finding{Verdict: sandbox.Allow, Code: sandbox.CodeEgressGuarantee}
	for _, row := range []struct {
		name     string
		findings []sandbox.Finding
		want     sandbox.Verdict
	}{
		{"nothing found", nil, sandbox.Allow},
		{"a warning", []sandbox.Finding{warning}, sandbox.Allow},
		{"undecided", []sandbox.Finding{warning, undecided}, sandbox.Undecided},
		{"both", []sandbox.Finding{undecided, deny}, sandbox.Deny},
	} {
		d := sandbox.Decide(row.findings)
		if d.Verdict != row.want {
			t.Errorf("%s: %s, want %s", row.name, d.Verdict, row.want)
		}
		if (d.Err() == nil) != (row.want == sandbox.Allow) {
			t.Errorf("%s: error %v", row.name, d.Err())
		}
	}
	if err := sandbox.Decide([]sandbox.Finding{undecided, deny}).Err(); !errors.Is(err, sandbox.CodeCapabilityDenied) || errors.Is(err, sandbox.CodeUndecided) {
		t.Errorf("the error of a denial carries what is only undecided: %v", err)
	}
}

func TestEveryCodeHasItsRow(t *testing.T) {
	t.Parallel()
	families := []sandbox.Family{
		sandbox.ErrValue, sandbox.ErrPermission, sandbox.ErrUnsupported, sandbox.ErrTimeout,
		sandbox.ErrLookup, sandbox.ErrOS, sandbox.ErrLimit, sandbox.ErrUnavailable,
	}
	seen := map[sandbox.Code]bool{}
	for _, c := range sandbox.Codes() {
		switch {
		case seen[c]:
			t.Errorf("%s stands twice", c)
		case !c.Known(), c.Summary() == "" || len(c.Summary()) > 60, !slices.Contains(families, c.Family()):
			t.Errorf("%s: summary %q, family %q", c, c.Summary(), c.Family())
		case !strings.HasSuffix(c.Meaning(), "."):
			t.Errorf("%s: meaning is not a sentence: %q", c, c.Meaning())
		case strings.Count(string(c), ".") != 1 || strings.ToLower(string(c)) != string(c):
			t.Errorf("%s is not area.name", c)
		}
		seen[c] = true
	}
	if sandbox.Code("no.such").Known() {
		t.Error("an unknown code is known")
	}
}

func TestRefusalsMatchTheirCodeTheirFamilyAndTheirCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("underneath")
	var err error = sandbox.Finding{
		Code: sandbox.CodeEgressNotEnforced, Subject: `workload "report"`, Path: sandbox.Path("egress_mode"),
		Found: "allowlist", Required: "closed", Witness: "evil.example.com:443", Remedy: "set it",
	}.Refusal(cause)
	for _, target := range []error{sandbox.CodeEgressNotEnforced, sandbox.ErrPermission, cause} {
		if !errors.Is(err, target) {
			t.Errorf("does not match %v", target)
		}
	}
	for _, target := range []error{sandbox.CodeEgressModeDenied, sandbox.ErrValue} {
		if errors.Is(err, target) {
			t.Errorf("matches %v", target)
		}
	}
	want := `workload "report": Backend does not enforce this egress mode: found allowlist; required closed; ` +
		`would become reachable: evil.example.com:443; set it [egress.not_enforced at egress_mode]: underneath`
	if err.Error() != want {
		t.Errorf("reads %q", err)
	}
	both := sandbox.Refusals{sandbox.RefusalOf(err), sandbox.Finding{Code: sandbox.CodeUndecided}.Refusal(nil)}
	if !errors.Is(both, sandbox.CodeUndecided) || !errors.Is(both, sandbox.ErrPermission) || len(sandbox.RefusalsOf(both)) != 2 {
		t.Error("joined refusals lose one")
	}
}

func TestPathsReadAsHCL(t *testing.T) {
	t.Parallel()
	p := sandbox.Path("workloads", sandbox.MapKey(`a"b`), "egress_rules", sandbox.MapKey("api"), "ports", 0)
	if got := p.String(); got != `workloads["a\"b"].egress_rules["api"].ports[0]` {
		t.Errorf("reads %s", got)
	}
	q := p.Append(sandbox.Attr("x"))
	r := p.Append(sandbox.Attr("y"))
	if q.String() == r.String() || !q.HasPrefix(p) || p.HasPrefix(q) {
		t.Error("appending shares memory or loses the prefix")
	}
}

func TestPathsAreOneLineWhateverTheNamesAre(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"egress_mode":               "policy.egress_mode",
		"x-y":                       "policy.x-y",
		"":                          `policy[""]`,
		"a.b":                       `policy["a.b"]`,
		"a b":                       `policy["a b"]`,
		"x\n egress.mode at policy": `policy["x\n egress.mode at policy"]`,
		"\u202e":                    `policy["\u202e"]`,
		"\xff":                      `policy["\xff"]`,
		strings.Repeat("a", 600):    `policy["` + strings.Repeat("a", 120) + `"… (600 bytes)]`,
	} {
		if got := sandbox.Path("policy", name).String(); got != want {
			t.Errorf("reads %s, want %s", got, want)
		}
	}
	if got := sandbox.Path("labels", sandbox.MapKey(strings.Repeat("a", 1<<20))).String(); len(got) > 200 {
		t.Errorf("a path of %d bytes", len(got))
	}
}

func TestKnownIsAboutAPathAndAllBelowIt(t *testing.T) {
	t.Parallel()
	k := sandbox.Known{}.Unknown(sandbox.Path("egress_rules", sandbox.MapKey("a")))
	for _, row := range []struct {
		path       sandbox.FieldPath
		has, whole bool
	}{
		{sandbox.Path("egress_rules"), true, false},
		{sandbox.Path("egress_rules", sandbox.MapKey("a")), false, false},
		{sandbox.Path("egress_rules", sandbox.MapKey("a"), "host"), false, false},
		{sandbox.Path("egress_rules", sandbox.MapKey("b")), true, true},
		{sandbox.Path("egress_hosts"), true, true},
	} {
		if k.Has(row.path) != row.has || k.Whole(row.path) != row.whole {
			t.Errorf("%s: has %v, whole %v", row.path, k.Has(row.path), k.Whole(row.path))
		}
	}
	if k.Everything() || !(sandbox.Known{}).Everything() {
		t.Error("everything is not told apart")
	}
}

func TestEchoCannotForgeALine(t *testing.T) {
	t.Parallel()
	for _, hostile := range []string{"a\nError: b", "\x1b[2J", "a\u202eb", "\xff\xfe", "a\u200bb", "a\u00a0b"} {
		got := sandbox.Echo(hostile)
		if strings.ContainsAny(got, "\n\x1b") || strings.ContainsRune(got, '\u202e') || strings.ContainsRune(got, '\u200b') {
			t.Errorf("%q comes out as %q", hostile, got)
		}
	}
	long := sandbox.Echo(strings.Repeat("é", 4000))
	if len(long) > 200 || !strings.Contains(long, "(8000 bytes)") {
		t.Errorf("a long value comes out as %d bytes: %s", len(long), long)
	}
}

func TestKeysNeedScopeThreadAndAgent(t *testing.T) {
	t.Parallel()
	good := sandbox.Key{Scope: "t", Thread: "c", Agent: "a"}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	if err := (sandbox.Key{}).Validate(); len(sandbox.RefusalsOf(err)) != 3 {
		t.Errorf("an empty key: %v", err)
	}
	good.Call = strings.Repeat("x", 1025)
	if err := good.Validate(); !errors.Is(err, sandbox.CodeKeyInvalid) {
		t.Errorf("a long call: %v", err)
	}
}

func TestFoldedDisposalFailuresKeepTheMostActionableCode(t *testing.T) {
	t.Parallel()
	refused := &sandbox.DisposalFailure{Code: sandbox.DisposalRefused, Detail: "a"}
	unreachable := &sandbox.DisposalFailure{Code: sandbox.DisposalUnreachable, Detail: "b"}
	odd := &sandbox.DisposalFailure{Code: 77, Detail: "c"}
	if sandbox.FoldDisposalFailures(nil, nil) != nil {
		t.Error("nothing folds to something")
	}
	got := sandbox.FoldDisposalFailures(nil, odd, refused, unreachable)
	if got.Code != sandbox.DisposalUnreachable || got.Detail != "c; a; b" {
		t.Errorf("folds to %v", got)
	}
	if got := sandbox.FoldDisposalFailures(odd); got.Code != sandbox.DisposalUnknown {
		t.Errorf("a foreign code is %s", got.Code)
	}
}

// The root is imported by everything; a field that cannot be compared or copied
// plainly would surprise all of them.
func TestIdentityIsPlainData(t *testing.T) {
	t.Parallel()
	for _, v := range []any{sandbox.Key{}, sandbox.SessionInfo{}, sandbox.Image{}, sandbox.TransferLimits{}} {
		if !reflect.TypeOf(v).Comparable() {
			t.Errorf("%T cannot be compared", v)
		}
	}
}
