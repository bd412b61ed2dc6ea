package conformance_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// gateStep is one step at a backend whose guests say who they are.
type gateStep struct {
	Do           string
	Requires     []string
	Probe        json.RawMessage // {stdout, exit}, or a word for what went wrong
	Thread, Kind string
	Image        string
	ImageID      string `json:"image_id"`
	ResumeFails  bool   `json:"resume_fails"`
}

// gateResult is what a step came to. Deletes of a disposal are those of all steps.
type gateResult struct {
	Served   string   `json:"served,omitempty"`
	Refused  []string `json:"refused,omitempty"`
	UIDKnown bool     `json:"uid_known"`
	Next     string   `json:"next,omitempty"`
	Failure  *string  `json:"failure"`
	Probes   int      `json:"probes"`
	Creates  int      `json:"creates"`
	Deletes  int      `json:"deletes"`
	Warnings int      `json:"warnings"`
}

// gateWorld is a backend that writes files as root, over an engine that does not
// know its guests' users.
type gateWorld struct {
	engine  *sandboxtest.Engine
	backend *backend.Backend

	mu      sync.Mutex
	said    json.RawMessage // by the next guest that is asked
	probes  int
	refuses map[string]string // what deleting fails with, by id or "" for all
}

func newGateWorld(refuses map[string]string) (*gateWorld, error) {
	w := &gateWorld{refuses: refuses}
	w.engine = sandboxtest.NewEngine(sandboxtest.Options{
		Access: []engine.Access{{As: sandbox.PrincipalRoot, Links: engine.Follow}}, UID: -1, Exec: w.exec,
	})
	w.engine.Intercept(w.deleting)
	declared := sandboxtest.Declarations(w.engine)
	can := declared.Capabilities.With(sandbox.CapabilityHostTools)
	declared.Capabilities = &can
	var err error
	w.backend, err = backend.New(w.engine, declared)
	return w, err
}

// exec answers id -u as the step scripts it. A step that scripts nothing has a root.
func (w *gateWorld) exec(_ context.Context, _ *sandboxtest.View, req engine.ExecRequest) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(req.Args, []string{"id", "-u"}) || req.Dir != "/" {
		return 0, fmt.Errorf("asked %q in %s", req.Args, req.Dir)
	}
	w.probes++
	said := struct {
		Stdout string
		Exit   int
	}{Stdout: "0\n"}
	if w.said != nil && json.Unmarshal(w.said, &said) != nil {
		return 0, errors.New(string(w.said))
	}
	_, err := io.WriteString(req.Stdout, said.Stdout)
	return said.Exit, err
}

func (w *gateWorld) deleting(r sandboxtest.Request) error {
	if r.Op != sandboxtest.OpDelete {
		return nil
	}
	switch cmp.Or(w.refuses[asServed(r.ID)], w.refuses[""]) {
	case "refused":
		return engine.ErrRefused
	case "unreachable":
		return engine.ErrUnreachable
	default: // what is not there is gone
		return nil
	}
}

// asServed is an id as the vectors have it.
func asServed(id string) string { return strings.Replace(id, "mem-", "sb-", 1) }

func (w *gateWorld) count(op sandboxtest.Op) int {
	n := 0
	for _, r := range w.engine.Requests() {
		if r.Op == op {
			n++
		}
	}
	return n
}

// counts are of what was asked up to now: questions, sandboxes made, deletions.
func (w *gateWorld) counts() (probes, creates, deletes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.probes, w.engine.Made(), w.count(sandboxtest.OpDelete)
}

func (w *gateWorld) request(s gateStep) (sandbox.AcquireRequest, error) {
	requires, problems := sandbox.ParseSet[sandbox.Capability](s.Requires, sandbox.Path("requires"))
	if len(problems) > 0 {
		return sandbox.AcquireRequest{}, problems[0].Refusal(nil)
	}
	// One digest for all: which specs share a sandbox is another rule's.
	digest := "sha256:" + strings.Repeat("0", 64)
	return sandbox.AcquireRequest{
		Owner: "o", Key: sandbox.Key{Scope: "s", Thread: cmp.Or(s.Thread, "t-1"), Agent: "a"},
		Spec: sandbox.Spec{
			Kind: cmp.Or(s.Kind, "wk"), Requires: &requires,
			Image: sandbox.Image{Reference: cmp.Or(s.Image, "root"), Digest: s.ImageID},
		},
		SpecDigest: digest, PolicyDigest: digest,
	}, nil
}

func (w *gateWorld) acquire(ctx context.Context, s gateStep, before string) (gateResult, error) {
	req, err := w.request(s)
	if err != nil {
		return gateResult{}, err
	}
	if s.ResumeFails {
		w.engine.Vanish(before)
	}
	w.said = s.Probe
	probes, creates, deletes := w.counts()
	acquired, err := w.backend.Acquire(ctx, req)
	var got gateResult
	got.Probes, got.Creates, got.Deletes = w.counts()
	got.Probes, got.Creates, got.Deletes = got.Probes-probes, got.Creates-creates, got.Deletes-deletes
	if _, left := errors.AsType[*sandbox.DisposalFailure](err); left {
		got.Warnings++
	}
	if err == nil {
		got.Served, got.Warnings = acquired.Session.Info().InstanceID, len(acquired.Findings)
		return got, nil
	}
	r := sandbox.RefusalOf(err)
	if !errors.Is(err, sandbox.CodeImageUserUnfit) {
		return got, err
	}
	_, blocked, _ := strings.Cut(strings.TrimSuffix(r.Found, " required"), " with ")
	got.Refused = strings.Split(blocked, ", ")
	got.UIDKnown, got.Next = strings.Contains(r.Found, "uid "), "asks_again"
	if strings.Contains(r.Remedy, "answered from memory") {
		got.Next = "from_memory"
	}
	return got, nil
}

// judgeGuestUser plays a vector's steps at a backend.
func judgeGuestUser(v *vector) (answer, error) {
	var in struct {
		Steps []gateStep
		World struct {
			All string            `json:"delete_all"`
			By  map[string]string `json:"delete"`
		}
	}
	var out struct{ Results []gateResult }
	if err := errors.Join(v.in(&in), v.out(&out)); err != nil {
		return answer{}, err
	}
	refuses := in.World.By
	if in.World.All != "" {
		refuses = map[string]string{"": in.World.All}
	}
	w, err := newGateWorld(refuses)
	if err != nil {
		return answer{}, err
	}
	ctx := context.Background()
	var ours []gateResult
	last := "" // served
	for _, s := range in.Steps {
		var got gateResult
		if s.Do == "dispose" {
			got = w.dispose(ctx)
		} else if got, err = w.acquire(ctx, s, last); err != nil {
			return answer{}, err
		}
		if got.Served != "" {
			last, got.Served = got.Served, asServed(got.Served)
		}
		ours = append(ours, got)
	}
	for i := range out.Results {
		slices.Sort(out.Results[i].Refused)
	}
	return answer{ours: asText(ours), theirs: asText(out.Results)}, w.backend.Close(ctx)
}

func (w *gateWorld) dispose(ctx context.Context) (got gateResult) {
	failure := w.backend.Dispose(ctx, sandbox.DisposeRequest{Owner: "o", Key: sandbox.Key{Scope: "s", Thread: "t-1", Agent: "a"}})
	if failure != nil {
		code := failure.Code.String()
		got.Failure = &code
	}
	_, _, got.Deletes = w.counts()
	return got
}

// judgeAtOnce acquires several sandboxes at once.
func judgeAtOnce(v *vector) (answer, error) {
	var in struct {
		gateStep

		Keys  int
		Kinds []string
	}
	type outcome struct {
		Results                  []string
		Creates, Probes, Deletes int
	}
	var theirs outcome
	if err := errors.Join(v.in(&in), v.out(&theirs)); err != nil {
		return answer{}, err
	}
	w, err := newGateWorld(nil)
	if err != nil {
		return answer{}, err
	}
	w.said = in.Probe
	ours := outcome{Results: make([]string, len(in.Kinds))}
	var all sync.WaitGroup
	for i, kind := range in.Kinds {
		s := in.gateStep
		s.Kind = kind
		if in.Keys > 1 {
			s.Thread = fmt.Sprint("t-", i)
		}
		req, err := w.request(s)
		if err != nil {
			return answer{}, err
		}
		all.Go(func() {
			acquired, err := w.backend.Acquire(context.Background(), req)
			switch {
			case err == nil:
				ours.Results[i] = asServed(acquired.Session.Info().InstanceID)
			case errors.Is(err, sandbox.CodeImageUserUnfit):
				ours.Results[i] = "SandboxCapabilityNotSupported"
			}
		})
	}
	all.Wait()
	slices.Sort(ours.Results) // who comes first is nobody's
	ours.Probes, ours.Creates, ours.Deletes = w.counts()
	return answer{ours: asText(ours), theirs: asText(theirs)}, w.backend.Close(context.Background())
}
