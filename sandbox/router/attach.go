package router

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// Attachment is one workload that was admitted, ready to be acquired for keys.
type Attachment struct {
	router       *Router
	name         string
	spec         sandbox.Spec
	compiled     *policy.CompiledSpec
	backend      *registered
	specDigest   manifest.Digest
	scope        sandbox.IsolationScope
	findings     []sandbox.Finding
	policyDigest manifest.Digest
}

// AttachOption narrows what may be attached.
type AttachOption func(*attachOptions)

type attachOptions struct {
	spec *sandbox.Spec
}

// WithSpec says which workload the caller's code was written for. It must equal
// the manifest's, field by field; otherwise attach refuses with
// [sandbox.CodeSpecDiffers].
func WithSpec(spec sandbox.Spec) AttachOption {
	return func(o *attachOptions) { o.spec = &spec }
}

// Attach judges one workload of the manifest and returns it ready for use. The
// refusals are those that a plan would have shown, with the same codes and paths.
func (r *Router) Attach(ctx context.Context, workload string, options ...AttachOption) (*Attachment, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var opts attachOptions
	for _, option := range options {
		option(&opts)
	}
	spec, ok := r.manifest.Workloads[workload]
	if !ok {
		return nil, refuse([]sandbox.Finding{{
			Code: sandbox.CodeWorkloadUnknown, Path: sandbox.Path("workloads", sandbox.MapKey(workload)),
			Found: sandbox.Echo(workload), Required: "one of " + someOf(r.manifest.WorkloadNames()),
			Remedy: "attach a workload of the manifest, or add this one to it",
		}})
	}
	subject := Subject(workload)
	encoded, err := manifest.EncodeWorkload(spec)
	if err != nil {
		return nil, err
	}
	if err := sameSpec(opts.spec, encoded, subject); err != nil {
		return nil, err
	}
	backend, ok := r.backends[spec.Backend]
	if !ok {
		return nil, refuse([]sandbox.Finding{{
			Code: sandbox.CodeNoBackend, Subject: subject, Path: sandbox.Path("backend"),
			Found: sandbox.Echo(spec.Backend), Required: "a backend this host registered: " + strings.Join(r.names, ", "),
			Remedy: "register the backend in router.Options.Backends",
		}})
	}
	compiled, findings := policy.CompileSpec(spec, sandbox.Known{})
	if err := refuse(findings); err != nil {
		return nil, err
	}
	a := &Attachment{
		router: r, name: workload, spec: spec, compiled: compiled, backend: backend,
		specDigest: manifest.DigestOf(encoded), policyDigest: r.digest,
		scope: policy.EffectiveScope(r.policy, compiled),
	}
	decision := a.decide()
	r.observe(AttachDecided{Workload: workload, Backend: spec.Backend, Decision: decision})
	if err := decision.Err(); err != nil {
		return nil, err
	}
	a.findings = decision.Findings
	return a, nil
}

// maxNamed is how many of the manifest's workloads a message names.
const maxNamed = 20

// someOf quotes names that a document chose, the first few of many.
func someOf(names []string) string {
	quoted := make([]string, 0, maxNamed)
	for _, name := range names[:min(len(names), maxNamed)] {
		quoted = append(quoted, sandbox.Echo(name))
	}
	text := strings.Join(quoted, ", ")
	if more := len(names) - len(quoted); more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

// Subject is how messages call a workload.
func Subject(workload string) string { return policy.WorkloadSubject(workload) }

func sameSpec(given *sandbox.Spec, encoded []byte, subject string) error {
	if given == nil {
		return nil
	}
	theirs, err := manifest.EncodeWorkload(*given)
	if err != nil {
		return err
	}
	if bytes.Equal(theirs, encoded) {
		return nil
	}
	return refuse([]sandbox.Finding{{
		Code: sandbox.CodeSpecDiffers, Subject: subject,
		Found:    "a spec with digest " + string(manifest.DigestOf(theirs)),
		Required: "the manifest's, " + string(manifest.DigestOf(encoded)),
		Remedy:   "bring the code and the manifest to the same workload",
	}})
}

// decide asks the one decision again, on what is in force now.
func (a *Attachment) decide() sandbox.Decision {
	d := policy.Decide(a.router.policy, a.backend.compiled, a.compiled)
	a.about(d.Findings)
	return d
}

// about makes the workload the subject of findings.
func (a *Attachment) about(findings []sandbox.Finding) []sandbox.Finding {
	for i := range findings {
		findings[i].Subject = Subject(a.name)
	}
	return findings
}

// Spec is the workload as the manifest has it.
func (a *Attachment) Spec() sandbox.Spec { return a.spec }

// Workload is the workload's name in the manifest.
func (a *Attachment) Workload() string { return a.name }

// Scope is the isolation scope in force, the stricter of the policies' and the
// workload's: under [sandbox.ScopeCall] a key names a call, under
// [sandbox.ScopeConversation] it does not.
func (a *Attachment) Scope() sandbox.IsolationScope { return a.scope }

// Findings are the warnings that the decision left: what it let through and
// wants somebody to know.
func (a *Attachment) Findings() []sandbox.Finding { return a.findings }
