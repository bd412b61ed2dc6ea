package azblobsink_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output/azblobsink"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output/objectsink"
)

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
