// Package planjson reads what `terraform show -json PLAN` prints, as far as this
// provider's objects are in it: the manifests and workloads a plan would leave
// behind, with what is not known yet marked beside each value.
//
// It streams. Everything that is not a planned change of this provider is
// skipped without being kept, so that a plan of 50 MB costs the memory of its
// largest resource. It decides nothing and repeats nothing of a value in an
// error but through [sandbox.Echo].
//
// Read [Read] and [Plan].
package planjson

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// MaxPlan is the largest plan that is read, in bytes.
const MaxPlan = 256 << 20

// Plan is what a plan says about this provider's objects.
type Plan struct {
	FormatVersion    string
	TerraformVersion string
	// Errored: planning failed. What was refused is not in the plan at all.
	Errored bool
	// Incomplete: the plan leaves something of the configuration out.
	Incomplete bool
	// Deferred are the addresses that the plan puts off to a later one.
	Deferred []string

	Manifests []Manifest
	Workloads []Workload
	// Policies counts the policies that stay or come.
	Policies int
	// Written are the blocks of this provider as the configuration has them.
	Written []Written
}

// Manifest is one planned sandbox_manifest.
type Manifest struct {
	Address string
	// Document is the manifest's document, nil while it is not known.
	Document []byte
	Policy   Policy
	// Workloads are by name; WorkloadsKnown says whether these are all.
	Workloads      map[string]Workload
	WorkloadsKnown bool
}

// Workload is one planned sandbox_workload, or one inside a manifest.
type Workload struct {
	// Address is empty inside a manifest.
	Address string
	Spec    sandbox.Spec
	Known   sandbox.Known
	// Findings say what could not be read.
	Findings []sandbox.Finding
	// Policy is nil inside a manifest.
	Policy *Policy
	// Facts is the text of backend_facts. FactsKnown is false while it is not
	// known.
	Facts      string
	FactsKnown bool
	// Decided: the provider itself had all it needed. It may have judged under a
	// policy that stands nowhere in the plan.
	Decided bool
}

// Policy is a policy as it was given to another object.
type Policy struct {
	Policy   sandbox.Policy
	Known    sandbox.Known
	Findings []sandbox.Finding
}

// Ours reports whether a provider's address, host and all, is this provider's.
func Ours(address string) bool {
	return address == "sandbox-iac/sandbox" || strings.HasSuffix(address, "/sandbox-iac/sandbox")
}

// Looks reports whether the beginning of a file looks like a plan and not like a
// document of ours: an object that says format_version first.
func Looks(head []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(head))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return false
	}
	name, err := d.ReadToken()
	if err != nil || name.Kind() != '"' {
		return false
	}
	switch name.String() {
	case "format_version", "resource_changes", "terraform_version", "planned_values":
		return true
	default:
		return false
	}
}

type change struct {
	Address  string `json:"address"`
	Mode     string `json:"mode"`
	Type     string `json:"type"`
	Provider string `json:"provider_name"`
	Change   struct {
		Actions []string `json:"actions"`
		After   any      `json:"after"`
		Unknown any      `json:"after_unknown"`
	} `json:"change"`
}

// Read reads a plan to its end. A file that is no plan, of a format that is not
// known, or too large, is a refusal.
func Read(r io.Reader) (Plan, error) {
	limited := &io.LimitedReader{R: r, N: MaxPlan + 1}
	p, err := read(jsontext.NewDecoder(limited))
	switch {
	case limited.N <= 0:
		return Plan{}, sandbox.Finding{
			Code: sandbox.CodeDocumentTooLarge, Found: "more than " + strconv.Itoa(MaxPlan) + " bytes",
			Required: "a plan of at most that", Remedy: "plan a part of the configuration",
		}.Refusal(nil)
	case err != nil:
		return Plan{}, malformed(err)
	case !strings.HasPrefix(p.FormatVersion, "1."):
		return Plan{}, sandbox.Finding{
			Code: sandbox.CodeDocumentVersion, Path: sandbox.Path("format_version"), Found: sandbox.Echo(p.FormatVersion),
			Required: "a plan of format 1.x", Remedy: "give what terraform show -json PLAN prints",
		}.Refusal(nil)
	}
	return p, nil
}

func read(d *jsontext.Decoder) (Plan, error) {
	var p Plan
	if d.PeekKind() != '{' {
		return p, errors.New("not an object")
	}
	err := members(d, func(name string) (err error) {
		switch name {
		case "format_version":
			err = json.UnmarshalDecode(d, &p.FormatVersion)
		case "terraform_version":
			err = json.UnmarshalDecode(d, &p.TerraformVersion)
		case "errored":
			err = json.UnmarshalDecode(d, &p.Errored)
		case "complete":
			complete := true
			err = json.UnmarshalDecode(d, &complete)
			p.Incomplete = !complete
		case "configuration":
			p.Written, err = readConfiguration(d)
		case "resource_changes":
			err = each(d, p.add)
		case "deferred_changes":
			err = each(d, func(deferred struct {
				Change change `json:"resource_change"`
			},
			) {
				p.Deferred = append(p.Deferred, deferred.Change.Address)
			})
		default:
			err = d.SkipValue()
		}
		return err
	})
	if err != nil {
		return p, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return p, errors.New("more after the plan")
	}
	return p, nil
}

// each reads an array element by element and keeps none. Null is an empty array.
func each[T any](d *jsontext.Decoder, take func(T)) error {
	if d.PeekKind() == 'n' {
		return d.SkipValue()
	}
	if token, err := d.ReadToken(); err != nil {
		return err
	} else if token.Kind() != '[' {
		return errors.New("not an array")
	}
	for d.PeekKind() != ']' {
		var element T
		if err := json.UnmarshalDecode(d, &element); err != nil {
			return err
		}
		take(element)
	}
	_, err := d.ReadToken()
	return err
}

// add keeps a change of one of this provider's resources that leaves it there.
func (p *Plan) add(c change) {
	if c.Mode != "managed" || !Ours(c.Provider) || c.Change.After == nil {
		return
	}
	o := object{reading: &reading{}, after: fields(c.Change.After), unknown: c.Change.Unknown}
	switch c.Type {
	case "sandbox_policy":
		p.Policies++
	case "sandbox_workload":
		p.Workloads = append(p.Workloads, readWorkload(c.Address, o, true))
	case "sandbox_manifest":
		p.Manifests = append(p.Manifests, readManifest(c.Address, o))
	}
}

func malformed(err error) error {
	if sandbox.RefusalOf(err) != nil {
		return err
	}
	f := sandbox.Finding{
		Code: sandbox.CodeDocumentSyntax, Found: "not a plan: " + strings.TrimPrefix(err.Error(), "jsontext: "),
		Required: "what terraform show -json PLAN prints", Remedy: "write the file again: terraform show -json PLAN > plan.json",
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		f.Found = "the end of the file inside the plan"
	}
	return f.Refusal(err)
}
