package azblobsink_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
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

func TestErrorsSayWhatTheServiceSaidAndNoSecret(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := newStoreBySignature(t, s)
	s.fail = func(int, *http.Request) failure { return forbidden }
	_, _, err := store.Read(t.Context(), "some/key", 10)
	if got := fmt.Sprint(err); got != "reading some/key: status 403, AuthenticationFailed" {
		t.Errorf("it says %q", got)
	}
	var said *azblobsink.Error
	if !errors.As(err, &said) || said.Status != http.StatusForbidden {
		t.Errorf("it is %#v", err)
	}
	s.server.Close()
	for what, err := range map[string]error{
		"read":   second(store.Read(t.Context(), "k", 10)),
		"swap":   store.Swap(t.Context(), "k", []byte("{}"), ""),
		"list":   store.List(t.Context(), "k", func(objectsink.Object) error { return nil }),
		"delete": store.Delete(t.Context(), "k"),
	} {
		if err == nil || holdsSecret(fmt.Sprintf("%+v", err)) || strings.Contains(err.Error(), "127.0.0.1") || !strings.Contains(err.Error(), "the connection failed to dial") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second(_ []byte, _ string, err error) error { return err }

func TestTheStoreKeepsItsPromises(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store, ctx := newStore(t, s), t.Context()
	if _, _, err := store.Read(ctx, "k", 10); !errors.Is(err, objectsink.ErrAbsent) {
		t.Errorf("nothing there: %v", err)
	}
	if err := store.Delete(ctx, "k"); err != nil {
		t.Errorf("deleting nothing: %v", err)
	}
	if err := store.Swap(ctx, "k", []byte("one"), ""); err != nil {
		t.Fatal(err)
	}
	if err := store.Swap(ctx, "k", []byte("two"), ""); !errors.Is(err, objectsink.ErrConflict) {
		t.Errorf("creating twice: %v", err)
	}
	content, version, err := store.Read(ctx, "k", 3)
	if err != nil || string(content) != "one" {
		t.Errorf("read %q, %v", content, err)
	}
	if _, _, err := store.Read(ctx, "k", 2); err == nil {
		t.Error("more was read than asked for")
	}
	if err := store.Swap(ctx, "k", []byte("two"), version); err != nil {
		t.Error(err)
	}
	if err := store.Swap(ctx, "k", []byte("three"), version); !errors.Is(err, objectsink.ErrConflict) {
		t.Errorf("replacing what is no longer there: %v", err)
	}
	for i := range 2*pageSize + 1 {
		if err := store.Swap(ctx, fmt.Sprint("many/", i), []byte("x"), ""); err != nil {
			t.Fatal(err)
		}
	}
	listed := 0
	if err := store.List(ctx, "many/", func(o objectsink.Object) error {
		listed++
		if o.Size != 1 || o.Modified.Year() != 2031 {
			t.Errorf("listed %+v", o)
		}
		return nil
	}); err != nil || listed != 2*pageSize+1 {
		t.Errorf("%d listed, %v", listed, err)
	}
	stop := errors.New("enough")
	if err := store.List(ctx, "", func(objectsink.Object) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestABlobIsNeverWrittenOver(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store, ctx := newStore(t, s), t.Context()
	stage := func(content string) objectsink.Staged {
		t.Helper()
		staged, err := store.Stage(ctx, "k", strings.NewReader(content), int64(len(content)), "")
		if err != nil {
			t.Fatal(err)
		}
		return staged
	}
	one := stage("one")
	if len(s.data()) != 0 {
		t.Error("it stands before its commit")
	}
	if err := errors.Join(one.Commit(ctx), one.Commit(ctx)); err != nil {
		t.Errorf("committing twice: %v", err)
	}
	if err := stage("two").Commit(ctx); !errors.Is(err, objectsink.ErrConflict) {
		t.Errorf("committing over another: %v", err)
	}
	if b := s.blobs["k"]; string(b.content) != "one" || b.kind != "application/octet-stream" {
		t.Errorf("it holds %q of %s", b.content, b.kind)
	}
}

func TestContentThatEndsEarlyOrFailsIsNotSent(t *testing.T) {
	t.Parallel()
	s := newService(t)
	store := newStore(t, s)
	broken := errors.New("the guest is gone")
	_, err := store.Stage(t.Context(), "k", io.MultiReader(strings.NewReader("ab"), &failing{broken}), 5, "")
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := store.Stage(t.Context(), "k", strings.NewReader("ab"), 5, ""); err == nil {
		t.Error("two bytes of five were taken")
	}
	if len(s.blobs) != 0 {
		t.Error("something stands")
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// TestALargeBlobIsNeverHeldWhole sends 64 MiB to a service that forgets them.
func TestALargeBlobIsNeverHeldWhole(t *testing.T) { //nolint:paralleltest // it measures the process
	forget := &forgetful{}
	client, err := container.NewClientWithNoCredential("https://forgetful.invalid/box", &container.ClientOptions{ClientOptions: policy.ClientOptions{Transport: forget}})
	if err != nil {
		t.Fatal(err)
	}
	store := opened(t)(azblobsink.New(client))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const size = 64 << 20
	if _, err := store.Stage(t.Context(), "k", io.LimitReader(zeros{}, size), size, ""); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if forget.bytes != size || forget.requests != 16 {
		t.Errorf("%d bytes in %d requests", forget.bytes, forget.requests)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 10<<20 {
		t.Errorf("%d bytes were allocated for %d", allocated, size)
	}
}

type forgetful struct {
	bytes    int64
	requests int
}

func (f *forgetful) Do(r *http.Request) (*http.Response, error) {
	n, err := io.Copy(io.Discard, struct{ io.Reader }{r.Body})
	f.bytes += n
	f.requests++
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil)), Request: r}, err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestAStoreNeedsItsClient(t *testing.T) {
	t.Parallel()
	if _, err := azblobsink.New(nil); err == nil {
		t.Error("a store without a client was opened")
	}
	_, err := azblobsink.Open("https://account.invalid/box\x7f?sig="+url.QueryEscape(signature), nil, nil)
	if err == nil || holdsSecret(err.Error()) {
		t.Errorf("got %v", err)
	}
}
