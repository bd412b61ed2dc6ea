package output_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

// TestAHostKilledWhileItLandsLeavesNothingHalfWay kills another process at random
// moments of a landing and lands once more, from here.
func TestAHostKilledWhileItLandsLeavesNothingHalfWay(t *testing.T) {
	t.Parallel()
	for name, host := range map[string]childLandings{
		"into new directories":      {},
		"into one that stands":      {Flat: true},
		"replacing what stands":     {Flat: true, Existing: output.ExistingReplace},
		"without waiting for disks": {Flat: true, Existing: output.ExistingReplace, SkipSync: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			host.Root, host.Scope, host.Landings, host.Files, host.Bytes = root, "s", 1, killedFiles, 3000
			if host.Flat && host.Existing == output.ExistingReplace {
				plantOld(t, root)
			}
			const moments = 20
			for moment := range moments {
				host.killed(t, moment)
				if !host.Flat {
					wantWholeLandings(t, root) // at once, before anybody tidies up
				}
				sink := openSink(t, root, host.options())
				d, err := sink.Begin(t.Context(), output.Origin{Owner: "other"})
				if err != nil {
					t.Fatal(err)
				}
				if err := d.Abort(); err != nil {
					t.Fatal(err)
				}
				if _, err := os.Lstat(filepath.Join(root, ".staging")); err == nil {
					t.Fatal("something of it is still staged")
				}
				landed := wantWholeLandings(t, root)
				if host.Flat && host.Existing == output.ExistingRefuse && landed > 0 {
					clean(t, root)
				}
			}
		})
	}
}

const killedFiles = 60

// killed runs the host until a random step of its landing, and a little further.
func (p *childLandings) killed(t *testing.T, moment int) {
	t.Helper()
	host, lines := p.start(t)
	step := rand.IntN(killedFiles) + 1
	if moment%2 == 0 {
		step = killedFiles + 1 // the commit
	}
	spin := rand.N(3 * time.Millisecond)
	for line := range lines {
		if step--; step == 0 {
			for begun := time.Now(); time.Since(begun) < spin; {
				continue
			}
			if err := host.Process.Kill(); err != nil && !strings.Contains(err.Error(), "finished") {
				t.Error(err)
			}
		}
		if strings.HasPrefix(line, "refused") {
			t.Errorf("the host was %s", line)
		}
	}
	_ = host.Wait() // killed, as a rule
}

// plantOld lets files stand that a landing replaces.
func plantOld(t *testing.T, root string) {
	t.Helper()
	for i := range killedFiles {
		path := filepath.Join(root, fmt.Sprintf("d%d/f%d", i%3, i))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func clean(t *testing.T, root string) {
	t.Helper()
	for i := range 3 {
		if err := os.RemoveAll(filepath.Join(root, fmt.Sprint("d", i))); err != nil {
			t.Fatal(err)
		}
	}
}

// wantWholeLandings checks that every directory of a landing holds all of its files,
// whole, and all of one time, and says how many there are.
func wantWholeLandings(t *testing.T, root string) int {
	t.Helper()
	landings := map[string]map[int]int{} // number of files by size, by landing
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == ".staging" {
				return filepath.SkipDir
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		base := filepath.Dir(filepath.Dir(path))
		if landings[base] == nil {
			landings[base] = map[int]int{}
		}
		landings[base][int(info.Size())]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for base, sizes := range landings {
		if len(sizes) != 1 || (sizes[3000] != killedFiles && sizes[3] != killedFiles) {
			t.Fatalf("%s holds files of sizes %v, want %d of one", filepath.Base(base), sizes, killedFiles)
		}
	}
	return len(landings)
}

func TestALandingUnderWayIsNeverSwept(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{})
	other := openSink(t, s.root, output.DirOptions{})
	d, err := s.sink.Begin(t.Context(), output.Origin{Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Stage(t.Context(), output.Artifact{Name: "x", Size: 1}, strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		landOne(t, other, output.Origin{Owner: "b", Call: fmt.Sprint(rand.Uint64())}, "y", 1)
	}
	if err := d.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	if err := d.Abort(); err != nil {
		t.Error(err)
	}
	if n := len(s.tree(t)); n != 4 {
		t.Errorf("%d files landed, want 4", n)
	}
}

// TestAnotherProcessesLandingIsNeverSwept holds a host at a step while this one lands.
func TestAnotherProcessesLandingIsNeverSwept(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	host, lines := (&childLandings{Root: root, Scope: "s", Landings: 1, Files: 10, Bytes: 10}).start(t)
	sink := openSink(t, root, output.DirOptions{})
	outcome := ""
	for line := range lines { // the pipe holds few lines, so this is in the midst of it
		if line == "staging" {
			landOne(t, sink, output.Origin{Owner: "b", Call: fmt.Sprint(rand.Uint64())}, "y", 1)
		}
		outcome = line
	}
	if err := host.Wait(); err != nil || outcome != "landed" {
		t.Errorf("the other host ended with %q, %v", outcome, err)
	}
}

func landOne(t *testing.T, sink output.Sink, from output.Origin, name string, size int) {
	t.Helper()
	if err := tryOne(t, sink, from, name, size); err != nil {
		t.Error(err)
	}
}

// tryOne lands one file of so many bytes.
func tryOne(t *testing.T, sink output.Sink, from output.Origin, name string, size int) error {
	t.Helper()
	d, err := sink.Begin(t.Context(), from)
	if err != nil {
		return err
	}
	_, err = d.Stage(t.Context(), output.Artifact{Name: name, Size: int64(size)}, strings.NewReader(strings.Repeat("x", size)))
	if err == nil {
		err = d.Commit(t.Context())
	}
	if abort := d.Abort(); abort != nil {
		t.Error(abort)
	}
	return err
}

var scopeA, scopeB = sandbox.Key{Scope: "a"}, sandbox.Key{Scope: "b"}
