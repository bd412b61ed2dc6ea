package azblobsink_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/log"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"go.uber.org/goleak"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output/azblobsink"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output/objectsink"
)

// TestMain has the client log all it can, and looks for secrets in it when all tests
// are over.
func TestMain(m *testing.M) {
	var (
		mu     sync.Mutex
		leaked []string
		lines  int
	)
	log.SetListener(func(_ log.Event, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines++
		if holdsSecret(line) {
			leaked = append(leaked, line)
		}
	})
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Println(err)
		code = 1
	}
	mu.Lock()
	defer mu.Unlock()
	if len(leaked) > 0 || (code == 0 && lines == 0) {
		fmt.Printf("of %d lines logged %d hold a secret: %.600q\n", lines, len(leaked), leaked)
		code = 1
	}
	os.Exit(code)
}

func holdsSecret(text string) bool {
	return strings.Contains(text, token) || strings.Contains(text, signature) || strings.Contains(text, url.QueryEscape(signature))
}

type credential struct{}

func (credential) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: token, ExpiresOn: time.Now().Add(time.Hour)}, nil
}

func options(s *service) *container.ClientOptions {
	return &container.ClientOptions{ClientOptions: policy.ClientOptions{
		Transport: s.server.Client(),
		Retry:     policy.RetryOptions{MaxRetries: 2, RetryDelay: time.Millisecond, MaxRetryDelay: 2 * time.Millisecond},
	}}
}

func newStore(t *testing.T, s *service) *azblobsink.Store {
	t.Helper()
	return opened(t)(azblobsink.Open(s.server.URL+"/box", credential{}, options(s)))
}

func newStoreBySignature(t *testing.T, s *service) *azblobsink.Store {
	t.Helper()
	signed := s.server.URL + "/box?sv=2024-05-04&sp=racwdl&sig=" + url.QueryEscape(signature)
	return opened(t)(azblobsink.Open(signed, nil, options(s)))
}

func opened(t *testing.T) func(*azblobsink.Store, error) *azblobsink.Store {
	t.Helper()
	return func(store *azblobsink.Store, err error) *azblobsink.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
}

func newSink(t *testing.T, store objectsink.Store) *objectsink.Sink {
	t.Helper()
	sink, err := objectsink.New(store, objectsink.Options{Prefix: "out/", Existing: output.ExistingReplace})
	if err != nil {
		t.Fatal(err)
	}
	return sink
}

var origin = output.Origin{Owner: "o", Key: sandbox.Key{Scope: "tenant"}, Call: "1"}

func land(t *testing.T, sink output.Sink, files map[string]string) (err error) {
	t.Helper()
	ctx := t.Context()
	d, err := sink.Begin(ctx, origin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Abort()) }()
	var artifacts []output.Artifact
	for name, content := range files {
		artifacts = append(artifacts, output.Artifact{Name: name, Size: int64(len(content)), MediaType: "text/plain"})
	}
	slices.SortFunc(artifacts, func(a, b output.Artifact) int { return strings.Compare(a.Name, b.Name) })
	if planner, ok := d.(output.Planner); ok {
		if err := planner.Plan(ctx, artifacts); err != nil {
			return err
		}
	}
	for _, a := range artifacts {
		if _, err := d.Stage(ctx, a, strings.NewReader(files[a.Name])); err != nil {
			return err
		}
	}
	return d.Commit(ctx)
}

// holds is what an origin has landed, as it stands in the service.
func holds(t *testing.T, s *service, sink *objectsink.Sink) map[string]string {
	t.Helper()
	entries, err := sink.Landed(t.Context(), origin)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		b := s.blobs[e.Object]
		if b == nil {
			t.Errorf("%s is in the index and does not stand", e.Name)
			continue
		}
		if sink.Locate(e) != s.server.URL+"/box/"+e.Object {
			t.Errorf("%s is said to be at %s", e.Name, sink.Locate(e))
		}
		files[e.Name] = string(b.content)
	}
	return files
}

func same(a, b map[string]string) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

func TestOutputsLandAsBlobs(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T, *service) *azblobsink.Store{"by a token": newStore, "by a signature": newStoreBySignature} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			sink := newSink(t, open(t, s))
			files := map[string]string{"a.txt": "one", "dir/é\u202e con.": "two", "empty": "", "big": strings.Repeat("0123456789", 900_000)}
			if err := land(t, sink, files); err != nil {
				t.Fatal(err)
			}
			if !same(holds(t, s, sink), files) || len(s.blocks) != 0 || len(s.data()) != len(files) {
				t.Errorf("%d blobs, %d with blocks left", len(s.data()), len(s.blocks))
			}
			if s.largest > 4<<20 {
				t.Errorf("%d bytes came in one request", s.largest)
			}
		})
	}
}

// TestAFailureAtAnyRequestHasNoSecondEffect has each request of a landing fail once,
// in each way. The client asks again, and what lands is what lands without failures.
func TestAFailureAtAnyRequestHasNoSecondEffect(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]failure{
		"an error before it was done": brokenBefore, "an error after it was done": brokenAfter,
		"throttled": throttled, "the connection ends": dropped, "the answer is cut off": cut,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after := map[string]string{"a": "new", "b": strings.Repeat("x", 100), "k": "kept"}
			for at := 1; ; at++ {
				s := newService(t)
				sink := newSink(t, newStore(t, s))
				if err := land(t, sink, map[string]string{"a": "old", "k": "kept"}); err != nil {
					t.Fatal(err)
				}
				begun := len(s.requests)
				s.fail = func(request int, _ *http.Request) failure {
					if request == begun+at {
						return mode
					}
					return works
				}
				err := land(t, sink, map[string]string{"a": "new", "b": after["b"]})
				s.fail = nil
				if len(s.requests) < begun+at {
					if at < 10 {
						t.Errorf("a landing has %d requests", at-1)
					}
					return
				}
				if failed := s.requests[begun+at-1]; err != nil || !same(holds(t, s, sink), after) || len(s.data()) != 3 {
					t.Errorf("%s: %v, and it holds %v in %d blobs", failed, err, holds(t, s, sink), len(s.data()))
				}
			}
		})
	}
}

// TestAServiceThatStaysDownLandsNothing has every request from one on fail, and then
// looks at the service when it is up again.
func TestAServiceThatStaysDownLandsNothing(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]failure{"with an error": brokenBefore, "forbidden": forbidden, "without an answer": dropped, "by its conditions": precondition} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, at := range []string{"PUT block ", "PUT blocklist ", "GET blob ", "GET list "} {
				s := newService(t)
				store := newStoreBySignature(t, s)
				down := false
				s.fail = func(_ int, r *http.Request) failure {
					now := strings.HasPrefix(describe(r), at)
					down = down || now
					if now || (down && mode != precondition) {
						return mode
					}
					return works
				}
				err := land(t, newSink(t, store), map[string]string{"a": "1", "b": "2"})
				s.fail = nil
				if !errors.Is(err, sandbox.CodeLandingFailed) {
					t.Errorf("%s: %v", at, err)
				}
				if text := fmt.Sprintf("%v %+v %#v", err, err, err); holdsSecret(text) || strings.Contains(text, "sig=") {
					t.Errorf("%s: the error holds a secret: %s", at, text)
				}
				if got := holds(t, s, newSink(t, store)); mode != dropped && len(got) != 0 {
					t.Errorf("%s: it holds %v", at, got)
				}
			}
		})
	}
}
