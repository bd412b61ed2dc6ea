package conformance_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// vectorsDir is another folder of vectors to run in place of the stored ones. A
// relative one is looked for here and at the module's root.
var vectorsDir = flag.String("vectors", "", "run the vectors of `DIR`")

const storedVectors = "testdata/vectors"

// newest is the release whose answers are required unless a file says otherwise.
const newest = "0.51.1"

// A vector is one observed answer of the reference.
type vector struct {
	file   string
	ID     string          `json:"id"`
	Oracle string          `json:"oracle"`
	In     json.RawMessage `json:"in"`
	Out    json.RawMessage `json:"out"`
	Note   string          `json:"note"`

	op string
}

// answer is what a vector is compared by. The two texts are equal where we agree.
type answer struct {
	ours, theirs string
	// refusal is what our code refused with, if it did.
	refusal *sandbox.Finding
}

// A subject puts a vector's question to our code.
type subject func(v *vector) (answer, error)

// vectorFile is one file of vectors and how it is run.
type vectorFile struct {
	name string
	// required says which answers must be ours too, or differ by a line of the
	// table. The others are eras: their differences are printed.
	required func(v *vector) bool
	// subjects are by operation; "" is the file's only one.
	subjects map[string]subject
}

func (v *vector) in(into any) error  { return json.Unmarshal(v.In, into) }
func (v *vector) out(into any) error { return json.Unmarshal(v.Out, into) }

func ofNewest(v *vector) bool { return v.Oracle == newest }

func vectorFiles() []vectorFile {
	return []vectorFile{
		{"policy", policyRequired, map[string]subject{"": judgePolicy}},
		{"selection", ofNewest, map[string]subject{"": judgeSelection, "fold": judgeFold}},
		{"spec", ofNewest, specSubjects()},
		{"declarations", ofNewest, map[string]subject{"": judgeDeclarations}},
		{"egress", ofNewest, egressSubjects()},
		{"paths", ofNewest, pathSubjects()},
		{"artifact_names", ofNewest, nameSubjects()},
		{"outputs", ofNewest, map[string]subject{"": judgeOutputs}},
		{"registry", ofNewest, nil},
		{"acas_names", func(v *vector) bool { return v.Oracle != "0.28.0" }, acasSubjects()},
		{"docker_names", func(*vector) bool { return false }, nil},
	}
}

// TestVectors holds the engine against observed answers of the reference. A
// required answer that is not ours must be covered by a line of the table of
// deliberate differences; a line that covers nothing is removed.
func TestVectors(t *testing.T) {
	t.Parallel()
	dir, stored := findVectors(t)
	used := make([]int, len(differences))
	awaited := make([]int, len(pending))
	ran := 0
	for _, f := range vectorFiles() {
		vectors := readVectors(t, dir, f.name)
		ran += len(vectors)
		tallies := map[string]*tally{}
		for i := range vectors {
			v := &vectors[i]
			if tallies[v.Oracle] == nil {
				tallies[v.Oracle] = &tally{}
			}
			tallies[v.Oracle].judge(t, &f, v, used, awaited)
		}
		report(t, f.name, tallies)
	}
	if ran == 0 {
		t.Fatalf("no vectors in %s", dir)
	}
	for i, d := range differences {
		t.Logf("%5d deliberate  %s: %s (%s)", used[i], d.class, d.reason, d.decided)
		if used[i] == 0 && stored {
			t.Errorf("no vector differs by %q: remove the line", d.class)
		}
	}
	for i, p := range pending {
		t.Logf("%5d pending     %s %s: %s, comes with %s", awaited[i], p.file, p.operations(), p.reason, p.with)
		if awaited[i] == 0 && stored {
			t.Errorf("nothing of %s %s is pending: remove the line", p.file, p.operations())
		}
	}
}

// tally counts one file's vectors of one oracle.
type tally struct {
	total, required                         int
	matched, deliberate, pending, differing int
	mismatch                                int
	complaints, eras                        []string
}

func (c *tally) judge(t *testing.T, f *vectorFile, v *vector, used, awaited []int) {
	t.Helper()
	c.total++
	required := f.required(v)
	if required {
		c.required++
	}
	if i := pendingLine(v); i >= 0 {
		c.pending++
		awaited[i]++
		return
	}
	run := f.subjects[v.op]
	if run == nil {
		c.mismatch++
		c.complaints = append(c.complaints, v.ID+": no subject for operation "+v.op)
		return
	}
	a, err := run(v)
	if err != nil {
		a = answer{ours: "cannot be asked: " + err.Error(), theirs: "an answer"}
	}
	if a.ours == a.theirs {
		c.matched++
		return
	}
	if i := differenceLine(v, a); i >= 0 {
		c.deliberate++
		used[i]++
		return
	}
	if i := pendingDifference(v, a); i >= 0 {
		c.pending++
		awaited[i]++
		return
	}
	complaint := fmt.Sprintf("%s: ours %s; theirs %s; in %s", v.ID, a.ours, a.theirs, abridged(v.In))
	if required {
		c.mismatch++
		c.complaints = append(c.complaints, complaint)
		return
	}
	c.differing++
	c.eras = append(c.eras, complaint)
}

// judgeAbsent has nothing of ours to ask: the table says why.
func judgeAbsent(v *vector) (answer, error) {
	return answer{ours: "nothing to ask", theirs: string(v.Out)}, nil
}

func report(t *testing.T, file string, tallies map[string]*tally) {
	t.Helper()
	oracles := make([]string, 0, len(tallies))
	for oracle := range tallies {
		oracles = append(oracles, oracle)
	}
	slices.Sort(oracles)
	for _, oracle := range oracles {
		c := tallies[oracle]
		t.Logf("%-14s %-7s %5d vectors, %5d required: %5d matched %5d deliberate %5d pending %5d mismatch %5d of another era",
			file, oracle, c.total, c.required, c.matched, c.deliberate, c.pending, c.mismatch, c.differing)
		const shown = 25
		for i, complaint := range c.complaints {
			if i == shown {
				t.Errorf("%s %s: and %d more", file, oracle, len(c.complaints)-shown)
				break
			}
			t.Error(complaint)
		}
		for i, era := range c.eras {
			if i == shown {
				t.Logf("and %d more", len(c.eras)-shown)
				break
			}
			t.Log("another era: " + era)
		}
	}
}

func abridged(raw json.RawMessage) string {
	const most = 700
	if len(raw) <= most {
		return string(raw)
	}
	return string(raw[:most]) + "…"
}

// findVectors is the folder to run and whether it is the stored one.
func findVectors(t *testing.T) (dir string, stored bool) {
	t.Helper()
	if *vectorsDir == "" {
		return storedVectors, true
	}
	for _, dir := range []string{*vectorsDir, filepath.Join("..", "..", *vectorsDir)} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, false
		}
	}
	t.Fatalf("no folder %s", *vectorsDir)
	return "", false
}

// readVectors reads one file, packed or not. A folder need not have all files.
func readVectors(t *testing.T, dir, name string) []vector {
	t.Helper()
	path := filepath.Join(dir, name+".jsonl")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		path += ".gz"
		data, err = unpacked(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		t.Logf("%s has no %s", dir, name)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		v := vector{file: name}
		var asked struct {
			Op string `json:"op"`
		}
		err := json.Unmarshal(lines.Bytes(), &v)
		if err == nil {
			err = v.in(&asked)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		v.op = asked.Op
		vectors = append(vectors, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return vectors
}

func unpacked(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	packed, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return io.ReadAll(packed)
}

// text is a string of the vectors. What is not valid UTF-8 stands there in
// hexadecimal.
type text string

func (s *text) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("{")) {
		return json.Unmarshal(data, (*string)(s))
	}
	var wrapped struct {
		Hex string `json:"hex"`
	}
	if err := json.Unmarshal(data, &wrapped); err != nil {
		return err
	}
	raw, err := hex.DecodeString(wrapped.Hex)
	*s = text(raw)
	return err
}

// refusal is how the vectors write an error.
type refusal struct {
	Error    string   `json:"error"`
	Family   string   `json:"family"`
	Mentions []string `json:"mentions"`
}

// asText is a comparable form of an answer with parts.
func asText(parts any) string {
	b, err := json.Marshal(parts)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b))
}
