package conformance_test

import (
	"encoding/json"
	"slices"
	"strings"
)

// outputsWhere covers a collection of a kind.
func outputsWhere(is func(*outputsIn, *outputsOut, *collected) bool) func(*vector, answer) bool {
	return func(v *vector, a answer) bool {
		var in outputsIn
		var out outputsOut
		var ours collected
		return v.in(&in) == nil && v.out(&out) == nil && json.Unmarshal([]byte(a.ours), &ours) == nil && is(&in, &out, &ours)
	}
}

// fileWhere covers a collection that asked about a file of a kind.
func fileWhere(is func(fileIn) bool) func(*vector, answer) bool {
	return outputsWhere(func(in *outputsIn, out *outputsOut, _ *collected) bool {
		asked := out.collected().Asked
		for path, f := range in.Files {
			if slices.Contains(asked, "stat "+path) && is(f) {
				return true
			}
		}
		return false
	})
}

// neverAnswered: an error that no guest call of ours can answer.
func neverAnswered(f fileIn) bool {
	for _, class := range []string{f.StatError, f.ReadError} {
		if _, known := guestErrors[class]; class != "" && !known {
			return true
		}
	}
	return false
}

func notFoundRaised(f fileIn) bool { return f.StatError == "FileNotFoundError" }
func negativeSize(f fileIn) bool   { return f.Size != nil && *f.Size < 0 }

// grown: more is read than the look said.
func grown(f fileIn) bool { return f.Size != nil && f.Bytes != nil && *f.Bytes > *f.Size }

func perCallSink(in *outputsIn, out *outputsOut, _ *collected) bool {
	return in.PerCall && in.CallID == nil && out.Error == "ValueError"
}

// sinkFailed: the sink's own error goes through in both. Ours was asked no more
// of the guest than the reference, and has landed nothing.
func sinkFailed(in *outputsIn, out *outputsOut, ours *collected) bool {
	asked := out.collected().Asked
	return in.SinkError != nil && out.Error == in.SinkError.Error && ours.Refused == "the sink's own" && len(ours.Landed) == 0 &&
		len(ours.Asked) <= len(asked) && slices.Equal(ours.Asked, asked[:len(ours.Asked)])
}

// A landing reason explains one name's different end.
type landingReason func(v *vector, in *landingIn, ours, theirs string) bool

// landingReasons are all there are: a vector may have several names.
func landingReasons() []landingReason {
	return []landingReason{nameJudged, linkRefused, hostPathKept, keptInPlace, shownShort}
}

// nameJudged: the sink judges the name itself.
func nameJudged(_ *vector, _ *landingIn, ours, _ string) bool {
	return ours == "SandboxArtifactNameInvalid"
}

// linkRefused: there are links in the sink, and none is followed.
func linkRefused(_ *vector, in *landingIn, ours, _ string) bool {
	linked := false
	for _, e := range in.Tree {
		linked = linked || e.Kind == "symlink"
	}
	return linked && ours == "SandboxLandingNotConfined"
}

// hostPathKept: the same refusal in our words, without the host's path.
func hostPathKept(_ *vector, _ *landingIn, ours, theirs string) bool {
	return ours == "SandboxLandingExists" && strings.HasSuffix(theirs, "naming the host's path")
}

// keptInPlace: an older release overwrote what stood there.
func keptInPlace(v *vector, in *landingIn, ours, theirs string) bool {
	return v.Oracle != newest && in.Existing == "" && ours == "SandboxLandingExists" && strings.Contains(theirs, " shown ")
}

// shownShort: both landed, and a long name is shown cut.
func shownShort(_ *vector, _ *landingIn, ours, theirs string) bool {
	before, _, landed := strings.Cut(ours, " shown ")
	there, _, alike := strings.Cut(theirs, " shown ")
	return landed && alike && before == there && strings.Contains(ours, "… (")
}

// landingWhere covers deliveries of which at least one differs for the reason,
// and each that differs for one of all.
func landingWhere(reason landingReason) func(*vector, answer) bool {
	return func(v *vector, a answer) bool {
		var in landingIn
		var ours, theirs landedNames
		if v.op != "fs_sink" || v.in(&in) != nil || json.Unmarshal([]byte(a.ours), &ours) != nil ||
			json.Unmarshal([]byte(a.theirs), &theirs) != nil || len(ours.Results) != len(theirs.Results) ||
			!slices.Equal(ours.Outside, theirs.Outside) || ours.Secret != theirs.Secret {
			return false
		}
		found := false
		for i, o := range ours.Results {
			t := theirs.Results[i]
			if o == t {
				continue
			}
			if !slices.ContainsFunc(landingReasons(), func(r landingReason) bool { return r(v, &in, o, t) }) {
				return false
			}
			found = found || reason(v, &in, o, t)
		}
		return found
	}
}
