package imageregistry_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/imageregistry"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// endless writes until nobody reads any more, and says how much it was.
func endless(rw http.ResponseWriter, r *http.Request) (written int64) {
	chunk := []byte(strings.Repeat(sentinel+" ", 1<<12))
	for r.Context().Err() == nil && written < 1<<30 {
		n, err := rw.Write(chunk)
		written += int64(n)
		if err != nil {
			break
		}
	}
	return written
}

func isBlob(r *http.Request) bool     { return strings.Contains(r.URL.Path, "/blobs/") }
func isManifest(r *http.Request) bool { return strings.Contains(r.URL.Path, "/manifests/") }

func TestLookReadsNoMoreThanItsBound(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(*http.Request) bool{
		"a configuration without end": isBlob,
		"a manifest without end":      isManifest,
		"a greeting without end":      func(r *http.Request) bool { return r.URL.Path == "/v2/" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := overTLS(t)
			reference := w.push(t, "team/tool:1", image(t, "0", "linux/amd64"))
			written := make(chan int64, 8)
			w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
				if !at(r) {
					return false
				}
				rw.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
				written <- endless(rw, r)
				return true
			})
			_, err := look(t, w.client(private), reference, "")
			if name != "a greeting without end" { // nobody reads it, and the answer stands in its head
				refused(t, err, sandbox.CodeRegistryAnswerInvalid, "reference")
			}
			if n := <-written; n > 64<<20 {
				t.Errorf("%d bytes were sent", n)
			}
		})
	}
}

func TestLookBelievesNoSizeThatIsTooLarge(t *testing.T) {
	t.Parallel()
	w := overTLS(t)
	reference := w.push(t, "team/tool:1", image(t, "0", "linux/amd64"))
	w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
		if isManifest(r) {
			rw.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			fmt.Fprintf(rw, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",`+
				`"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":1073741824,"digest":"sha256:%064d"},"layers":[]}`, 1)
			return true
		}
		return false
	})
	_, err := look(t, w.client(private), reference, "")
	refused(t, err, sandbox.CodeRegistryAnswerInvalid, "reference")
	for _, r := range w.asked() {
		if isBlob(r) {
			t.Error("the blob was asked for")
		}
	}
}

func TestLookEndsInItsTime(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(*http.Request) bool{
		"a greeting":      func(r *http.Request) bool { return r.URL.Path == "/v2/" },
		"a manifest":      isManifest,
		"a configuration": isBlob,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := overTLS(t)
			reference := w.push(t, "team/tool:1", image(t, "0", "linux/amd64"))
			left := make(chan struct{})
			w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
				if !at(r) {
					return false
				}
				if f, ok := rw.(http.Flusher); ok && name == "a configuration" {
					rw.WriteHeader(http.StatusOK)
					f.Flush()
				}
				select {
				case <-r.Context().Done():
				case <-left:
				}
				return true
			})
			t.Cleanup(func() { close(left) })
			cfg := w.config(private)
			cfg.Limits.Time = 150 * time.Millisecond
			_, err := look(t, imageregistry.New(cfg), reference, "")
			refused(t, err, sandbox.CodeRegistryUnreachable, "reference", "no answer within 150ms")
		})
	}
}

func TestLookFollowsNoLoop(t *testing.T) {
	t.Parallel()
	w := overTLS(t)
	reference := w.push(t, "team/tool:1", image(t, "0", "linux/amd64"))
	for name, at := range map[string]func(*http.Request) bool{"of blobs": isBlob, "of manifests": isManifest, "of greetings": func(*http.Request) bool { return true }} {
		n := 0
		w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
			if !at(r) {
				return false
			}
			n++
			http.Redirect(rw, r, fmt.Sprintf("%s?%d", r.URL.Path, n), http.StatusTemporaryRedirect)
			return true
		})
		_, err := look(t, w.client(private), reference, "")
		refused(t, err, sandbox.CodeRegistryAnswerInvalid, "reference", "redirects")
		if got := len(w.asked()); got > 12 {
			t.Errorf("%s: %d requests", name, got)
		}
	}
}

func TestLookFollowsARedirectWithinTheRegistry(t *testing.T) {
	t.Parallel()
	w := overTLS(t)
	reference := w.push(t, "team/tool:1", image(t, "1000", "linux/amd64"))
	w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
		if !isBlob(r) || r.URL.RawQuery != "" {
			return false
		}
		http.Redirect(rw, r, r.URL.Path+"?again", http.StatusTemporaryRedirect)
		return true
	})
	if got, err := look(t, w.client(private), reference, ""); err != nil || got.Variants[0].User != "1000" {
		t.Errorf("%+v, %v", got, err)
	}
}

// rewritten answers what the registry has at a place, changed.
func (w *world) rewritten(at func(*http.Request) bool, change func([]byte) []byte) {
	inner := w.Config.Handler
	depth := 0
	w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
		if !at(r) || depth > 0 {
			return false
		}
		depth++
		defer func() { depth-- }()
		recorder := httptest.NewRecorder()
		w.mu.Lock()
		before := w.before
		w.before = nil
		w.mu.Unlock()
		inner.ServeHTTP(recorder, r)
		w.mu.Lock()
		w.before = before
		w.mu.Unlock()
		body := change(recorder.Body.Bytes())
		maps.Copy(rw.Header(), recorder.Header())
		rw.Header().Set("Content-Length", fmt.Sprint(len(body)))
		rw.WriteHeader(recorder.Code)
		_, _ = rw.Write(body)
		return true
	})
}

func TestLookHoldsContentToItsDigest(t *testing.T) {
	t.Parallel()
	as := func(from, to string) func([]byte) []byte {
		return func(b []byte) []byte { return []byte(strings.Replace(string(b), from, to, 1)) }
	}
	w := overTLS(t)
	img := image(t, "1654", "linux/amd64")
	tag := w.push(t, "team/tool:1", img)
	pinned := w.host + "/team/tool@" + digestOf(t, img)
	indexed := w.push(t, "team/index:1", index(t, [2]string{"1654", "linux/amd64"}))

	w.rewritten(isBlob, as("1654", "0000"))
	_, err := look(t, w.client(private), tag, "")
	refused(t, err, sandbox.CodeRegistryAnswerInvalid, "reference", "digest")

	w.rewritten(isManifest, func(b []byte) []byte { return append(b, '\n') })
	_, err = look(t, w.client(private), pinned, "")
	refused(t, err, sandbox.CodeRegistryAnswerInvalid, "reference", "digest")
	if got, err := look(t, w.client(private), tag, ""); err != nil || got.Digest == digestOf(t, img) {
		t.Errorf("a tag has the digest of what was answered: %+v, %v", got, err)
	}

	w.rewritten(func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/manifests/sha256:") }, func(b []byte) []byte { return append(b, '\n') })
	_, err = look(t, w.client(private), indexed, "")
	refused(t, err, sandbox.CodeRegistryAnswerInvalid, "reference", "digest")
}

func TestLookRefusesWhatIsNoImage(t *testing.T) { //nolint:tparallel // one world answers one at a time
	t.Parallel()
	w := overTLS(t)
	const (
		manifest = "application/vnd.oci.image.manifest.v1+json"
		index    = "application/vnd.oci.image.index.v1+json"
	)
	for name, c := range map[string]struct{ mediaType, body string }{ //nolint:paralleltest // see above
		"a page":                      {"text/html", "<html>" + sentinel},
		"nothing":                     {manifest, ""},
		"no JSON":                     {manifest, sentinel},
		"another JSON":                {manifest, `[]`},
		"no type":                     {"", `{}`},
		"the oldest kind of manifest": {"application/vnd.docker.distribution.manifest.v1+json", `{"schemaVersion":1}`},
		"a chart": {manifest, `{"schemaVersion":2,"config":{"mediaType":"application/vnd.cncf.helm.config.v1+json","size":2,` +
			`"digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},"layers":[]}`},
		"an index that is none":    {index, sentinel},
		"an index in an index":     {index, `{"schemaVersion":2,"manifests":[{"mediaType":"` + index + `","size":2,"digest":"sha256:` + strings.Repeat("a", 64) + `","platform":{"os":"linux","architecture":"amd64"}}]}`},
		"a digest of another kind": {index, `{"schemaVersion":2,"manifests":[{"mediaType":"` + manifest + `","size":2,"digest":"sha512:` + strings.Repeat("a", 128) + `","platform":{"os":"linux","architecture":"amd64"}}]}`},
	} {
		w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
			if !isManifest(r) {
				return false
			}
			rw.Header().Set("Content-Type", c.mediaType)
			_, _ = io.WriteString(rw, c.body)
			return true
		})
		t.Run(name, func(t *testing.T) {
			_, err := look(t, w.client(private), w.host+"/team/tool:1", "")
			refused(t, err, sandbox.CodeRegistryAnswerInvalid, "reference")
		})
	}
}

func TestLookRepeatsNothingThatARegistrySays(t *testing.T) {
	t.Parallel()
	w := overTLS(t)
	for status, code := range map[int]sandbox.Code{
		http.StatusUnauthorized: sandbox.CodeRegistryDenied, http.StatusForbidden: sandbox.CodeRegistryDenied,
		http.StatusNotFound: sandbox.CodeRegistryNotFound, http.StatusTooManyRequests: sandbox.CodeRegistryUnreachable,
		http.StatusTeapot: sandbox.CodeRegistryUnreachable, http.StatusInternalServerError: sandbox.CodeRegistryUnreachable,
	} {
		w.answer(func(rw http.ResponseWriter, r *http.Request) bool {
			if !isManifest(r) {
				return false
			}
			rw.WriteHeader(status)
			_ = json.NewEncoder(rw).Encode(map[string]any{"errors": []map[string]string{{"code": "DENIED", "message": sentinel}}})
			return true
		})
		_, err := look(t, w.client(private), w.host+"/team/tool:1", "")
		refused(t, err, code, "reference", fmt.Sprint(status))
	}
}

func TestLookRefusesAnIndexOfTooManyPlatforms(t *testing.T) {
	t.Parallel()
	w := overTLS(t)
	var idx v1.ImageIndex = empty.Index
	for i := range 5 {
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{
			Add:        image(t, "1000", fmt.Sprintf("linux/a%d", i)),
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: fmt.Sprintf("a%d", i)}},
		})
	}
	reference := w.push(t, "team/many:1", idx)
	cfg := w.config(private)
	cfg.Limits.Platforms = 4
	_, err := look(t, imageregistry.New(cfg), reference, "")
	refused(t, err, sandbox.CodeRegistryAnswerInvalid, "reference", "more than 4 platforms")
	if _, err := look(t, imageregistry.New(cfg), reference, "linux/a4"); err == nil {
		t.Error("a fifth platform was looked at")
	}
	cfg.Limits.Platforms = 5
	if _, err := look(t, imageregistry.New(cfg), reference, ""); err != nil {
		t.Errorf("the allowed neighbour: %v", err)
	}
	cfg.Limits.Requests = 6
	_, err = look(t, imageregistry.New(cfg), reference, "")
	refused(t, err, sandbox.CodeRegistryAnswerInvalid, "reference", "more than 6 requests")
}
