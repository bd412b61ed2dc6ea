package backend

import (
	"reflect"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// specFields are the fields of a spec under the names that people write. A test
// holds the table against the type.
var specFields = [...]struct {
	name string
	of   func(*sandbox.Spec) any
}{
	{"kind", func(s *sandbox.Spec) any { return s.Kind }},
	{"backend", func(s *sandbox.Spec) any { return s.Backend }},
	{"image", func(s *sandbox.Spec) any { return s.Image }},
	{"requires", func(s *sandbox.Spec) any { return s.RequiredCapabilities() }},
	{"minimum_isolation", func(s *sandbox.Spec) any { return s.MinimumIsolation }},
	{"isolation_scope", func(s *sandbox.Spec) any { return s.IsolationScope }},
	{"minimum_cleanup", func(s *sandbox.Spec) any { return s.MinimumCleanup }},
	{"os_family", func(s *sandbox.Spec) any { return s.OSFamily }},
	{"work_dir", func(s *sandbox.Spec) any { return s.WorkDir }},
	{"labels", func(s *sandbox.Spec) any { return s.Labels }},
	{"egress_mode", func(s *sandbox.Spec) any { return s.Egress.Mode }},
	{"egress_hosts", func(s *sandbox.Spec) any { return s.Egress.Hosts }},
	{"egress_rules", func(s *sandbox.Spec) any { return s.Egress.Rules }},
	{"egress_guarantees", func(s *sandbox.Spec) any { return s.Egress.Guarantees }},
	{"files_in_limits", func(s *sandbox.Spec) any { return s.FilesIn.Or(sandbox.DefaultTransferLimits()) }},
	{"files_out_limits", func(s *sandbox.Spec) any { return s.FilesOut.Or(sandbox.DefaultTransferLimits()) }},
	{"outputs", func(s *sandbox.Spec) any { return s.Outputs }},
	{"outputs_named_at_call_time", func(s *sandbox.Spec) any { return s.OutputsNamedAtCallTime }},
	{"identities", func(s *sandbox.Spec) any { return s.Identities }},
	{"maximum_identity_scope", func(s *sandbox.Spec) any { return s.MaximumIdentityScope }},
	{"identity_retention_seconds", func(s *sandbox.Spec) any { return s.IdentityRetentionSeconds }},
	{"program_profile", func(s *sandbox.Spec) any { return s.ProgramProfile }},
}

// reuseDiffers refuses a running sandbox that is not the one that is wanted. The
// sandbox itself only tells that its spec is another; which fields they are is
// known for one that this process made.
func reuseDiffers(fields string, made, wanted *sandbox.Spec) *sandbox.Refusal {
	if made != nil {
		if of := differingFields(made, wanted); of != "" {
			fields = strings.Replace(fields, "spec_digest", "spec_digest ("+of+")", 1)
		}
	}
	return sandbox.Finding{
		Code:     sandbox.CodeReuseDiffers,
		Found:    "a sandbox of this key and kind whose " + fields + " differs",
		Required: "the same owner, key, kind, spec and policy",
		Remedy:   "dispose the sandbox, then acquire",
	}.Refusal(nil)
}

func differingFields(a, b *sandbox.Spec) string {
	var names []string
	for _, field := range specFields {
		if !equal(field.of(a), field.of(b)) {
			names = append(names, field.name)
		}
	}
	return strings.Join(names, ", ")
}

// equal takes an empty list or map for none.
func equal(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if k := x.Kind(); (k == reflect.Slice || k == reflect.Map) && x.Len() == 0 && y.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a, b)
}
