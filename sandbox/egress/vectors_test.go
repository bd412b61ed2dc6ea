package egress

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// vectorOracle is the release whose answers are required; the others had no host
// grammar.
const vectorOracle = "0.51.1"

// A vector is one observed answer of the reference implementation.
type vector struct {
	ID     string `json:"id"`
	Oracle string `json:"oracle"`
	In     struct {
		Op      string        `json:"op"`
		Mode    string        `json:"mode"`
		Entries []vectorEntry `json:"entries"`
		Rule    vectorEntry   `json:"rule"`
		A       vectorSide    `json:"a"`
		B       vectorSide    `json:"b"`
	} `json:"in"`
	Out struct {
		Error   string        `json:"error"`
		Entries []vectorEntry `json:"entries"`
		Text    string        `json:"text"`
		Same    bool          `json:"same"`
	} `json:"out"`
}

type vectorSide struct {
	Mode    string        `json:"mode"`
	Entries []vectorEntry `json:"entries"`
}

// vectorEntry is a host or a rule of the reference.
type vectorEntry struct {
	Host      string
	Short     bool
	Methods   []string
	Paths     []string
	Authority *string
}

func (e *vectorEntry) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &e.Host); err == nil {
		e.Short = true
		return nil
	}
	var text struct {
		Hex       string   `json:"hex"`
		Host      string   `json:"host"`
		Methods   []string `json:"methods"`
		Paths     []string `json:"paths"`
		Authority *string  `json:"authority"`
	}
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*e = vectorEntry{Host: text.Host, Methods: text.Methods, Paths: text.Paths, Authority: text.Authority}
	return nil
}

// parse reads the entry with this package: a list that the reference leaves out
// is any.
func (e *vectorEntry) parse() (Rule, []sandbox.Finding) {
	if e.Short {
		return ParseShort(e.Host, nil)
	}
	stated := func(list []string) []string {
		if list == nil {
			return []string{"*"}
		}
		return list
	}
	return ParseRule("", sandbox.EgressRule{
		Host: e.Host, Ports: []string{"443"}, Methods: stated(e.Methods), Paths: stated(e.Paths),
	}, nil)
}

// deliberate lists where this package answers otherwise, on purpose. A vector may
// differ only by a line of this table, and each line must be used.
var deliberate = []struct {
	class, reason string
	covers        func(v *vector) bool
}{
	{
		"authority", "a credential for a host is no part of where it may be reached; other packages hold it",
		anyEntry(func(e vectorEntry) bool { return e.Authority != nil }),
	},
	{
		"same host twice", "rules are a union, and two rules of one host say different things of it on purpose",
		func(v *vector) bool {
			return v.Out.Error != "" && len(v.In.Entries) > 1 && !slices.ContainsFunc(v.In.Entries, func(e vectorEntry) bool {
				_, findings := e.parse()
				return len(findings) > 0
			})
		},
	},
	{
		"trailing dot", "one trailing dot is dropped on both sides, so that the name of a rule and of a request cannot miss each other",
		anyEntry(func(e vectorEntry) bool { return strings.HasSuffix(e.Host, ".") }),
	},
	{
		"U-labels", "names are turned into A-labels (UTS 46), so that people can write them in their script",
		anyEntry(func(e vectorEntry) bool { return !isASCII(e.Host) }),
	},
	{
		"addresses", "addresses and ranges are a kind of rule of their own",
		anyEntry(func(e vectorEntry) bool {
			h, err := ParseHost(e.Host)
			return err == nil && h.IsAddress()
		}),
	},
	{
		"any path", `["*"] is how any path is said, as for ports and methods: an absent list is refused`,
		anyEntry(func(e vectorEntry) bool { return slices.Equal(e.Paths, []string{"*"}) }),
	},
	{
		"paths with two readings", `"//", ";" and escaped dots are refused in rules as in requests`,
		anyEntry(func(e vectorEntry) bool {
			return slices.ContainsFunc(e.Paths, func(p string) bool {
				_, kind := pathFlaw(p)
				return kind == pathEmptySegment || kind == pathParameter || kind == pathDotSegment
			})
		}),
	},
}

func anyEntry(is func(vectorEntry) bool) func(*vector) bool {
	return func(v *vector) bool { return slices.ContainsFunc(v.In.Entries, is) }
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	file, err := os.Open("testdata/vectors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	var vectors []vector
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		vectors = append(vectors, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return vectors
}

func TestEntriesAreJudgedAsTheReferenceJudgesThem(t *testing.T) {
	t.Parallel()
	used := make([]int, len(deliberate))
	judged, same := 0, 0
	for _, v := range readVectors(t) {
		if v.Oracle != vectorOracle || v.In.Op != "allow" || v.In.Mode != "allowlist" || len(v.In.Entries) == 0 {
			continue
		}
		judged++
		got := judge(&v)
		if got == "" {
			same++
			continue
		}
		i := slices.IndexFunc(deliberate, func(d struct {
			class, reason string
			covers        func(v *vector) bool
		},
		) bool {
			return d.covers(&v)
		})
		if i < 0 {
			t.Errorf("%s: %s: %+v", v.ID, got, v.In.Entries)
			continue
		}
		used[i]++
	}
	t.Logf("%d vectors of %s, %d the same", judged, vectorOracle, same)
	for i, n := range used {
		t.Logf("%3d deliberate: %s (%s)", n, deliberate[i].class, deliberate[i].reason)
		if n == 0 {
			t.Errorf("no vector differs by %q: remove the line", deliberate[i].class)
		}
	}
	if judged == 0 {
		t.Error("no vectors")
	}
}

// judge says how this package's answer differs from the vector's, or "".
func judge(v *vector) string {
	var parsed []Rule
	for _, e := range v.In.Entries {
		if e.Authority != nil {
			return "authority is not read here"
		}
		r, findings := e.parse()
		if len(findings) > 0 {
			if v.Out.Error != "" {
				return ""
			}
			return "refused: " + findings[0].Refusal(nil).Error()
		}
		parsed = append(parsed, r)
	}
	if v.Out.Error != "" {
		return "accepted, the reference refuses"
	}
	// What the reference keeps is what was given, without repetitions.
	var kept []Rule
	for _, e := range v.Out.Entries {
		r, findings := e.parse()
		if len(findings) > 0 {
			return "kept entry is refused"
		}
		kept = append(kept, r)
	}
	if !NewSet(parsed).Equal(NewSet(kept)) {
		return "another set is kept"
	}
	return ""
}

func TestRulesReadAsTheReferenceWritesThem(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors(t) {
		if v.Oracle != vectorOracle || v.In.Op != "render" {
			continue
		}
		r, findings := v.In.Rule.parse()
		if len(findings) > 0 {
			t.Errorf("%s: %v", v.ID, findings)
			continue
		}
		// We add the port, sort methods, and write every prefix with its star.
		text := strings.Replace(r.String(), ":443", "", 1)
		words := func(s string) []string {
			list := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("(), ", r) })
			for i := range list {
				list[i] = strings.TrimSuffix(list[i], "/*")
			}
			slices.Sort(list)
			return list
		}
		if !slices.Equal(words(text), words(v.Out.Text)) {
			t.Errorf("%s: %q, the reference writes %q", v.ID, text, v.Out.Text)
		}
	}
}

func TestSetsAreEqualWhereTheReferenceSaysTheSame(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors(t) {
		if v.In.Op != "acas_same_policy" || v.In.A.Mode != "allowlist" || v.In.B.Mode != "allowlist" {
			continue
		}
		side := func(entries []vectorEntry) *Set {
			var rules []Rule
			for _, e := range entries {
				r, findings := e.parse()
				if len(findings) > 0 {
					t.Fatalf("%s: %v", v.ID, findings)
				}
				rules = append(rules, r)
			}
			return NewSet(rules)
		}
		if got := side(v.In.A.Entries).Equal(side(v.In.B.Entries)); got != v.Out.Same {
			t.Errorf("%s: equal %v, the reference says %v", v.ID, got, v.Out.Same)
		}
	}
}
