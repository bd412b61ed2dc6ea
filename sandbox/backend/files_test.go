package backend_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func TestAReadOverItsCapIsRefusedBeforeTheFileIsOpened(t *testing.T) {
	t.Parallel()
	for access, options := range everyAccess() {
		t.Run(access, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, options)
			must(t, s.write(t, "five", "12345"))
			if got, err := s.ReadFile(t.Context(), "five", 5); err != nil || string(got) != "12345" {
				t.Fatalf("a file of exactly the cap: %q, %v", got, err)
			}
			before := opens(s.engine)
			_, err := s.ReadFile(t.Context(), "five", 4)
			wantCode(t, err, sandbox.CodeTransferCap)
			if opens(s.engine) != before {
				t.Error("the file was opened")
			}
			_, err = s.ReadFile(t.Context(), "five", -1)
			wantCode(t, err, sandbox.CodeOutOfRange)
		})
	}
}

func opens(e *sandboxtest.Engine) int {
	n := 0
	for _, r := range e.Requests() {
		if r.Op == sandboxtest.OpOpen {
			n++
		}
	}
	return n
}

func TestTheSpecBoundsEveryRead(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	s := &stage{engine: e, backend: sandboxtest.Backend(t, e), request: request(e)}
	s.request.Spec.FilesOut = &sandbox.TransferLimits{MaxBytesPerFile: 4, MaxTotalBytes: 100, MaxFiles: 100}
	s.Session = s.acquire(t, s.request).Session
	must(t, s.write(t, "four", "1234"), s.write(t, "five", "12345"))
	if got, err := s.read(t, "four"); err != nil || got != "1234" {
		t.Errorf("%q, %v", got, err)
	}
	_, err := s.read(t, "five")
	wantCode(t, err, sandbox.CodeTransferCap)
}

func TestAFileThatChangesWhileItIsReadIsNotPassedOffAsWhole(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*sandboxtest.View) error
		cap    int64
		code   sandbox.Code
	}{
		"grows within the cap": {func(v *sandboxtest.View) error { return v.Append(work+"/f", []byte("more")) }, 100, sandbox.CodeFileChanged},
		"grows over the cap":   {func(v *sandboxtest.View) error { return v.Append(work+"/f", bytes.Repeat([]byte("x"), 100)) }, 6, sandbox.CodeTransferCap},
		"shrinks":              {func(v *sandboxtest.View) error { return v.Truncate(work+"/f", 2) }, 100, sandbox.CodeFileChanged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for access, options := range everyAccess() {
				t.Run(access, func(t *testing.T) {
					t.Parallel()
					s := newStage(t, options)
					must(t, s.write(t, "f", "before"))
					changed := false
					s.engine.Intercept(func(r sandboxtest.Request) error {
						if r.Op == sandboxtest.OpRead && !changed {
							changed = true
							return test.change(s.guest)
						}
						return nil
					})
					data, err := s.ReadFile(t.Context(), "f", test.cap)
					wantCode(t, err, test.code)
					if int64(len(data)) > test.cap {
						t.Errorf("%d bytes crossed a cap of %d", len(data), test.cap)
					}
				})
			}
		})
	}
}

func TestASizeThatIsALieCrossesNoCap(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		claim func(*sandboxtest.View) error
		code  sandbox.Code
	}{
		"smaller than it is": {func(v *sandboxtest.View) error { return v.ClaimSize(work+"/f", 1) }, sandbox.CodeFileChanged},
		"larger than it is":  {func(v *sandboxtest.View) error { return v.ClaimSize(work+"/f", 8) }, sandbox.CodeFileChanged},
		"negative":           {func(v *sandboxtest.View) error { return v.ClaimSize(work+"/f", -1) }, sandbox.CodeGuestFailed},
		"none, over the cap": {func(v *sandboxtest.View) error {
			return errors.Join(v.WriteFile(work+"/f", bytes.Repeat([]byte("x"), 100)), v.ForgetSize(work+"/f"))
		}, sandbox.CodeTransferCap},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, sandboxtest.Options{})
			must(t, s.write(t, "f", "12345"), test.claim(s.guest))
			data, err := s.ReadFile(t.Context(), "f", 10)
			wantCode(t, err, test.code)
			if len(data) > 10 {
				t.Errorf("%d bytes crossed", len(data))
			}
		})
	}
	s := newStage(t, sandboxtest.Options{})
	must(t, s.write(t, "f", "12345"), s.guest.ForgetSize(work+"/f"))
	if got, err := s.ReadFile(t.Context(), "f", 5); err != nil || string(got) != "12345" {
		t.Errorf("a file of no known size within the cap: %q, %v", got, err)
	}
}

func TestAWriteIsExactOrReplacesNothing(t *testing.T) {
	t.Parallel()
	broken := errors.New("the caller's own reader failed")
	for name, test := range map[string]struct {
		content func() io.Reader
		size    int64
		code    sandbox.Code
		err     error
	}{
		"too short":                       {func() io.Reader { return strings.NewReader("ab") }, 3, sandbox.CodeFileSize, nil},
		"too long":                        {func() io.Reader { return strings.NewReader("abcd") }, 3, sandbox.CodeFileSize, nil},
		"endless":                         {func() io.Reader { return endless{} }, 3, sandbox.CodeFileSize, nil},
		"anything where nothing was said": {func() io.Reader { return strings.NewReader("a") }, 0, sandbox.CodeFileSize, nil},
		"negative":                        {func() io.Reader { return strings.NewReader("") }, -1, sandbox.CodeOutOfRange, nil},
		"a broken input":                  {func() io.Reader { return io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(broken)) }, 3, "", broken},
		"broken at its end": {func() io.Reader {
			return io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken))
		}, 3, "", broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for access, options := range everyAccess() {
				t.Run(access, func(t *testing.T) {
					t.Parallel()
					s := newStage(t, options)
					must(t, s.write(t, "f", "before"))
					err := s.WriteFile(t.Context(), "f", test.content(), test.size)
					if test.err != nil {
						if !errors.Is(err, test.err) {
							t.Errorf("got %v, want the caller's own error", err)
						}
					} else {
						wantCode(t, err, test.code)
					}
					if got, err := s.read(t, "f"); err != nil || got != "before" {
						t.Errorf("what stood there is now %q, %v", got, err)
					}
					must(t, s.WriteFile(t.Context(), "new", iotest.OneByteReader(strings.NewReader("abc")), 3))
					must(t, s.WriteFile(t.Context(), "empty", nil, 0))
				})
			}
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// lazy is an engine that says a write succeeded and took nothing of it.
type lazy struct{ *sandboxtest.Engine }

type lazyGuest struct{ engine.Guest }

func (l lazy) Start(ctx context.Context, req engine.StartRequest) (engine.Started, error) {
	started, err := l.Engine.Start(ctx, req)
	if err == nil {
		started.Guest = lazyGuest{started.Guest}
	}
	return started, err
}

func (lazyGuest) Write(context.Context, engine.FileRef, io.Reader, int64) error { return nil }

func TestAWriteThatTookNothingIsNoSuccess(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	b := backendOver(t, lazy{e}, e)
	acquired, err := b.Acquire(t.Context(), request(e))
	must(t, err)
	err = acquired.Session.WriteFile(t.Context(), "f", strings.NewReader("abc"), 3)
	wantCode(t, err, sandbox.CodeGuestFailed)
}

func TestWritesStayWithinTheSpecsLimits(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	s := &stage{engine: e, backend: sandboxtest.Backend(t, e), request: request(e)}
	s.request.Spec.FilesIn = &sandbox.TransferLimits{MaxBytesPerFile: 4, MaxTotalBytes: 10, MaxFiles: 4}
	s.Session = s.acquire(t, s.request).Session
	for i, test := range []struct {
		text  string
		limit string
	}{
		{"1234", ""},
		{"12345", "files_in_limits.max_bytes_per_file"},
		{"1234", ""},
		{"123", "files_in_limits.max_total_bytes"},
		{"12", ""},
		{"", ""},
		{"", "files_in_limits.max_files"},
	} {
		err := s.write(t, "f"+strconv.Itoa(i), test.text)
		if test.limit == "" {
			must(t, err)
			continue
		}
		wantCode(t, err, sandbox.CodeTransferCap)
		if got := sandbox.RefusalOf(err).Path.String(); got != test.limit {
			t.Errorf("write %d refused at %q, want %q", i, got, test.limit)
		}
	}
}

func TestAWriteThatFailedIsNotCounted(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	s := &stage{engine: e, backend: sandboxtest.Backend(t, e), request: request(e)}
	s.request.Spec.FilesIn = &sandbox.TransferLimits{MaxBytesPerFile: 4, MaxTotalBytes: 4, MaxFiles: 1}
	s.Session = s.acquire(t, s.request).Session
	s.engine.FailNth(sandboxtest.OpWrite, 1, engine.ErrNoSpace)
	wantCode(t, s.write(t, "f", "1234"), sandbox.CodeGuestStorageLimit)
	must(t, s.write(t, "f", "1234"))
}

func TestAFullGuestIsALimit(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{MaxBytes: 8})
	must(t, s.write(t, "a", "12345678"))
	wantCode(t, s.write(t, "b", "1"), sandbox.CodeGuestStorageLimit)
}

func TestADirectoryThatTheGuestMayNotChangeIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{})
	must(t, s.write(t, "d/kept", "x"), s.guest.Protect(work+"/d"))
	wantCode(t, s.write(t, "d/new", "x"), sandbox.CodeFileRefused)
	wantCode(t, s.Remove(t.Context(), "d/kept", false), sandbox.CodeFileRefused)
}

func TestListingsAreSortedWholeAndBounded(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{}, backend.WithListLimit(3))
	must(t, s.write(t, "d/b", "1"), s.write(t, "d/a", "22"), s.write(t, "d/c/x", "333"))
	entries, err := s.List(t.Context(), "d")
	must(t, err)
	var got strings.Builder
	for _, e := range entries {
		got.WriteString(e.Path + " " + e.Kind.String() + " " + strconv.FormatInt(e.Size, 10) + "\n")
	}
	if want := "d/a file 2\nd/b file 1\nd/c directory 0\n"; got.String() != want {
		t.Errorf("got\n%s want\n%s", got.String(), want)
	}
	must(t, s.write(t, "d/d", "4"))
	_, err = s.List(t.Context(), "d")
	wantCode(t, err, sandbox.CodeTransferCap)
	_, err = s.List(t.Context(), "d/a")
	wantCode(t, err, sandbox.CodePathNotDirectory)
	_, err = s.List(t.Context(), "nowhere")
	wantCode(t, err, sandbox.CodeFileNotFound)
}

func TestTheWorkDirectoryIsADot(t *testing.T) {
	t.Parallel()
	for access, options := range everyAccess() {
		t.Run(access, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, options)
			for _, path := range []string{"", ".", work, "a/.."} {
				entry, err := s.Stat(t.Context(), path)
				if err != nil || entry.Path != "." || entry.Kind != sandbox.EntryDirectory {
					t.Errorf("%q: %+v, %v", path, entry, err)
				}
				_, err = s.read(t, path)
				wantCode(t, err, sandbox.CodeFileNotRegular)
				wantCode(t, s.write(t, path, "x"), sandbox.CodePathOutside)
				wantCode(t, s.Remove(t.Context(), path, true), sandbox.CodePathOutside)
			}
		})
	}
}

func TestAWorkDirectoryAtTheRootWorks(t *testing.T) {
	t.Parallel()
	for access, options := range everyAccess() {
		t.Run(access, func(t *testing.T) {
			t.Parallel()
			e := sandboxtest.NewEngine(options)
			s := &stage{engine: e, backend: sandboxtest.Backend(t, e), request: request(e)}
			s.request.Spec.WorkDir = "/"
			s.Session = s.acquire(t, s.request).Session
			must(t, s.write(t, "a/b/c", "deep"), s.write(t, "top", "shallow"))
			if got, err := s.read(t, "/a/b/c"); err != nil || got != "deep" {
				t.Errorf("%q, %v", got, err)
			}
			entries, err := s.List(t.Context(), ".")
			if err != nil || len(entries) != 2 || entries[1].Path != "top" {
				t.Errorf("%+v, %v", entries, err)
			}
		})
	}
}

func TestManySessionsWriteAtOnce(t *testing.T) {
	t.Parallel()
	for access, options := range everyAccess() {
		t.Run(access, func(t *testing.T) {
			t.Parallel()
			options.Freeze = true
			s := newStage(t, options)
			var group sync.WaitGroup
			for i := range 16 {
				group.Go(func() {
					session := s.Session
					if i%2 == 0 {
						session = s.acquire(t, s.request).Session
					}
					name, text := "d/"+strconv.Itoa(i), strings.Repeat(strconv.Itoa(i), 1000)
					if err := session.WriteFile(t.Context(), name, strings.NewReader(text), int64(len(text))); err != nil {
						t.Error(err)
					}
					if got, err := session.ReadFile(t.Context(), name, 1<<20); err != nil || string(got) != text {
						t.Errorf("%d bytes, %v", len(got), err)
					}
				})
			}
			group.Wait()
			frozen := 0
			for _, r := range s.engine.Requests() {
				switch r.Op {
				case sandboxtest.OpFreeze:
					frozen++
				case sandboxtest.OpThaw:
					frozen--
				}
			}
			if frozen != 0 {
				t.Errorf("%d freezes without a thaw", frozen)
			}
		})
	}
}
