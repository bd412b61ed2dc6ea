package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// series is what local versions start with; the last number is the Unix time of
// the install. It is no prerelease, since a plain constraint never selects one.
const series = "0.1."

// mirror is one provider's folder in a local mirror, unpacked layout:
// dir/VERSION/OS_ARCH/terraform-provider-TYPE_vVERSION.
type mirror struct {
	dir    string
	target string // OS_ARCH
	now    func() time.Time
}

// install adds binary under a version higher than every version here, unless
// the highest holds the same bytes already. It reports the version and whether
// that is new.
func (m mirror) install(binary string) (version string, fresh bool, err error) {
	installed, err := m.versions()
	if err != nil {
		return "", false, err
	}
	next := m.now().Unix()
	if len(installed) > 0 {
		newest := installed[len(installed)-1]
		same, err := sameBytes(binary, m.binary(newest))
		if err != nil {
			return "", false, err
		}
		if same {
			return series + strconv.FormatInt(newest, 10), false, nil
		}
		next = max(next, newest+1)
	}
	if next, err = m.claim(next); err != nil {
		return "", false, err
	}
	if err := m.put(binary, next); err != nil {
		return "", false, err
	}
	return series + strconv.FormatInt(next, 10), true, nil
}

// claim makes the folder of the first version from n on that nobody has. Making
// it is what keeps two installs in one second apart.
func (m mirror) claim(n int64) (int64, error) {
	if err := os.MkdirAll(m.dir, 0o755); err != nil {
		return 0, fmt.Errorf("make the provider's folder: %w", err)
	}
	for ; ; n++ {
		err := os.Mkdir(m.version(n), 0o755)
		if err == nil {
			return n, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return 0, fmt.Errorf("make the version's folder: %w", err)
		}
	}
}

// put shows the binary under its final name in one step, so that an init at the
// same time sees the whole file or none. What fails leaves nothing behind.
func (m mirror) put(binary string, n int64) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(m.version(n)))
		}
	}()
	staging := filepath.Join(m.version(n), ".staging")
	if err := os.Mkdir(staging, 0o755); err != nil {
		return fmt.Errorf("make the staging folder: %w", err)
	}
	if err := copyProgram(binary, filepath.Join(staging, filepath.Base(m.binary(n)))); err != nil {
		return fmt.Errorf("copy the provider: %w", err)
	}
	if err := os.Rename(staging, filepath.Join(m.version(n), m.target)); err != nil {
		return fmt.Errorf("show the new version: %w", err)
	}
	return nil
}

// versions are the installed local versions' numbers, lowest first. Versions of
// another series, put here by hand, are none of ours.
func (m mirror) versions() ([]int64, error) {
	entries, err := os.ReadDir(m.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the installed versions: %w", err)
	}
	var numbers []int64
	for _, e := range entries {
		text, ok := strings.CutPrefix(e.Name(), series)
		if !ok || !e.IsDir() {
			continue
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && text == strconv.FormatInt(n, 10) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// prune removes all but the newest keep versions and reports what it removed.
func (m mirror) prune(keep int) ([]string, error) {
	installed, err := m.versions()
	if err != nil || len(installed) <= keep {
		return nil, err
	}
	var removed []string
	for _, n := range installed[:len(installed)-keep] {
		if err := os.RemoveAll(m.version(n)); err != nil {
			return removed, fmt.Errorf("remove an old version: %w", err)
		}
		removed = append(removed, filepath.Base(m.version(n)))
	}
	return removed, nil
}

func (m mirror) version(n int64) string {
	return filepath.Join(m.dir, series+strconv.FormatInt(n, 10))
}

func (m mirror) binary(n int64) string {
	name := "terraform-provider-" + filepath.Base(m.dir) + "_v" + series + strconv.FormatInt(n, 10)
	return filepath.Join(m.version(n), m.target, executable(name))
}

func executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

// sameBytes compares by digest. A missing installed file is a difference, a
// missing binary an error.
func sameBytes(binary, installed string) (bool, error) {
	want, err := digest(binary)
	if err != nil {
		return false, fmt.Errorf("read the provider to install: %w", err)
	}
	got, err := digest(installed)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the installed provider: %w", err)
	}
	return bytes.Equal(want, got), nil
}

func digest(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

func copyProgram(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}
