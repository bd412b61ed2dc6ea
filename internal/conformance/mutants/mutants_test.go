package mutants_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// mutant is something with one thing wrong.
type mutant struct {
	// name says what is wrong.
	name string
	// by is the probe that has to notice, whoever else does.
	by string
	// also have to notice, too.
	also []string
	// only narrows the suites that are run; nil is all. A mutant of a real sandbox
	// is run against those that are about what is wrong with it.
	only []string
	// make answers it as a subject, whose sandboxes end with the test.
	make func(t *testing.T) conformance.Subject
}

// notices collects which probes noticed anything, for the test that every one does.
type notices struct {
	mu     sync.Mutex
	probes map[string]string // the first mutant that a probe noticed
	partly bool              // some mutants could not be made on this machine
}

var noticed notices

func (n *notices) add(probe, mutant string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.probes == nil {
		n.probes = map[string]string{}
	}
	if n.probes[probe] == "" {
		n.probes[probe] = mutant
	}
}

// TestEveryMutantIsNoticedAndEveryProbeNotices runs the suites against all of them.
func TestEveryMutantIsNoticedAndEveryProbeNotices(t *testing.T) { //nolint:tparallel // the group waits for its parallel tests, and then the probes are counted
	t.Parallel()
	t.Run("mutants", func(t *testing.T) {
		for _, k := range kinds() {
			t.Run(k.name, func(t *testing.T) {
				t.Parallel()
				for _, m := range k.mutants() {
					t.Run(m.name, func(t *testing.T) {
						t.Parallel()
						hunt(t, k.name, m)
					})
				}
			})
		}
	})
	if run := flag.Lookup("test.run"); t.Failed() || noticed.partly || run != nil && strings.Contains(run.Value.String(), "/") {
		return // not all of them were hunted
	}
	for _, s := range conformance.Suites() {
		for _, p := range s.Probes {
			probe := s.Name + "/" + p.Name
			if (noticed.probes[probe] == "") != (unnoticing[probe] != "") {
				t.Errorf("%s: noticed %q; the reason why it would not is %q", probe, noticed.probes[probe], unnoticing[probe])
			}
		}
	}
}

// hunt runs the suites against one mutant.
func hunt(t *testing.T, kind string, m mutant) {
	t.Helper()
	made := false
	defer func() {
		if !made {
			noticed.mu.Lock()
			defer noticed.mu.Unlock()
			noticed.partly = true
		}
	}()
	subject := m.make(t)
	made = true
	required := append([]string{m.by}, m.also...)
	if subject.Only = m.only; m.only == nil && kind != "layer" && kind != "engine" && kind != "host" {
		// Real sandboxes take their time: only what has to notice is asked.
		subject.Only = required
	}
	// A race may be lost by those who attack; then it is run again.
	for range maxRaces {
		by := run(t, subject, kind+": "+m.name)
		required = slices.DeleteFunc(required, func(probe string) bool { return slices.Contains(by, probe) })
		races := slices.DeleteFunc(slices.Clone(required), func(probe string) bool { return !strings.HasPrefix(probe, "RACES/") })
		if len(races) == 0 || len(races) < len(required) {
			break
		}
		subject.Only = races
	}
	if len(required) > 0 {
		t.Errorf("not noticed by %s", strings.Join(required, ", "))
	}
}

const maxRaces = 5

// run answers which probes noticed the mutant.
func run(t *testing.T, subject conformance.Subject, name string) []string {
	t.Helper()
	results, err := conformance.Run(t.Context(), subject)
	if err != nil {
		t.Fatal(err)
	}
	var by []string
	for _, r := range results {
		if !r.Outcome.Failed() {
			continue
		}
		if strings.HasPrefix(r.Detail, "acquire: ") && (strings.HasPrefix(name, "sandbox: ") || strings.HasPrefix(name, "outlet: ")) {
			t.Fatalf("it does not start, which is not what is wrong with it: %s", r.Detail)
		}
		by = append(by, r.Suite+"/"+r.Probe)
		noticed.add(r.Suite+"/"+r.Probe, name)
		t.Logf("%s %s/%s: %.300s", r.Outcome, r.Suite, r.Probe, r.Detail)
	}
	return by
}

// inMemory is a layer over the engine in memory, changed by an option of each kind.
type inMemory struct {
	options sandboxtest.Options
	// engine wraps the engine, guest what it starts, layer the layer.
	engine func(*sandboxtest.Engine) engine.Engine
	guest  func(e *sandboxtest.Engine, g engine.Guest) engine.Guest
	layer  func(e *sandboxtest.Engine, b *backend.Backend) conformance.Backend
}

var (
	beneath = engine.Access{As: sandbox.PrincipalGuest, Links: engine.Beneath}
	follow  = engine.Access{As: sandbox.PrincipalGuest, Links: engine.Follow}
)

func (m inMemory) subject(t *testing.T) conformance.Subject {
	t.Helper()
	if m.options.RunCode == nil {
		m.options.RunCode = sandboxtest.Script
	}
	if m.options.Access == nil {
		m.options.Access = []engine.Access{beneath, follow}
	}
	e := sandboxtest.NewEngine(m.options)
	declarations := sandboxtest.Declarations(e)
	var under engine.Engine = e
	if m.guest != nil {
		under = starts{Engine: e, guest: m.guest}
	}
	if m.engine != nil {
		under = m.engine(e)
	}
	b, err := backend.New(under, declarations)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) }) // a broken one may have calls that never end
	subject := conformance.Subject{
		Name: "memory", Backend: b, Spec: sandbox.Spec{Kind: "probe", Requires: declarations.Capabilities},
		Behind:   func(id string) (conformance.Guest, error) { return e.View(id), nil },
		Left:     holds(e),
		Programs: sandboxtest.ScriptPrograms(),
	}
	if m.layer != nil {
		subject.Backend = m.layer(e, b)
	}
	return subject
}

func (m inMemory) mutant(name, by string) mutant {
	return mutant{name: name, by: by, make: m.subject}
}

// holds lists an engine's sandboxes.
func holds(e engine.Engine) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		listed, err := e.List(ctx, nil)
		var ids []string
		for _, l := range listed {
			ids = append(ids, l.ID)
		}
		return ids, err
	}
}

// starts wraps every guest of an engine.
type starts struct {
	*sandboxtest.Engine
	guest func(e *sandboxtest.Engine, g engine.Guest) engine.Guest
}

func (s starts) Start(ctx context.Context, req engine.StartRequest) (engine.Started, error) {
	started, err := s.Engine.Start(ctx, req)
	if err == nil {
		started.Guest = s.guest(s.Engine, started.Guest)
	}
	return started, err
}

// TestMain lets a copy of this program stand in for bubblewrap; see bwrap_linux_test.go.
func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); strings.HasPrefix(name, standIn) || isStandIn() {
		os.Exit(actAsBubblewrap())
	}
	os.Exit(runInOwnNetwork(m))
}
