package output_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func TestHostileNamesLandAsWrittenOrNotAtAll(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 255)
	for name, test := range map[string]struct {
		options output.DirOptions
		name    string
		code    sandbox.Code // "" lands
	}{
		"a device":                        {output.DirOptions{}, "con", ""},
		"a device, portable":              {output.DirOptions{Portable: true}, "dir/NUL.txt", sandbox.CodeArtifactNameInvalid},
		"a device's neighbour":            {output.DirOptions{Portable: true}, "dir/NULL.txt", ""},
		"a stream of a file":              {output.DirOptions{}, "a:b", ""},
		"a stream of a file, portable":    {output.DirOptions{Portable: true}, "a:b", sandbox.CodeArtifactNameInvalid},
		"a drive":                         {output.DirOptions{Portable: true}, "C:/x", sandbox.CodeArtifactNameInvalid},
		"a dot at the end":                {output.DirOptions{}, "a.", ""},
		"a dot at the end, portable":      {output.DirOptions{Portable: true}, "a.", sandbox.CodeArtifactNameInvalid},
		"a space at the end":              {output.DirOptions{}, "a ", ""},
		"a space at the end, portable":    {output.DirOptions{Portable: true}, "a /b", sandbox.CodeArtifactNameInvalid},
		"written right to left":           {output.DirOptions{}, "\u202efdp.exe", ""},
		"nothing":                         {output.DirOptions{}, "", sandbox.CodeArtifactNameInvalid},
		"a zero byte":                     {output.DirOptions{}, "a\x00b", sandbox.CodeArtifactNameInvalid},
		"an absolute one":                 {output.DirOptions{}, "/etc/passwd", sandbox.CodeArtifactNameInvalid},
		"the longest":                     {output.DirOptions{}, long, ""},
		"one byte more":                   {output.DirOptions{}, long + "n", sandbox.CodeArtifactNameInvalid},
		"the sink's own":                  {output.DirOptions{Flat: true}, ".staging/x", sandbox.CodeArtifactNameInvalid},
		"the sink's own in capitals":      {output.DirOptions{Flat: true}, ".STAGING/x", sandbox.CodeArtifactNameInvalid},
		"the sink's own neighbour":        {output.DirOptions{Flat: true}, ".stagings/x", ""},
		"the sink's own, elsewhere":       {output.DirOptions{}, ".staging/x", ""},
		"a Windows path of a device":      {output.DirOptions{}, `\\.\COM1`, sandbox.CodeArtifactNameInvalid},
		"a command line of a shell":       {output.DirOptions{}, "$(rm -rf ~);`id`|&", ""},
		"what looks like an option":       {output.DirOptions{}, "-rf", ""},
		"a character of three code units": {output.DirOptions{}, "👩‍💻/é", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, test.options)
			err := tryOne(t, s.sink, output.Origin{}, test.name, 3)
			if test.code != "" {
				wantCode(t, err, test.code)
				s.noHostPath(t, err)
				s.wantNothing(t)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if files := s.tree(t); len(files) == 0 || !strings.HasSuffix(files[len(files)-1], filepath.FromSlash("/"+test.name)) {
				t.Errorf("%q landed as %q", test.name, files)
			}
		})
	}
}

func TestNamesThatWouldMeetAreRefusedBeforeAnythingIsRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		a, b    string
		options []output.CollectOption
		collide bool
	}{
		"case":                       {"a/b", "A/b", nil, true},
		"Unicode form":               {"\u00e9", "e\u0301", nil, true},
		"Unicode form, names kept":   {"\u00e9", "e\u0301", []output.CollectOption{output.KeepNames()}, true},
		"sharp s and its capital":    {"stra\u00dfe", "STRA\u1e9eE", nil, true},
		"sharp s and two":            {"stra\u00dfe", "strasse", nil, false},
		"dotted capital i":           {"\u0130", "i\u0307", nil, true},
		"dotted capital i and i":     {"\u0130", "i", nil, false},
		"a sigma that ends":          {"ΟΔΟΣ", "οδος", nil, true},
		"a sigma that does not end":  {"ΟΔΟΣ", "οδοσ", nil, false},
		"made one by being portable": {"a?", "a*", []output.CollectOption{output.PortableNames()}, true},
		"apart when not portable":    {"a?", "a*", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, output.DirOptions{})
			s.declare(t, test.a, test.b)
			_, err := s.collect(t, test.options...)
			if !test.collide {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantCode(t, err, sandbox.CodeArtifactNameCollision)
			s.wantNothingRead(t)
			s.wantNothing(t)
		})
	}
}

func TestPortableNamesLandUnderWhatWindowsReads(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{Portable: true})
	s.declare(t, "con.txt", "a:b. /e\u0301")
	landed, err := s.collect(t, output.PortableNames())
	if err != nil {
		t.Fatal(err)
	}
	if landed[0].Name != "a_b/\u00e9" || landed[1].Name != "con_.txt" {
		t.Errorf("landed %+v", landed)
	}
	_, err = s.collect(t, output.ForCall("2"))
	wantCode(t, err, sandbox.CodeArtifactNameInvalid)
}

// TestWhatIsPutInTheWayWhileItLandsLeadsNowhere swaps links in after the look.
func TestWhatIsPutInTheWayWhileItLandsLeadsNowhere(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	for name, test := range map[string]struct {
		put  func(root string) error
		code sandbox.Code
	}{
		"a link out in place of a directory": {func(root string) error { return os.Symlink(outside, filepath.Join(root, "d")) }, sandbox.CodeLandingNotConfined},
		"a link out in place of a file":      {func(root string) error { return os.Symlink(filepath.Join(outside, "x"), filepath.Join(root, "leaf")) }, sandbox.CodeLandingNotConfined},
		"a directory in place of a file":     {func(root string) error { return os.Mkdir(filepath.Join(root, "leaf"), 0o700) }, sandbox.CodeLandingExists},
		"a file in place of a directory":     {func(root string) error { return os.WriteFile(filepath.Join(root, "d"), nil, 0o600) }, sandbox.CodeLandingExists},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, output.DirOptions{Flat: true, Existing: output.ExistingReplace})
			d, err := s.sink.Begin(t.Context(), output.Origin{})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"a", "d/file", "leaf"} {
				if _, err := d.Stage(t.Context(), output.Artifact{Name: name, Size: 1}, strings.NewReader("x")); err != nil {
					t.Fatal(err)
				}
			}
			if err := test.put(s.root); err != nil {
				t.Fatal(err)
			}
			err = d.Commit(t.Context())
			wantCode(t, err, test.code)
			s.noHostPath(t, err)
			if err := d.Abort(); err != nil {
				t.Error(err)
			}
			if files, err := os.ReadDir(s.root); err != nil || len(files) != 1 {
				t.Errorf("%v stand, %v, want what was put there", files, err)
			}
		})
	}
	if files, err := os.ReadDir(outside); err != nil || len(files) != 0 {
		t.Errorf("%v landed outside, %v", files, err)
	}
}

func TestALinkInPlaceOfTheStagingDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t, output.DirOptions{})
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(s.root, ".staging")); err != nil {
		t.Fatal(err)
	}
	_, err := s.sink.Begin(t.Context(), output.Origin{})
	wantCode(t, err, sandbox.CodeLandingNotConfined)
	if files, err := os.ReadDir(outside); err != nil || len(files) != 0 {
		t.Errorf("%v outside, %v", files, err)
	}
}

// TestADiskThatIsFullTakesNothing is another process with a cap on the size of files,
// under which one of ten writes fails.
func TestADiskThatIsFullTakesNothing(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int]string{1000: "landed", 1001: "refused output.landing_failed file too large"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			host, lines := (&childLandings{Root: root, Landings: 1, Files: 10, Bytes: bytes, FileCap: 1000}).start(t)
			last := ""
			for last = range lines {
				continue
			}
			if errors.Is(host.Wait(), errors.ErrUnsupported) || strings.Contains(last, errors.ErrUnsupported.Error()) {
				t.Skip("this system has no cap on the size of files")
			}
			if last != want {
				t.Errorf("it ended with %q, want %q", last, want)
			}
			entries, err := os.ReadDir(root)
			if err != nil || (len(entries) == 1) != (want == "landed") {
				t.Errorf("%v stand, %v", entries, err)
			}
		})
	}
}

// TestCancellingAtAnyStepLandsNothing cancels at each of the guest's answers in turn,
// and at each step of the sink.
func TestCancellingAtAnyStepLandsNothing(t *testing.T) {
	t.Parallel()
	for step := 1; ; step++ {
		s := newScene(t, output.DirOptions{})
		s.declare(t, "a", "b", "c/d")
		ctx, cancel := context.WithCancel(t.Context())
		left := step
		count := func() {
			if left--; left == 0 {
				cancel()
			}
		}
		s.engine.Intercept(func(sandboxtest.Request) error { count(); return nil })
		landed, err := output.Collect(ctx, s.Session, s.spec, &stepped{s.sink, count})
		cancel()
		if left > 0 {
			if err != nil || len(landed) != 3 {
				t.Fatalf("without cancelling: %v, %v", landed, err)
			}
			if step < 10 {
				t.Errorf("only %d steps were found", step)
			}
			return
		}
		if err == nil && len(s.tree(t)) == 3 {
			continue // it had landed by then
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("step %d: %v", step, err)
		}
		s.wantNothing(t)
	}
}

// stepped tells of each step of a sink before it is taken.
type stepped struct {
	output.Sink
	step func()
}

type steppedDelivery struct {
	output.Delivery
	step func()
}

func (s *stepped) Begin(ctx context.Context, from output.Origin) (output.Delivery, error) {
	s.step()
	d, err := s.Sink.Begin(ctx, from)
	return &steppedDelivery{d, s.step}, err
}

func (d *steppedDelivery) Commit(ctx context.Context) error {
	d.step()
	return d.Delivery.Commit(ctx)
}

func (d *steppedDelivery) Abort() error {
	if d.Delivery == nil {
		return nil
	}
	d.step()
	return d.Delivery.Abort()
}

func TestTenThousandOutputsLand(t *testing.T) {
	t.Parallel()
	const many = 10_000
	s := newScene(t, output.DirOptions{SkipSync: true})
	s.spec.FilesOut = &sandbox.TransferLimits{MaxBytesPerFile: 100, MaxTotalBytes: 100 * many, MaxFiles: many}
	s.spec.Outputs = map[string]sandbox.Output{}
	for i := range many {
		path := fmt.Sprintf("d%d/f%d", i%100, i)
		s.spec.Outputs[path] = sandbox.Output{Path: path}
		if err := s.guest.WriteFile(sandbox.DefaultWorkDir+"/"+path, []byte(path)); err != nil {
			t.Fatal(err)
		}
	}
	landed, err := s.collect(t)
	if err != nil || len(landed) != many {
		t.Fatalf("%d landed, %v", len(landed), err)
	}
	if n := len(s.tree(t)); n != many {
		t.Errorf("%d files, want %d", n, many)
	}
	s.spec.FilesOut.MaxFiles--
	_, err = s.collect(t, output.ForCall("2"))
	wantCode(t, err, sandbox.CodeTransferCap)
}

// TestTwoSinksOnOneDirectoryLandEachNameOnce lands the same names from two sinks at
// once: all of one landing, or all of the other.
func TestTwoSinksOnOneDirectoryLandEachNameOnce(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]output.DirOptions{"a new directory": {}, "one that stands": {Flat: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			sinks := []*output.DirSink{openSink(t, root, options), openSink(t, root, options)}
			var (
				group  sync.WaitGroup
				mu     sync.Mutex
				landed []string
			)
			for i := range 6 {
				group.Go(func() {
					content := fmt.Sprint(i)
					err := landNames(t, sinks[i%2], content)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						landed = append(landed, content)
					} else if !errors.Is(err, sandbox.CodeLandingExists) {
						t.Error(err)
					}
				})
			}
			group.Wait()
			if len(landed) != 1 {
				t.Fatalf("%q landed", landed)
			}
			files := 0
			err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				files++
				got, err := os.ReadFile(path)
				if string(got) != landed[0] {
					t.Errorf("%s is of landing %s, and %s landed", filepath.Base(path), got, landed[0])
				}
				return err
			})
			if err != nil || files != 20 {
				t.Errorf("%d files, %v", files, err)
			}
		})
	}
}

func landNames(t *testing.T, sink output.Sink, content string) (err error) {
	t.Helper()
	d, err := sink.Begin(t.Context(), output.Origin{Owner: "o"})
	if err != nil {
		return err
	}
	defer func() {
		if abort := d.Abort(); abort != nil {
			t.Error(abort)
		}
	}()
	for i := range 20 {
		if _, err := d.Stage(t.Context(), output.Artifact{Name: fmt.Sprint("n", i), Size: 1}, strings.NewReader(content)); err != nil {
			return err
		}
	}
	return d.Commit(t.Context())
}
