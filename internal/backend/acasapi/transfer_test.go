package acasapi_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestContentOfAnotherSizeThanWasSaidIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		size    int64
		fits    bool
	}{
		"shorter":     {"abc", 4, false},
		"longer":      {"abcde", 4, false},
		"exact":       {"abcd", 4, true},
		"empty":       {"", 0, true},
		"not empty":   {"a", 0, false},
		"all missing": {"", 4, false},
	} {
		for kind, source := range map[string]io.Reader{
			"seekable": strings.NewReader(c.content), "read once": io.MultiReader(strings.NewReader(c.content)),
		} {
			srv := newServer(t)
			s := must(srv.rig(t).group(t, "g").Sandbox("sb-1"))(t)
			err := s.WriteFile(t.Context(), "/x", source, acasapi.Writing{Size: c.size})
			switch {
			case c.fits && err != nil:
				t.Errorf("%s, %s: %v", name, kind, err)
			case !c.fits && !errors.Is(err, sandbox.CodeFileSize):
				t.Errorf("%s, %s: %v", name, kind, err)
			}
		}
	}
}

func TestContentThatCanBeReadAgainIsSentAgain(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	s := must(srv.rig(t).group(t, "g").Sandbox("sb-1"))(t)
	srv.answer(says(http.StatusServiceUnavailable, "text/plain", ""))
	source := strings.NewReader("skipped, kept")
	if _, err := source.Seek(9, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteFile(t.Context(), "/x", source, acasapi.Writing{Size: 4}); err != nil {
		t.Fatal(err)
	}
	if n := srv.received("/x"); n != 4 || len(srv.requests()) != 2 {
		t.Errorf("%d bytes in %d requests", n, len(srv.requests()))
	}
}

func TestContentThatIsReadOnceIsSentOnce(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	s := must(srv.rig(t).group(t, "g").Sandbox("sb-1"))(t)
	srv.answer(says(http.StatusServiceUnavailable, "text/plain", ""))
	err := s.WriteFile(t.Context(), "/x", io.MultiReader(strings.NewReader("kept")), acasapi.Writing{Size: 4})
	if !errors.Is(err, sandbox.CodeServiceUnavailable) || len(srv.requests()) != 1 {
		t.Errorf("%v after %d requests", err, len(srv.requests()))
	}
}

// A reader that fails is the caller's, and the caller gets its error.
func TestAFailingReaderEndsTheWrite(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	s := must(srv.rig(t).group(t, "g").Sandbox("sb-1"))(t)
	broken := errors.New("the disk is gone")
	source := io.MultiReader(strings.NewReader("ab"), errorReader{broken})
	if err := s.WriteFile(t.Context(), "/x", source, acasapi.Writing{Size: 4}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type errorReader struct{ err error }

func (e errorReader) Read([]byte) (int, error) { return 0, e.err }

func TestAShortFileIsAnErrorAndNotAShortFile(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	s := must(srv.rig(t).group(t, "g").Sandbox("sb-1"))(t)
	srv.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "only this")
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		panic(http.ErrAbortHandler)
	})
	file := must(s.ReadFile(t.Context(), "/x"))(t)
	got, err := io.ReadAll(file)
	if err == nil || string(got) != "only this" || file.Size != 100 {
		t.Errorf("%q of %d, %v", got, file.Size, err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}

func TestAFileCanBeLeftInTheMiddle(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	s := must(srv.rig(t).group(t, "g").Sandbox("sb-1"))(t)
	left := make(chan struct{})
	srv.answer(func(w http.ResponseWriter, r *http.Request) {
		defer close(left)
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	})
	file := must(s.ReadFile(t.Context(), "/x"))(t)
	if _, err := io.ReadFull(file, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	<-left
}

func TestPathsThatReadersWouldReadDifferentlyAreNotSent(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	s := must(r.group(t, "g").Sandbox("sb-1"))(t)
	for _, path := range []string{"", "relative", "/nul\x00", "/bad\xff", "/" + strings.Repeat("x", 5000)} {
		for name, err := range map[string]error{
			"read": second(s.ReadFile(t.Context(), path)), "stat": second(s.StatFile(t.Context(), path)),
			"list": second(s.ListFiles(t.Context(), path)), "mkdir": s.MakeDir(t.Context(), path), "delete": s.DeleteFile(t.Context(), path, true),
			"write": s.WriteFile(t.Context(), path, strings.NewReader(""), acasapi.Writing{}),
		} {
			if !errors.Is(err, sandbox.CodePathInvalid) {
				t.Errorf("%s %q: %v", name, path, err)
			}
		}
	}
	if n := len(srv.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
