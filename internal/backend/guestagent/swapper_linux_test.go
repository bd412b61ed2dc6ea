package guestagent_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// canary is a directory outside the work directory that looks like what a
// swapper puts in a link's place. Everybody may do everything in it.
func canary(t *testing.T) (dir string) {
	t.Helper()
	dir = workDir(t, nobody)
	for name, content := range map[string]string{"file": "outside", "tree/file": "outside", "tree/deep/file": "outside"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if d.IsDir() {
			return os.Chmod(path, 0o777)
		}
		return os.Chmod(path, 0o666)
	})
	return dir
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var content []byte
		if info.Mode().IsRegular() {
			content, err = os.ReadFile(path)
		}
		found[path] = info.Mode().String() + " " + string(content)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// TestSwapperNeverLeadsOutside lets a guest program swap a directory and a link
// while each operation goes through it. The agent has every right to the place
// outside: only not following holds it back.
func TestSwapperNeverLeadsOutside(t *testing.T) {
	t.Parallel()
	for _, as := range principals() {
		t.Run(as.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, as, guestagent.Options{})
			outside := canary(t)
			before := contents(t, outside)
			ctx, cancel := context.WithCancel(t.Context())
			begun, ended := newSignal(), make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = b.Exec(ctx, engine.ExecRequest{
					Args: []string{filepath.Join(b.bin, "probe"), outside}, Dir: b.dir, Env: []string{probeVariable + "=swap"}, Stdout: begun,
				})
			}()
			<-begun.seen
			var well, through int
			count := func(what string, err error) {
				switch {
				case err == nil:
					well++
				case errors.Is(err, engine.ErrThroughLink):
					through++
				case errors.Is(err, engine.ErrNotExist), errors.Is(err, engine.ErrNotDirectory), errors.Is(err, engine.ErrNotRegular), errors.Is(err, guestagent.ErrBusy):
				default:
					t.Errorf("%s: %v", what, err)
				}
			}
			for turn := 0; turn < 400 || (well < 100 || through < 100) && !t.Failed(); turn++ {
				count("read", b.readsInside(t, "swapped/file"))
				count("write", b.Write(t.Context(), b.ref("swapped/file"), strings.NewReader("inside"), 6))
				count("write new", b.Write(t.Context(), b.ref("swapped/new"), strings.NewReader("inside"), 6))
				count("mkdir", b.Mkdir(t.Context(), b.ref("swapped/made")))
				count("list", b.List(t.Context(), b.ref("swapped/tree"), func(i engine.Info) bool {
					if i.Name == "deep" {
						t.Error("listed the outside")
					}
					return true
				}))
				count("remove", b.Remove(t.Context(), b.ref("swapped/file"), false))
				count("remove tree", b.Remove(t.Context(), b.ref("swapped/tree"), true))
				if turn%20 == 0 {
					count("remove all", b.Remove(t.Context(), b.ref("swapped"), true))
				}
			}
			cancel()
			<-ended
			t.Logf("%d went well, %d met a link", well, through)
			if after := contents(t, outside); !maps.Equal(before, after) {
				t.Errorf("outside was\n%v\nand is\n%v", before, after)
			}
		})
	}
}

func (b *box) readsInside(t *testing.T, name string) error {
	t.Helper()
	r, _, err := b.Open(t.Context(), b.ref(name))
	if err != nil {
		return err
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if strings.Contains(string(content), "outside") {
		t.Error("read the outside")
	}
	return err
}
