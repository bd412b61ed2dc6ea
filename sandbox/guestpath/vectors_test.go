package guestpath_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
)

// text is a string of the vectors, which may be invalid UTF-8 in hexadecimal.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("{")) {
		var wrapped struct{ Hex string }
		if err := json.Unmarshal(data, &wrapped); err != nil {
			return err
		}
		raw, err := hex.DecodeString(wrapped.Hex)
		*t = text(raw)
		return err
	}
	var s string
	err := json.Unmarshal(data, &s)
	*t = text(s)
	return err
}

type vector struct {
	ID string
	In struct {
		Op               string
		Path             text
		WorkingDirectory text `json:"working_directory"`
		Base             string
		WorkDir          string `json:"work_dir"`
		Entries          map[string]string
		IncludeSelf      bool `json:"include_self"`
		Name             text
		Normalization    string
		Outputs          []vectorOutput
	}
	Out struct {
		Error       string
		Rule        string
		Path        *text
		Relative    *string
		Chain       []string
		Directories []string
		Stats       []string
		Name        text
		Delivered   []text
		Identical   *bool
	}
}

type vectorOutput struct {
	Path        text
	Name        *text
	Disposition string
}

func readVectors(t *testing.T, name string) []vector {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		vectors = append(vectors, v)
	}
	if len(vectors) == 0 {
		t.Fatalf("%s has no vectors", name)
	}
	return vectors
}

// difference is a class of vectors that this package answers otherwise on
// purpose. Each class must still differ, so that no line here goes stale.
type difference struct {
	class   string
	reason  string
	decided string
	applies func(vector) bool
}

var deliberateDifferences = []difference{
	{
		"relative base", "a relative base confines to wherever a process happens to stand",
		"Resolve: base is absolute",
		func(v vector) bool {
			return isPathOp(v, "confine") && !strings.HasPrefix(string(v.In.WorkingDirectory), "/")
		},
	},
	{
		"control characters", "NUL ends a path in every system call; the others forge lines in logs and listings",
		"guest path grammar: CodePathInvalid",
		func(v vector) bool {
			return isPathOp(v, "confine") && strings.ContainsFunc(string(v.In.Path), unicode.IsControl)
		},
	},
	{
		"invalid UTF-8", "the reference carries lone surrogates as text; a guest path is UTF-8",
		"guest path grammar: CodePathInvalid",
		func(v vector) bool { return isPathOp(v, "confine") && !utf8.ValidString(string(v.In.Path)) },
	},
	{
		"long name", "no Linux file system takes a name of more than 255 bytes; it is refused before anything starts",
		"guest path grammar: MaxSegment",
		func(v vector) bool {
			return isPathOp(v, "confine") && strings.Contains(string(v.In.Path), strings.Repeat("a", guestpath.MaxSegment+1))
		},
	},
	{
		"working directory elsewhere", "a call's working directory stays at or below the storage base, absolute or not",
		"WorkDir",
		func(v vector) bool {
			return isPathOp(v, "resolve_working_directory") && strings.HasPrefix(string(v.In.WorkingDirectory), "/") &&
				(v.In.Base != "/" || strings.Contains(string(v.In.WorkingDirectory), `\`) ||
					strings.HasPrefix(string(v.In.WorkingDirectory), "//"))
		},
	},
	{
		"normalised after lower-casing", "J̌ in lower case is ǰ in two characters, which a normalising file system takes for one",
		"CollisionKey: NFC again",
		func(v vector) bool { return v.In.Op == "set" && v.In.Outputs[0].Path == "ǰ" },
	},
	{
		"device with trailing space", `Windows opens the device for "con .txt" as well`,
		"PortableName",
		func(v vector) bool {
			return v.In.Op == "portable" && slices.Contains([]text{"CON .txt", "nul .x", "lpt1 .txt"}, v.In.Name)
		},
	},
	{
		"console devices", "CONIN$ and CONOUT$ open the console from any directory",
		"PortableName",
		func(v vector) bool { return v.In.Op == "portable" && v.In.Name == "CONOUT$" },
	},
}

func isPathOp(v vector, op string) bool { return v.In.Op == op }

func TestReferenceAgreesButForDeliberateDifferences(t *testing.T) {
	t.Parallel()
	used := map[string]int{}
	for _, file := range []string{"paths.jsonl", "artifact_names.jsonl"} {
		for _, v := range readVectors(t, file) {
			complaint := compare(v)
			class := ""
			for _, d := range deliberateDifferences {
				if d.applies(v) {
					class = d.class
				}
			}
			switch {
			case complaint == "":
			case class != "":
				used[class]++
			default:
				t.Errorf("%s: %s", v.ID, complaint)
			}
		}
	}
	for _, d := range deliberateDifferences {
		if used[d.class] == 0 {
			t.Errorf("no vector differs as %q any more: remove the line", d.class)
		}
	}
}

// compare says how this package's answer differs from the vector's, or nothing.
func compare(v vector) string {
	in, out := v.In, v.Out
	switch in.Op {
	case "confine":
		got, err := guestpath.Resolve(string(in.WorkingDirectory), string(in.Path))
		return comparePath(v, got, err)
	case "resolve_working_directory":
		got, err := guestpath.WorkDir(in.Base, string(in.WorkingDirectory))
		return comparePath(v, got, err)
	case "relative_to":
		rel, ok := guestpath.Relative(string(in.Path), in.Base)
		return unless(ok == (out.Relative != nil) && (!ok || rel == *out.Relative), rel, ok)
	case "chain":
		chain := guestpath.Ancestors(string(in.WorkingDirectory), string(in.Path))
		return unless(slices.Equal(chain, out.Chain), chain)
	case "work_dir_ancestors":
		if out.Error != "" {
			return unless(guestpath.ValidateBase(in.WorkDir) != nil, "accepted")
		}
		chain := guestpath.Ancestors(in.WorkDir, in.WorkDir)
		return unless(slices.Equal(chain, out.Directories), chain)
	case "walk", "write", "read", "list", "delete":
		return compareWalk(v)
	case "validate":
		rule := ruleOf(guestpath.ValidateArtifactName(string(in.Name)))
		return unless(rule == out.Rule, rule)
	case "portable":
		name := guestpath.PortableName(string(in.Name))
		return unless(name == string(out.Name) && guestpath.PortableName(name) == name, name)
	case "set":
		return compareSet(v)
	default:
		return "unknown operation " + in.Op
	}
}

func unless(agrees bool, got ...any) string {
	if agrees {
		return ""
	}
	answer, _ := json.Marshal(got)
	return "answered " + string(answer)
}

func comparePath(v vector, got string, err error) string {
	if v.Out.Error != "" {
		return unless(errors.Is(err, sandbox.ErrValue), got)
	}
	if err != nil {
		return err.Error()
	}
	return unless(v.Out.Path != nil && got == string(*v.Out.Path), got)
}

// compareWalk replays the reference's walk over a scripted guest: which
// directories it asks about, in which order, is what Ancestors promises.
func compareWalk(v vector) string {
	in, out := v.In, v.Out
	base, target := string(in.WorkingDirectory), string(in.Path)
	resolve := guestpath.Resolve
	if in.Op == "write" || in.Op == "delete" {
		resolve = guestpath.ResolveBelow
	}
	if in.Op != "walk" {
		var err error
		if target, err = resolve(base, target); err != nil {
			return unless(out.Error != "" && len(out.Stats) == 0, err.Error())
		}
	}
	includeSelf := in.IncludeSelf || in.Op == "list"
	asked := guestpath.Ancestors(base, target)
	if !includeSelf && target != guestpath.Clean(base) {
		asked = asked[:len(asked)-1]
	} else if !includeSelf {
		// The parent of base lies above it, and the walk covers base regardless.
		asked = guestpath.Ancestors(base, base)
	}
	stats := []string{}
	for _, dir := range asked {
		stats = append(stats, dir)
		kind, exists := in.Entries[dir]
		if !exists {
			break // nothing below what is absent can be a link
		}
		if kind != "directory" {
			return unless(slices.Equal(stats, out.Stats) && out.Error != "", stats)
		}
	}
	if in.Op == "write" {
		stats = append(stats, target)
	}
	return unless(slices.Equal(stats, out.Stats), stats)
}

// ruleOf recognises the rule of a refused name by what it requires.
func ruleOf(err error) string {
	refusal := sandbox.RefusalOf(err)
	if refusal == nil {
		return ""
	}
	for rule, required := range map[string]string{
		"empty": "a name", "backslash": "segments separated by /", "absolute": "a relative name",
		"traversal": "no .. segment", "segment": "a name between any two slashes and at the end",
		"control": "no control characters", "utf8": "UTF-8",
		"length": "at most 255 bytes of UTF-8, slashes included",
	} {
		if refusal.Required == required {
			return rule
		}
	}
	return refusal.Required
}

// compareSet names outputs as a collection does: each path and each delivered
// name is validated, then names that land are compared.
func compareSet(v vector) string {
	var delivered []text
	taken := map[string]text{}
	for _, output := range v.In.Outputs {
		if err := guestpath.ValidateArtifactName(string(output.Path)); err != nil {
			return unless(v.Out.Rule == ruleOf(err), ruleOf(err))
		}
		if output.Disposition == "consume" {
			continue
		}
		name := string(output.Path)
		if output.Name != nil {
			name = string(*output.Name)
		}
		if v.In.Normalization != "none" {
			name = guestpath.NormalizeArtifactName(name)
		}
		if err := guestpath.ValidateArtifactName(name); err != nil {
			return unless(v.Out.Rule == ruleOf(err), ruleOf(err))
		}
		key := guestpath.CollisionKey(name)
		if first, clash := taken[key]; clash {
			return unless(v.Out.Identical != nil && *v.Out.Identical == (string(first) == name), "collision", first, name)
		}
		taken[key] = text(name)
		delivered = append(delivered, text(name))
	}
	return unless(v.Out.Error == "" && slices.Equal(delivered, v.Out.Delivered), delivered)
}
