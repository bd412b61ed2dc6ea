package owner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func record(id string) Record { return Record{Mark: "mark-" + id, Cgroups: []string{"/c/" + id}} }

func TestALivingHostIsLeftAloneAndADeadOneIsCleanedUpOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	living, err := Enter(dir, record)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := Enter(dir, record)
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.lock.Close(); err != nil { // as the kernel does
		t.Fatal(err)
	}
	var mu sync.Mutex
	var cleaned []Record
	var reapers sync.WaitGroup
	for range 8 {
		reapers.Go(func() {
			err := Reap(t.Context(), dir, func(_ context.Context, r Record) error {
				mu.Lock()
				defer mu.Unlock()
				cleaned = append(cleaned, r)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	reapers.Wait()
	if len(cleaned) != 1 || cleaned[0].Mark != "mark-"+dead.ID || cleaned[0].Cgroups[0] != "/c/"+dead.ID {
		t.Errorf("%+v", cleaned)
	}
	if err := living.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestAHostThatCannotBeCleanedUpIsRemembered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dead, err := Enter(dir, record)
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.lock.Close(); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("it does not go")
	for range 2 {
		if err := Reap(t.Context(), dir, func(context.Context, Record) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
	}
}

// Each is a host that was killed at another moment of its coming or going.
func TestAHostThatDiedAsItCameOrWentLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dir   string
		files map[string]string
	}{
		"before its lock":      {comingPrefix + "4194305-1-ab", nil},
		"before its record":    {comingPrefix + "4194305-1-ab", map[string]string{lockFile: "4194305 1"}},
		"of an earlier number": {comingPrefix + strconv.Itoa(os.Getpid()) + "-1-ab", map[string]string{lockFile: ""}},
		"after its record":     {hostPrefix + "ab", map[string]string{lockFile: "4194305 1"}},
		"after its lock":       {hostPrefix + "ab", map[string]string{recordFile: "{}"}},
		"after both":           {hostPrefix + "ab", nil},
	} {
		dir := t.TempDir()
		host := filepath.Join(dir, c.dir)
		if err := os.Mkdir(host, 0o700); err != nil {
			t.Fatal(err)
		}
		for file, content := range c.files {
			if err := os.WriteFile(filepath.Join(host, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := Reap(t.Context(), dir, func(context.Context, Record) error { return errors.New("it had made nothing") })
		if left, _ := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("%s: %v, %v", name, left, err)
		}
	}
}

func TestAHostThatIsComingAndStrangersAreLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	began, err := startTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	names := []string{comingPrefix + strconv.Itoa(os.Getpid()) + "-" + began + "-ab", comingPrefix + "x", "users"}
	for _, name := range names {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := Reap(t.Context(), dir, nil); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != len(names) {
		t.Errorf("%v, %v", left, err)
	}
}

func TestHostsComeWhileOthersReap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	done := make(chan struct{})
	var reaper sync.WaitGroup
	reaper.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				_ = Reap(t.Context(), dir, func(_ context.Context, r Record) error { return fmt.Errorf("%s lives", r.Mark) })
			}
		}
	})
	for range 200 {
		h, err := Enter(dir, record)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(h.dir, recordFile)); err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	reaper.Wait()
}

func TestOnlyAPrivateDirectoryIsUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(made("target", 0o700), link); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, ok := range map[string]bool{
		made("mine", 0o700): true, made("passing", 0o711): true, filepath.Join(dir, "new"): true, filepath.Join(dir, "a", "b"): true,
		made("open", 0o755): false, made("group", 0o710): false, made("listed", 0o715): false, made("sticky", 0o777|os.ModeSticky): false, link: false, file: false,
	} {
		if got, err := Private(path); (err == nil) != ok || ok && got != path {
			t.Errorf("%s: %v", strings.TrimPrefix(path, dir), err)
		}
	}
}

func TestADirectoryThatOthersCouldReplaceIsNotUsed(t *testing.T) {
	t.Parallel()
	const other = 65534
	base := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(base), 0o755), os.Chmod(base, 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		mode  os.FileMode
		owner int
		ok    bool
	}{
		"mine":                          {0o755, -1, true},
		"sticky":                        {0o777 | os.ModeSticky, -1, true},
		"the group's":                   {0o775, -1, false},
		"everybody's":                   {0o757, -1, false},
		"another user's":                {0o755, other, false},
		"another user's and closed":     {0o700, other, false},
		"another user's, sticky though": {0o777 | os.ModeSticky, other, false},
	} {
		above := filepath.Join(base, name)
		if err := errors.Join(os.Mkdir(above, 0o700), os.Chmod(above, c.mode)); err != nil {
			t.Fatal(err)
		}
		if c.owner >= 0 {
			if os.Geteuid() != 0 {
				continue // only root can give it away
			}
			if err := os.Chown(above, c.owner, -1); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{filepath.Join(above, "state"), filepath.Join(above, "a", "b", "state")} {
			if _, err := Private(path); (err == nil) != c.ok {
				t.Errorf("below a directory that is %s: %v", name, err)
			}
		}
	}
}

func TestADirectoryIsNamedWithoutTheLinksAboveIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "real"), 0o700), os.Symlink("real", link)); err != nil {
		t.Fatal(err)
	}
	if got, err := Private(filepath.Join(link, "state")); err != nil || got != filepath.Join(dir, "real", "state") {
		t.Errorf("%s, %v", got, err)
	}
}
