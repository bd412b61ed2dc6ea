package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Place is where this process may make groups: one directory for each hierarchy
// that is needed.
type Place struct {
	// Unified is the directory in the version 2 hierarchy, when that has the
	// controllers.
	Unified string
	// Legacy are the directories in version 1 hierarchies, by controller.
	Legacy map[string]string
}

// Missing says why there is no place, and what would make one.
type Missing struct{ Found, Remedy string }

// Error is what was found.
func (m *Missing) Error() string { return m.Found }

// The controllers. Without the first two there is no place.
const (
	memory = "memory"
	pids   = "pids"
	cpu    = "cpu"
)

// Find looks for a place: below the group named under, a path as in
// /proc/self/cgroup, or below this process's own when that is empty. The error
// is a [*Missing] where the system has none.
func Find(under string) (Place, error) {
	mounts, err := readMounts()
	if err != nil {
		return Place{}, err
	}
	own, err := ownGroups("/proc/self/cgroup")
	if err != nil {
		return Place{}, err
	}
	return find(mounts, own, under)
}

func find(mounts []mount, own map[string]string, under string) (Place, error) {
	legacy := map[string]string{}
	var unified string
	for _, m := range mounts {
		if m.unified {
			unified = m.dir(or(under, besideLeaf(own[""])))
		}
		for _, controller := range m.controllers {
			if slices.Contains([]string{memory, pids, cpu}, controller) {
				legacy[controller] = m.dir(or(under, own[controller]))
			}
		}
	}
	if legacy[memory] != "" && legacy[pids] != "" {
		return findLegacy(legacy)
	}
	if unified != "" {
		return findUnified(unified)
	}
	return Place{}, &Missing{"no cgroup file system with memory and pids controllers", "mount the cgroup file system, or boot with it"}
}

func findLegacy(dirs map[string]string) (Place, error) {
	for _, controller := range []string{memory, pids} {
		if err := usable(dirs[controller], "tasks"); err != nil {
			return Place{}, err
		}
	}
	if usable(dirs[cpu], "tasks") != nil {
		delete(dirs, cpu)
	}
	return Place{Legacy: dirs}, nil
}

func findUnified(dir string) (Place, error) {
	if err := usable(dir, "cgroup.procs"); err != nil {
		return Place{}, err
	}
	if err := enable(dir); err != nil {
		return Place{}, err
	}
	return Place{Unified: dir}, nil
}

// usable reports whether groups can be made in dir and processes moved out of it.
func usable(dir, procs string) error {
	if dir == "" {
		return &Missing{"no such cgroup hierarchy", "mount it"}
	}
	for _, path := range []string{dir, filepath.Join(dir, procs)} {
		if err := unix.Access(path, unix.W_OK); err != nil {
			return &Missing{
				"a cgroup of this process that it may not write to",
				"run the host in a delegated cgroup (systemd-run --user --scope -p Delegate=yes …)",
			}
		}
	}
	return nil
}

// enable hands the controllers to the groups below dir.
func enable(dir string) error {
	available, err := words(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("read the cgroup's controllers: %w", err)
	}
	handed, err := words(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return fmt.Errorf("read the cgroup's controllers: %w", err)
	}
	for _, controller := range []string{memory, pids, cpu} {
		if slices.Contains(handed, controller) {
			continue
		}
		needed := controller != cpu
		if !slices.Contains(available, controller) {
			if needed {
				return &Missing{
					"a cgroup without the " + controller + " controller",
					"delegate it to the host's cgroup (Delegate=yes, or memory and pids by name)",
				}
			}
			continue
		}
		err := write(dir, "cgroup.subtree_control", "+"+controller)
		if errors.Is(err, unix.EBUSY) && stepAside(dir, os.Getpid()) == nil {
			err = write(dir, "cgroup.subtree_control", "+"+controller)
		}
		if err != nil && needed {
			return &Missing{
				"a cgroup that cannot hand its " + controller + " controller on, most likely because processes run in it",
				"run the host in a leaf below a delegated cgroup and name that one in the Cgroup setting",
			}
		}
	}
	return nil
}

// leaf is the group that a host steps into.
const leaf = "sandbox-host"

// stepAside moves this process into a leaf below its own group, if it is alone
// there: version 2 hands no controllers on from a group that processes run in, and
// a scope that was delegated to a host begins with the host in it. Others' processes
// are not moved.
func stepAside(dir string, self int) error {
	procs, err := words(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return err
	}
	pid := strconv.Itoa(self)
	if !slices.Equal(procs, []string{pid}) {
		return errors.New("this process is not alone in its cgroup")
	}
	below := filepath.Join(dir, leaf)
	if err := os.Mkdir(below, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return write(below, "cgroup.procs", pid)
}

// besideLeaf is the group to use for a process that stepped aside before.
func besideLeaf(group string) string {
	if filepath.Base(group) == leaf {
		return filepath.Dir(group)
	}
	return group
}

// mount is one cgroup file system.
type mount struct {
	point, root string
	unified     bool
	controllers []string
}

// dir is where a group's directory stands; empty when this mount does not show it.
func (m mount) dir(group string) string {
	if group == "" {
		return ""
	}
	rel, err := filepath.Rel(m.root, group)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return ""
	}
	return filepath.Join(m.point, rel)
}

func readMounts() ([]mount, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find the cgroup file systems: %w", err)
	}
	defer f.Close()
	return parseMounts(f)
}

// parseMounts reads lines such as
// "31 24 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory".
func parseMounts(r io.Reader) ([]mount, error) {
	var found []mount
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		dash := slices.Index(fields, "-")
		if dash < 6 || len(fields) < dash+4 {
			continue
		}
		m := mount{root: unescape(fields[3]), point: unescape(fields[4])}
		switch fields[dash+1] {
		case "cgroup2":
			m.unified = true
		case "cgroup":
			m.controllers = strings.Split(fields[dash+3], ",")
		default:
			continue
		}
		found = append(found, m)
	}
	return found, lines.Err()
}

// unescape undoes the octal escapes of mountinfo for the characters it escapes.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// ownGroups reads the groups of a process or thread, by controller; that of
// version 2 stands under "".
func ownGroups(file string) (map[string]string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("find this process's cgroups: %w", err)
	}
	groups := map[string]string{}
	for line := range strings.Lines(string(content)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 || !filepath.IsAbs(fields[2]) {
			continue
		}
		for controller := range strings.SplitSeq(fields[1], ",") {
			groups[controller] = filepath.Clean(fields[2])
		}
	}
	if len(groups) == 0 {
		return nil, errors.New("find this process's cgroups: it has none")
	}
	return groups, nil
}

func words(file string) ([]string, error) {
	content, err := os.ReadFile(file)
	return strings.Fields(string(content)), err
}

// write sets one of a group's files.
func write(dir, file, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Version is which of the two a place is in.
func (p Place) Version() string {
	if p.Unified != "" {
		return "v2"
	}
	return "v1"
}
