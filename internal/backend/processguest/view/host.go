package view

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// etc are the files and directories below /etc that programs of /usr do not work
// without. None says anything about the host's users, network or services.
var etc = []string{
	"ld.so.cache",                                             // the loader
	"alternatives",                                            // what /usr/bin/java, cc, … lead to
	"ssl/certs", "ssl/openssl.cnf", "pki/tls", "pki/ca-trust", // certificates
	"localtime", "mime.types", "protocols", "services", // tables
	"java-*-openjdk", // the JVM's own configuration, without which it does not start
}

// smallFile is the size up to which copying a file takes less time than a mount.
const smallFile = 256 << 10

// topLinks are the names in the root that lead into /usr on merged systems and
// are directories on others.
var topLinks = []string{"bin", "sbin", "lib", "lib32", "lib64", "libx32"}

// Host is what is shown of this machine's own file system.
func Host() (View, error) {
	v := View{{Kind: Show, Path: "/usr", Source: "/usr"}}
	if _, err := os.Stat("/usr"); err != nil {
		return nil, fmt.Errorf("find the programs to show to sandboxes: %w", err)
	}
	for _, name := range topLinks {
		e, ok, err := shown("/"+name, "/"+name)
		if err != nil {
			return nil, err
		}
		if ok {
			v = append(v, e)
		}
	}
	for _, pattern := range etc {
		found, err := filepath.Glob("/etc/" + pattern)
		if err != nil {
			return nil, fmt.Errorf("find %s below /etc: %w", pattern, err)
		}
		for _, name := range found {
			info, err := os.Stat(name) // what is shown is what a link leads to
			switch {
			case err != nil:
			case info.Mode().IsRegular() && info.Size() <= smallFile:
				v = append(v, Entry{Kind: Copy, Path: name, Source: name, Mode: 0o444})
			default:
				v = append(v, Entry{Kind: Show, Path: name, Source: name})
			}
		}
	}
	return v, nil
}

// shown is the entry for one name of a root: a link as a link, a directory or
// file as it is.
func shown(source, target string) (e Entry, ok bool, err error) {
	info, err := os.Lstat(source)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Entry{}, false, nil
	case err != nil:
		return Entry{}, false, fmt.Errorf("look at what to show to sandboxes: %w", err)
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(source)
		if err != nil {
			return Entry{}, false, fmt.Errorf("look at what to show to sandboxes: %w", err)
		}
		return Entry{Kind: Link, Path: target, Source: to}, true, nil
	case info.IsDir() || info.Mode().IsRegular():
		return Entry{Kind: Show, Path: target, Source: source}, true, nil
	}
	return Entry{}, false, nil
}

// ownTop are the names of a root file system that every sandbox has new; /etc is
// taken apart, because two of its files are.
var ownTop = []string{"dev", "proc", "sys", "tmp", "run", "etc"}

// ownEtc are the files below /etc that every sandbox has new.
var ownEtc = []string{"passwd", "group", "hosts", "nsswitch.conf", "resolv.conf", "mtab"}

// RootFS is what is shown of a root file system that stands in a directory.
func RootFS(field sandbox.FieldPath, root string) (View, error) {
	var v View
	if info, err := os.Stat(root); err != nil || !info.IsDir() || !filepath.IsAbs(root) || filepath.Clean(root) != root || root == "/" {
		return nil, sandbox.Finding{
			Code: sandbox.CodeOptionsInvalid, Path: field, Found: sandbox.Echo(root),
			Required: "an absolute path to the directory of a root file system", Remedy: "name such a directory, or leave it out",
		}.Refusal(err)
	}
	for _, level := range []struct {
		dir  string
		skip []string
	}{{"/", ownTop}, {"/etc", ownEtc}} {
		if err := ownDirectory(field, root, level.dir); err != nil {
			return nil, err
		}
		children, err := os.ReadDir(filepath.Join(root, level.dir))
		if err != nil && (level.dir == "/" || !errors.Is(err, fs.ErrNotExist)) {
			return nil, fmt.Errorf("read the root file system: %w", err)
		}
		for _, child := range children {
			if slices.Contains(level.skip, child.Name()) {
				continue
			}
			at := path.Join(level.dir, child.Name())
			e, ok, err := shown(filepath.Join(root, at), at)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			if e.Kind == Show {
				if err := CheckSource(field, e.Source); err != nil {
					return nil, err
				}
			}
			v = append(v, e)
		}
	}
	return v, nil
}

// ownDirectory refuses a root file system in which dir is a link: it was made by
// whoever made the files, and would lead this process, on this machine, to any
// directory at all.
func ownDirectory(field sandbox.FieldPath, root, dir string) error {
	info, err := os.Lstat(filepath.Join(root, dir))
	if dir == "/" || err != nil || info.IsDir() {
		return nil //nolint:nilerr // one that is not there is its reader's to judge
	}
	return sandbox.Finding{
		Code: sandbox.CodeOptionsInvalid, Path: field, Found: "a root file system whose " + dir + " is no directory",
		Required: "a directory in it, or nothing", Remedy: "put the files in a directory of that name",
	}.Refusal(nil)
}

// Add shows one more directory of this machine, at the same place: what its links
// lead to now, which is what was checked. One that would cover or enter what is
// there already is refused.
func (v View) Add(field sandbox.FieldPath, dir string) (View, error) {
	if err := CheckSource(field, dir); err != nil {
		return nil, err
	}
	source, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("find what a link leads to: %w", err)
	}
	if source != dir {
		if err := CheckSource(field, source); err != nil {
			return nil, err
		}
	}
	// Whatever the work directory is, it is refused at dir later.
	whole, err := Make(v, "/work-directory", Sizes{})
	if err != nil {
		return nil, err
	}
	for _, e := range append(whole, Entry{Path: Agent}) {
		if Within(dir, e.Path) || Within(e.Path, dir) {
			return nil, sandbox.Finding{
				Code: sandbox.CodeOptionsInvalid, Path: field, Found: sandbox.Echo(dir),
				Required: "a directory apart from " + e.Path + ", which sandboxes have", Remedy: "leave it out, or show another",
			}.Refusal(nil)
		}
	}
	return append(v, Entry{Kind: Show, Path: dir, Source: source}), nil
}

// CheckSource refuses what must not be shown: something that is not there, or that
// holds a socket or a named pipe, to whose other end a guest could speak although
// it is read-only.
func CheckSource(field sandbox.FieldPath, source string) error {
	bad := func(found string, err error) error {
		return sandbox.Finding{
			Code: sandbox.CodeOptionsInvalid, Path: field, Found: found,
			Required: "an absolute path to files and directories, without sockets or named pipes in them",
			Remedy:   "show a directory that holds only what sandboxes may read",
		}.Refusal(err)
	}
	if !filepath.IsAbs(source) || filepath.Clean(source) != source || source == "/" {
		return bad(sandbox.Echo(source), nil)
	}
	err := filepath.WalkDir(source, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) && name != source {
			return fs.SkipDir // what the host may not read, its sandboxes may not
		}
		if err != nil {
			return err
		}
		if d.Type()&(fs.ModeSocket|fs.ModeNamedPipe) != 0 {
			return bad("a socket or named pipe in "+sandbox.Echo(source), nil)
		}
		return nil
	})
	if sandbox.RefusalOf(err) != nil {
		return err
	}
	if err != nil {
		return bad("what cannot be read: "+sandbox.Echo(source), err)
	}
	return nil
}

// procMasks are files and directories of /proc that tell of the whole machine, or
// of other users' keys.
var procMasks = []string{"kcore", "keys", "key-users", "latency_stats", "sched_debug", "timer_list", "acpi", "asound", "scsi"}

// maskedProc covers what the kernel of this machine has of them and lets
// everybody read. The others are closed to a user without capabilities anyway.
func maskedProc() View {
	const everybody = 0o004
	var v View
	for _, name := range procMasks {
		info, err := os.Lstat("/proc/" + name)
		switch {
		case err != nil || info.Mode().Perm()&everybody == 0:
		case info.IsDir():
			v = append(v, Entry{Kind: Memory, Path: "/proc/" + name, Bytes: 4096, Sealed: true})
		default:
			v = append(v, Entry{Kind: ShowDevice, Path: "/proc/" + name, Source: "/dev/null"})
		}
	}
	return v
}

// Sources are the paths of the host that the view shows, for a check that none
// leads to what must stay hidden.
func (v View) Sources() []string {
	var out []string
	for _, e := range v {
		if e.Kind == Show || e.Kind == Copy {
			out = append(out, e.Source)
		}
	}
	return out
}
