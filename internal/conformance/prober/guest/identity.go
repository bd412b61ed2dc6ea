//go:build linux

package main

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// statusOf reads this process' own lines of /proc/self/status.
func statusOf() map[string]string {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return nil
	}
	defer f.Close()
	lines := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if key, value, ok := strings.Cut(s.Text(), ":"); ok {
			lines[key] = strings.TrimSpace(value)
		}
	}
	return lines
}

// capabilities reaches each set that is not empty.
func capabilities([]string) answer {
	var a answer
	lines := statusOf()
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		value, ok := lines[set]
		if !ok {
			continue
		}
		a.Tried++
		if strings.Trim(value, "0") != "" {
			a.reach("%s %s", set, value)
		}
	}
	return a
}

// privileges asks for what only root may have.
func privileges([]string) answer {
	var a answer
	lines := statusOf()
	a.Tried++
	if lines["NoNewPrivs"] == "0" {
		a.reach("programs that gain privileges when they are started")
	}
	a.Note = "Seccomp " + lines["Seccomp"]
	if ids := strings.Fields(lines["Uid"]); len(ids) > 0 && outside(ids[0], "/proc/self/uid_map") == "0" {
		a.reach("uid 0 outside")
	}
	if ids := strings.Fields(lines["Groups"]); len(ids) > 0 {
		for _, id := range ids {
			if outside(id, "/proc/self/gid_map") == "0" {
				a.reach("group 0 outside")
			}
		}
	}
	if os.Getuid() != 0 {
		a.try("uid 0 by asking", unix.Setresuid(0, 0, 0))
		a.try("gid 0 by asking", unix.Setresgid(0, 0, 0))
	}
	a.try("other groups by asking", unix.Setgroups([]int{0}))
	return a
}

// outside is what an id of this user namespace is called in the one around it.
func outside(id, file string) string {
	n, err := strconv.Atoi(id)
	if err != nil {
		return ""
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		inner, _ := strconv.Atoi(f[0])
		outer, _ := strconv.Atoi(f[1])
		length, _ := strconv.Atoi(f[2])
		if n >= inner && n < inner+length {
			return strconv.Itoa(outer + n - inner)
		}
	}
	return ""
}

// maxWalked bounds how many files are looked at.
const maxWalked = 300_000

// walk looks at every file that is not one of the kernel's.
func walk(roots []string, look func(path string, info fs.FileInfo)) (seen int) {
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil //nolint:nilerr // what cannot be looked at is not reached
			case path == "/proc" || path == "/sys":
				return filepath.SkipDir
			case seen >= maxWalked:
				return filepath.SkipAll
			}
			seen++
			if info, err := entry.Info(); err == nil {
				look(path, info)
			}
			return nil
		})
	}
	return seen
}

// setuid reaches every program that would run as somebody else, and makes one of
// its own.
func setuid(args []string) answer {
	var a answer
	held := statusOf()["NoNewPrivs"] == "1"
	a.Tried = walk([]string{"/"}, func(path string, info fs.FileInfo) {
		if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) == 0 || !info.Mode().IsRegular() {
			return
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) == os.Getuid() && info.Mode()&fs.ModeSetgid == 0 {
			return // it would run as who it is already
		}
		var at unix.Statfs_t
		if held || unix.Statfs(path, &at) == nil && at.Flags&unix.ST_NOSUID != 0 || unix.Access(path, unix.X_OK) != nil {
			return
		}
		a.reach("%s", path)
	})
	return a
}

// rootOnly reads files of the system that only root may read.
func rootOnly(args []string) answer {
	var a answer
	roots := append([]string{"/etc", "/usr"}, args...)
	walk(roots, func(path string, info fs.FileInfo) {
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || !info.Mode().IsRegular() || info.Mode().Perm()&0o044 != 0 || stat.Uid == uint32(os.Getuid()) && os.Getuid() != 0 {
			return
		}
		a.Tried++
		f, err := os.Open(path)
		if err == nil {
			a.reach("%s", path)
			f.Close()
		}
	})
	for _, path := range []string{"/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/root/.ssh"} {
		f, err := os.Open(path)
		a.try(path, err)
		if err == nil {
			f.Close()
		}
	}
	return a
}
