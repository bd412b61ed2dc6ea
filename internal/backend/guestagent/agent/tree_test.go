//go:build linux

package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWalkAnswersWhatOpenat2Answers is for kernels without openat2.
func TestWalkAnswersWhatOpenat2Answers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "d/e/f"), 0o755),
		os.WriteFile(filepath.Join(dir, "d/file"), []byte("x"), 0o644),
		os.Symlink("d", filepath.Join(dir, "link")),
		os.Symlink("file", filepath.Join(dir, "d/filelink")),
		os.Symlink("/", filepath.Join(dir, "d/root")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
		os.Symlink("..", filepath.Join(dir, "d/up")),
		unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	resolved, err := openTree()
	if err != nil {
		t.Fatal(err)
	}
	if resolved.walks {
		t.Skip("this kernel has no openat2 to compare with")
	}
	walked := tree{root: resolved.root, walks: true}
	for _, path := range []string{
		"/", dir, dir + "/d", dir + "/d/e/f", dir + "/d/file", dir + "/d/file/x", dir + "/d/filelink", dir + "/d/filelink/x", dir + "/link",
		dir + "/link/file", dir + "/d/root", dir + "/d/root/etc", dir + "/loop", dir + "/loop/x", dir + "/d/up/d", dir + "/fifo", dir + "/fifo/x",
		dir + "/absent", dir + "/absent/x", "/proc/self/root", "/proc/self/root/etc", "/proc/self/exe", "/dev/null", "/dev/null/x",
		dir + "/" + strings.Repeat("n", 255), dir + "/" + strings.Repeat("n", 256),
		"", "x", "//", "/..", dir + "/../x", dir + "/./d", dir + "//d", dir + "/d/", dir + "\x00",
	} {
		for _, flags := range []int{
			unix.O_PATH, unix.O_PATH | unix.O_DIRECTORY, unix.O_RDONLY | unix.O_NONBLOCK, unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NONBLOCK,
		} {
			got, gotErr := walked.open(path, flags)
			want, wantErr := resolved.open(path, flags)
			if !errors.Is(gotErr, wantErr) {
				t.Errorf("%q with %#x: %v, not %v", path, flags, gotErr, wantErr)
			}
			if gotErr == nil && wantErr == nil && inode(t, got) != inode(t, want) {
				t.Errorf("%q with %#x: another file", path, flags)
			}
			for _, fd := range []int{got, want} {
				if fd >= 0 {
					_ = unix.Close(fd)
				}
			}
		}
	}
}

func inode(t *testing.T, fd int) [2]uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	return [2]uint64{st.Dev, st.Ino}
}
