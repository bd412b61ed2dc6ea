package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// acasSubjects are the questions about ACAS that need no backend.
func acasSubjects() map[string]subject {
	return map[string]subject{"names_prebuilt": judgeNamesPrebuilt, "guest_gate": judgeGuestUser}
}

// acasPending are the operations of a backend that is not here yet.
func acasPending() []string {
	return []string{
		"boot_source", "capture_chunk", "capture_manifest", "concurrent", "config", "create_call", "delete_fails_later",
		"disk_image_base", "dispose", "dispose_beside", "image_identity", "label_value", "labels",
		"list_payload", "probe_call", "purge", "qualify", "reclaim", "removal_gate", "remove", "stat_payload",
	}
}

// judgeNamesPrebuilt asks whether text is a catalogue name or a registry reference.
func judgeNamesPrebuilt(v *vector) (answer, error) {
	var in struct{ Image string }
	var out struct{ Prebuilt bool }
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	return answer{ours: strconv.FormatBool(sandbox.NamesPrebuilt(in.Image)), theirs: strconv.FormatBool(out.Prebuilt)}, nil
}

// gateStep is one step at a backend whose guests say who they are.
type gateStep struct {
	Do          string
	Requires    []string
	Probe       json.RawMessage // {stdout, exit}, or a word for what went wrong
	ResumeFails bool            `json:"resume_fails"`
}

// manySteps is our answer where a backend's memory decides.
const manySteps = "what a backend remembers"

// judgeGuestUser puts the first acquire of a new sandbox to the rule about a guest's
// user. What a backend remembers of earlier ones is not the rule's.
func judgeGuestUser(v *vector) (answer, error) {
	var in struct {
		Steps []gateStep
		World json.RawMessage
	}
	var out struct {
		Results []struct {
			Served           string
			Refused          []string
			Probes, Warnings int
		}
	}
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	if len(in.Steps) != 1 || len(out.Results) != 1 || in.World != nil {
		return answer{ours: manySteps, theirs: "an answer"}, nil
	}
	requires, problems := sandbox.ParseSet[sandbox.Capability](in.Steps[0].Requires, sandbox.Path("requires"))
	if len(problems) > 0 {
		return answer{}, problems[0].Refusal(nil)
	}
	rule := sandbox.UserRule{Files: sandbox.WriteAuthorityRoot, Backend: "acas"}
	asks, warnings := 0, 0
	var user sandbox.GuestUser
	if rule.Asks(requires) {
		asks, user = 1, in.Steps[0].user()
	}
	blocked := rule.Blocked(user, requires)
	if f, found := rule.Finding(user, requires); found && f.Verdict == sandbox.Allow {
		warnings = 1
	}
	theirs := out.Results[0]
	slices.Sort(theirs.Refused)
	return answer{
		ours:   fmt.Sprintf("refused %q, %d questions, %d warnings", strings.Join(blocked.Strings(), " "), asks, warnings),
		theirs: fmt.Sprintf("refused %q, %d questions, %d warnings", strings.Join(theirs.Refused, " "), theirs.Probes, theirs.Warnings),
	}, nil
}

// user is who the guest says it is. A step that scripts nothing has a root.
func (s gateStep) user() sandbox.GuestUser {
	said := struct {
		Stdout string
		Exit   int
	}{Stdout: "0"}
	if s.Probe != nil && json.Unmarshal(s.Probe, &said) != nil {
		return sandbox.GuestUser{} // it did not answer
	}
	uid, err := strconv.ParseInt(strings.TrimSpace(said.Stdout), 10, 32)
	if err != nil || said.Exit != 0 {
		return sandbox.GuestUser{}
	}
	return sandbox.MeasuredUser(uid)
}

// otherDigits covers a guest that tells its uid in digits that are not ASCII.
func otherDigits(v *vector, _ answer) bool {
	return v.op == "guest_gate" && bytes.Contains(v.In, []byte(`"stdout":"\u0661\u0660"`))
}

// remembered covers what only a backend with a memory answers.
func remembered(v *vector, a answer) bool { return v.op == "guest_gate" && a.ours == manySteps }
