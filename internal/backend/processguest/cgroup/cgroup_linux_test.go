package cgroup

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const mountinfo = `22 1 0:20 / /proc rw,relatime - proc proc rw
30 25 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
33 30 0:29 / /sys/fs/cgroup/with\040space rw,relatime - cgroup cgroup rw,pids
34 30 0:30 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate
35 30 short
`

func TestMountsAreReadAsTheKernelWritesThem(t *testing.T) {
	t.Parallel()
	mounts, err := parseMounts(strings.NewReader(mountinfo))
	if err != nil || len(mounts) != 4 {
		t.Fatal(mounts, err)
	}
	for i, c := range []struct{ group, want string }{
		{"/a", "/sys/fs/cgroup/cpu,cpuacct/a"},
		{"/docker/abc/x", "/sys/fs/cgroup/memory/x"},
		{"/", "/sys/fs/cgroup/with space"},
		{"/user.slice", "/sys/fs/cgroup/unified/user.slice"},
	} {
		if got := mounts[i].dir(c.group); got != c.want {
			t.Errorf("%s: %s, want %s", c.group, got, c.want)
		}
	}
	if got := mounts[1].dir("/docker/other"); got != "" {
		t.Errorf("a group outside the mount stands at %s", got)
	}
}

func FuzzParseMounts(f *testing.F) {
	f.Add(mountinfo)
	f.Fuzz(func(t *testing.T, text string) {
		mounts, err := parseMounts(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, m := range mounts {
			if !m.unified && len(m.controllers) == 0 {
				t.Errorf("%+v of %q", m, text)
			}
		}
	})
}

// fake is a version 2 hierarchy of ordinary files.
func fake(t *testing.T, controllers, handed string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"cgroup.procs": "", "cgroup.controllers": controllers, "cgroup.subtree_control": handed} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestVersion2IsUsedWhereItHasTheControllers(t *testing.T) {
	t.Parallel()
	all := fake(t, "cpu io memory pids", "memory pids")
	place, err := find([]mount{{point: all, root: "/", unified: true}}, map[string]string{"": "/"}, "")
	if err != nil || place.Unified != all || place.Version() != "v2" {
		t.Errorf("%+v, %v", place, err)
	}
	if got, err := os.ReadFile(filepath.Join(all, "cgroup.subtree_control")); err != nil || !strings.Contains(string(got), "+cpu") {
		t.Errorf("handed on: %q, %v", got, err)
	}
	for name, dir := range map[string]string{
		"no memory": fake(t, "cpu pids", ""), "no pids": fake(t, "cpu memory", ""), "not there": filepath.Join(all, "none"),
	} {
		_, err := find([]mount{{point: dir, root: "/", unified: true}}, map[string]string{"": "/"}, "")
		var missing *Missing
		if !errors.As(err, &missing) || missing.Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := find(nil, map[string]string{"": "/"}, ""); err == nil {
		t.Error("a machine without cgroups has a place")
	}
}

func TestLimitsAreWrittenInTheWordsOfEachVersion(t *testing.T) {
	t.Parallel()
	limits := Limits{MemoryBytes: 100, Processes: 7, CPUPercent: 50}
	for name, c := range map[string]struct {
		d     directory
		files map[string]string
	}{
		"v2": {directory{}, map[string]string{"memory.max": "100", "memory.swap.max": "0", "pids.max": "7", "cpu.max": "50000 100000"}},
		"v1": {directory{controllers: []string{memory, pids, cpu}}, map[string]string{
			"memory.limit_in_bytes": "100", "memory.memsw.limit_in_bytes": "100", "memory.kmem.tcp.limit_in_bytes": "12", "pids.max": "7", "cpu.cfs_quota_us": "50000", "cpu.cfs_period_us": "100000",
		}},
		"v1 that counts no swap": {directory{controllers: []string{memory}}, map[string]string{"memory.limit_in_bytes": "100", "memory.swappiness": "0"}},
	} {
		c.d.path = t.TempDir()
		for file := range c.files {
			if err := os.WriteFile(filepath.Join(c.d.path, file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := limits.set(c.d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for file, want := range c.files {
			if got, err := os.ReadFile(filepath.Join(c.d.path, file)); err != nil || string(got) != want {
				t.Errorf("%s: %s is %q, want %q, %v", name, file, got, want, err)
			}
		}
	}
	if err := limits.set(directory{path: t.TempDir()}); err == nil {
		t.Error("limits that nobody took were taken for set")
	}
}

func TestOnlyAHostsOwnDirectoriesAreReaped(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), prefix+"x")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, "/", "", "/sys/fs/cgroup", prefix + "x", "/sys/fs/cgroup/../../../" + prefix + "x"} {
		if err := Reap(t.Context(), []string{name}); err == nil {
			t.Errorf("%s was reaped", name)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	if err := Reap(t.Context(), []string{"/sys/fs/cgroup/gone/" + prefix + "x"}); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
}

// realHost is a host in the machine's own hierarchies.
func realHost(t *testing.T) *Host {
	t.Helper()
	place, err := Find("")
	if err != nil {
		if os.Getenv("CI") != "" && os.Geteuid() == 0 {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	h := place.Host("unit-" + strconv.Itoa(os.Getpid()) + "-" + strings.ToLower(t.Name()))
	if err := h.Make(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Remove(context.Background()); err != nil {
			t.Error(err)
		}
		for _, dir := range h.Directories() {
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%s is left", dir)
			}
		}
	})
	return h
}

func TestAProcessIsBornInItsGroupAndItsParentStaysOutside(t *testing.T) {
	t.Parallel()
	h := realHost(t)
	g, err := h.New(t.Context(), "a", Limits{MemoryBytes: 64 << 20, Processes: 8})
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := os.ReadFile("/proc/thread-self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	// The shell's very first act is to start others.
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "sleep 3600 & sleep 3600 & sleep 3600 & wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if err := g.Birth(cmd.SysProcAttr, cmd.Start); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile("/proc/thread-self/cgroup")
	if err != nil || string(after) != string(before) {
		t.Errorf("the thread came back to %s, %v", after, err)
	}
	for members := []int(nil); len(members) < 4; {
		if members, err = g.Members(); err != nil {
			t.Fatal(err)
		}
	}
	if e := g.Events(); e.Processes < 4 || e.MemoryBytes == 0 {
		t.Errorf("%+v", e)
	}
	if err := g.Limit(4); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := g.Remove(ctx); err != nil {
		t.Error(err)
	}
	if cmd.Wait() == nil {
		t.Error("the shell ended by itself")
	}
	if err := g.Remove(ctx); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func TestAGroupThatCannotBeMadeLeavesNothing(t *testing.T) {
	t.Parallel()
	h := realHost(t)
	if _, err := h.New(t.Context(), "a", Limits{MemoryBytes: 1 << 20, Processes: -5}); err == nil {
		t.Fatal("a negative number of processes is a limit")
	}
	if _, err := h.New(t.Context(), "a", Limits{MemoryBytes: 64 << 20, Processes: 8}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
