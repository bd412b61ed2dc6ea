package conformance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

func specSubjects() map[string]subject {
	return map[string]subject{
		"construct":   judgeConstruct,
		"field_order": judgeAbsent,
		"enum":        judgeEnum,
		"parse":       judgeParse,
		"rank":        judgeRank,
		"meets_floor": judgeMeetsFloor,
		"within":      judgeWithin,
		"lands":       judgeLands,
	}
}

// list is a vocabulary as text, and how a word of it is read.
type list struct {
	words []string
	parse func(string) error
	// ranked: the order is part of what is compared.
	ranked bool
}

func listOf[T fmt.Stringer](all []T, parse func(string) (T, error), ranked bool) list {
	l := list{parse: func(text string) error { _, err := parse(text); return err }, ranked: ranked}
	for _, w := range all {
		l.words = append(l.words, w.String())
	}
	return l
}

// vocabularies are those of the reference that we have, by its names.
func vocabularies() map[string]list {
	return map[string]list{
		"Isolation":         listOf(sandbox.Isolations(), sandbox.ParseIsolation, true),
		"IsolationScope":    listOf(sandbox.IsolationScopes(), sandbox.ParseIsolationScope, true),
		"Cleanup":           listOf(sandbox.Cleanups(), sandbox.ParseCleanup, true),
		"SourceIntegrity":   listOf(sandbox.SourceIntegrities(), sandbox.ParseSourceIntegrity, true),
		"IdentityScope":     listOf(sandbox.IdentityScopes(), sandbox.ParseIdentityScope, true),
		"DisposalCode":      listOf(sandbox.DisposalCodes(), sandbox.ParseDisposalCode, true),
		"Capability":        listOf(sandbox.Capabilities(), sandbox.ParseCapability, false),
		"Egress":            listOf(sandbox.EgressModes(), sandbox.ParseEgressMode, false),
		"OsFamily":          listOf(sandbox.OSFamilies(), sandbox.ParseOSFamily, false),
		"Identity":          listOf(sandbox.Identities(), sandbox.ParseIdentity, false),
		"AuthorityChannel":  listOf(sandbox.AuthorityChannels(), sandbox.ParseAuthorityChannel, false),
		"EntryKind":         listOf(sandbox.EntryKinds(), sandbox.ParseEntryKind, false),
		"OutputDisposition": listOf(sandbox.Dispositions(), sandbox.ParseDisposition, false),
	}
}

type typeIn struct {
	Type   string
	Text   text
	Table  string
	Fields map[string]json.RawMessage
}

func judgeEnum(v *vector) (answer, error) {
	var in typeIn
	var out struct{ Members []string }
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	ours, have := vocabularies()[in.Type]
	if !have {
		return answer{ours: "no such words", theirs: asText(out.Members)}, nil
	}
	if !ours.ranked {
		slices.Sort(ours.words)
		slices.Sort(out.Members)
	}
	return answer{ours: asText(ours.words), theirs: asText(out.Members)}, nil
}

func judgeParse(v *vector) (answer, error) {
	var in typeIn
	var out struct {
		refusal
		Value string
	}
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	ours, have := vocabularies()[in.Type]
	if in.Type == "HttpMethod" {
		ours.parse, have = parseMethod, true
	}
	if !have {
		return answer{ours: "no such words", theirs: out.Error + out.Value}, nil
	}
	if err := ours.parse(string(in.Text)); err != nil {
		return answer{ours: classOf(sandbox.FindingsAt(err, nil)[0]), theirs: out.Error + out.Value}, nil
	}
	return answer{ours: string(in.Text), theirs: out.Error + out.Value}, nil
}

// parseMethod reads a method as a rule does. Methods are an open set.
func parseMethod(text string) error {
	_, findings := egress.ParseRule("", sandbox.EgressRule{
		Host: "a.test", Ports: []string{"443"}, Methods: []string{text}, Paths: []string{"*"},
	}, nil)
	if f := firstDenial(findings); f != nil {
		return f.Refusal(nil)
	}
	return nil
}

var rankTables = map[string]string{
	"ISOLATION_RANK": "Isolation", "INTEGRITY_RANK": "SourceIntegrity", "CLEANUP_RANK": "Cleanup",
	"ISOLATION_SCOPE_RANK": "IsolationScope", "IDENTITY_SCOPE_RANK": "IdentityScope",
}

func judgeRank(v *vector) (answer, error) {
	var in typeIn
	var out struct{ Ranks map[string]int }
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	theirs := slices.SortedFunc(maps.Keys(out.Ranks), func(a, b string) int { return out.Ranks[a] - out.Ranks[b] })
	return answer{ours: asText(vocabularies()[rankTables[in.Table]].words), theirs: asText(theirs)}, nil
}

func judgeMeetsFloor(v *vector) (answer, error) {
	var in struct{ Declared, Floor string }
	var out struct {
		refusal
		Meets bool
	}
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	theirs := out.Error
	if theirs == "" {
		theirs = asText(out.Meets)
	}
	declared, unknown := sandbox.ParseIsolation(in.Declared)
	floor, unknownFloor := sandbox.ParseIsolation(in.Floor)
	if errors.Join(unknown, unknownFloor) != nil {
		return answer{ours: "ValueError", theirs: theirs}, nil //nolint:nilerr // being refused is the answer
	}
	return answer{ours: asText(declared.Meets(floor)), theirs: theirs}, nil
}

func judgeWithin(v *vector) (answer, error) {
	var in struct{ Ask, Ceiling limitsIn }
	var out struct{ Within bool }
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	err := v.out(&out)
	return answer{ours: asText(in.Ask.limits().Within(*in.Ceiling.limits())), theirs: asText(out.Within)}, err
}

type outputIn struct {
	Path        text
	Name        *text
	MediaType   *string `json:"media_type"`
	Required    *bool
	Disposition string
}

func (o *outputIn) output() (sandbox.Output, error) {
	out := sandbox.Output{Path: string(o.Path), Optional: o.Required != nil && !*o.Required}
	if o.Name != nil {
		out.Name = string(*o.Name)
	}
	if o.MediaType != nil {
		out.MediaType = *o.MediaType
	}
	if o.Disposition == "" {
		return out, nil
	}
	var err error
	out.Disposition, err = sandbox.ParseDisposition(o.Disposition)
	return out, err
}

func judgeLands(v *vector) (answer, error) {
	var in struct {
		Declared   []outputIn
		AtCallTime bool `json:"outputs_named_at_call_time"`
	}
	type landing struct {
		Landing []string
		Lands   bool
	}
	var theirs landing
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&theirs); err != nil {
		return answer{}, err
	}
	ours := landing{Landing: []string{}}
	for _, d := range in.Declared {
		o, err := d.output()
		if err != nil {
			return answer{}, err
		}
		if o.Lands() {
			ours.Landing = append(ours.Landing, o.Path)
		}
	}
	ours.Lands = len(ours.Landing) > 0 || in.AtCallTime
	return answer{ours: asText(ours), theirs: asText(theirs)}, nil
}

// judgeConstruct compiles the record that corresponds to the reference's. What
// is compared is whether it is accepted.
func judgeConstruct(v *vector) (answer, error) {
	var in typeIn
	var out refusal
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	theirs := out.Error
	if theirs == "" {
		theirs = "ok"
	}
	construct := map[string]func(json.RawMessage, string) ([]sandbox.Finding, error){
		"SandboxSpec": constructSpec, "TransferLimits": constructLimits, "SandboxKey": constructKey,
		"DeclaredOutput": constructOutput, "AttachedIdentity": constructAttached,
	}[in.Type]
	if construct == nil {
		return answer{ours: "no such record", theirs: theirs}, nil
	}
	fields, err := json.Marshal(in.Fields)
	if err != nil {
		return answer{}, err
	}
	findings, err := construct(fields, v.Oracle)
	switch f := firstDenial(findings); {
	case err != nil:
		return answer{ours: "not typed: " + err.Error(), theirs: theirs}, nil //nolint:nilerr // being refused is the answer
	case f != nil:
		return answer{ours: classOf(*f), theirs: theirs, refusal: f}, nil
	}
	return answer{ours: "ok", theirs: theirs}, nil
}

func constructSpec(fields json.RawMessage, oracle string) ([]sandbox.Finding, error) {
	var in struct {
		specIn
		WorkDir    *string `json:"work_dir"`
		Labels     map[string]string
		Image      *string
		Declared   []outputIn `json:"declared_outputs"`
		AtCallTime bool       `json:"outputs_named_at_call_time"`
		MinCleanup *string    `json:"min_cleanup"`
	}
	if err := json.Unmarshal(fields, &in); err != nil {
		return nil, err
	}
	spec, findings := in.spec(oracle)
	if in.Kind == nil {
		spec.Kind = ""
	}
	if in.WorkDir != nil {
		spec.WorkDir = *in.WorkDir
	}
	if in.Image != nil {
		spec.Image.Reference = *in.Image
	}
	if in.MinCleanup != nil {
		spec.MinimumCleanup = word(*in.MinCleanup, "minimum_cleanup", sandbox.ParseCleanup, &findings)
	}
	spec.Labels, spec.OutputsNamedAtCallTime = in.Labels, in.AtCallTime
	spec.Outputs = map[string]sandbox.Output{}
	for i, d := range in.Declared {
		o, err := d.output()
		if err != nil {
			return nil, err
		}
		spec.Outputs[fmt.Sprintf("output%03d", i)] = o
	}
	_, problems := policy.CompileSpec(spec, sandbox.Known{})
	return append(findings, problems...), nil
}

func constructLimits(fields json.RawMessage, _ string) ([]sandbox.Finding, error) {
	var in struct {
		PerFile int64 `json:"max_bytes_per_file"`
		Total   int64 `json:"max_total_bytes"`
		Files   int64 `json:"max_files"`
	}
	if err := json.Unmarshal(fields, &in); err != nil {
		return nil, err
	}
	limits := limitsIn{in.PerFile, in.Total, in.Files}
	_, findings := policy.CompileSpec(sandbox.Spec{Kind: probedKind, FilesIn: limits.limits()}, sandbox.Known{})
	return findings, nil
}

func constructKey(fields json.RawMessage, _ string) ([]sandbox.Finding, error) {
	var in struct {
		Scope, Agent *string
		Thread       *string `json:"thread_id"`
		AgentID      *string `json:"agent_id"`
		AgentDir     *string `json:"agent_dir"`
		Call         string  `json:"call_id"`
	}
	if err := json.Unmarshal(fields, &in); err != nil {
		return nil, err
	}
	key := sandbox.Key{Call: in.Call}
	for _, part := range []struct {
		into *string
		from []*string
	}{{&key.Scope, []*string{in.Scope}}, {&key.Thread, []*string{in.Thread}}, {&key.Agent, []*string{in.AgentID, in.AgentDir}}} {
		for _, from := range part.from {
			if from != nil {
				*part.into = *from
			}
		}
	}
	return sandbox.FindingsAt(key.Validate(), nil), nil
}

func constructOutput(fields json.RawMessage, _ string) ([]sandbox.Finding, error) {
	var in outputIn
	if err := json.Unmarshal(fields, &in); err != nil {
		return nil, err
	}
	o, err := in.output()
	if err != nil {
		return sandbox.FindingsAt(err, nil), nil
	}
	requires := sandbox.SetOf(sandbox.CapabilityFilesOut)
	_, findings := policy.CompileSpec(sandbox.Spec{
		Kind: probedKind, Requires: &requires, Outputs: map[string]sandbox.Output{"out": o},
	}, sandbox.Known{})
	return findings, nil
}

// constructAttached declares the attachment on a backend that offers it.
func constructAttached(fields json.RawMessage, _ string) ([]sandbox.Finding, error) {
	var in struct {
		Scope    *string
		Seconds  *int64 `json:"auto_delete_seconds"`
		Channels []string
	}
	if err := json.Unmarshal(fields, &in); err != nil {
		return nil, err
	}
	var findings []sandbox.Finding
	d := sandbox.Declarations{Backend: "probe", Isolation: sandbox.IsolationVM}
	if in.Scope != nil {
		d.AttachedIdentity.Scope = word(*in.Scope, "scope", sandbox.ParseIdentityScope, &findings)
	}
	if in.Seconds != nil {
		d.AttachedIdentity.RetentionSeconds = *in.Seconds
	}
	for i, c := range in.Channels {
		channel, err := sandbox.ParseAuthorityChannel(c)
		findings = append(findings, sandbox.FindingsAt(err, sandbox.Path("channels", i))...)
		d.AttachedIdentity.Channels = d.AttachedIdentity.Channels.With(channel)
	}
	offered := sandbox.DefaultCapabilities()
	if d.AttachedIdentity.Attached() {
		offered = offered.With(sandbox.CapabilityAttachedIdentity)
	}
	d.Capabilities = &offered
	_, problems := policy.CompileDeclarations(d)
	for _, f := range problems {
		f.Code = sandbox.CodeContradiction // of the record, which is refused with what holds it
		findings = append(findings, f)
	}
	return findings, nil
}
