package conformance_test

import (
	"bytes"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// acasSubjects are the questions about ACAS that the layer above its engine answers.
func acasSubjects() map[string]subject {
	return map[string]subject{"names_prebuilt": judgeNamesPrebuilt, "guest_gate": judgeGuestUser, "concurrent": judgeAtOnce}
}

// acasPending are the operations of a backend that is not here yet.
func acasPending() []string {
	return []string{
		"boot_source", "capture_chunk", "capture_manifest", "config", "create_call", "delete_fails_later",
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

// otherDigits covers a guest that tells its uid in digits that are not ASCII.
func otherDigits(v *vector, _ answer) bool {
	return v.op == "guest_gate" && bytes.Contains(v.In, []byte(`"stdout":"\u0661\u0660"`))
}

// deadThenRemembered covers a sandbox that died where the image's last answer
// refuses: it is looked for and made again in one step, and the new one is asked.
func deadThenRemembered(v *vector, _ answer) bool {
	return v.op == "guest_gate" && bytes.Contains(v.In, []byte(`"resume_fails":true`)) && bytes.Contains(v.Out, []byte(`"next":"from_memory","probes":0`))
}
