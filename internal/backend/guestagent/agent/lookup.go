//go:build linux

package agent

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// defaultPath is where programs are looked for when the environment does not say.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// lookUp finds the file to run: the name itself when it has a slash, and
// otherwise the first program of that name in the environment's PATH.
func lookUp(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		file := name
		if file[0] != '/' {
			file = dir + "/" + file
		}
		return name, runnable(file)
	}
	first := error(unix.ENOENT)
	for place := range strings.SplitSeq(pathOf(env), ":") {
		if !strings.HasPrefix(place, "/") {
			continue // the working directory is searched by nobody's accident
		}
		file := place + "/" + name
		err := runnable(file)
		if err == nil {
			return file, nil
		}
		if errors.Is(first, unix.ENOENT) {
			first = err
		}
	}
	return "", first
}

func pathOf(env []string) string {
	for _, pair := range env {
		if path, ok := strings.CutPrefix(pair, "PATH="); ok {
			return path
		}
	}
	return defaultPath
}

// runnable says beforehand, and more exactly, what exec would say. It keeps exec
// from waiting for a lease, too.
func runnable(file string) error {
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		return unix.EISDIR
	default:
		return errNotRegular
	}
	if err := unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, 0); err != nil {
		return err
	}
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case err == nil:
		return unix.Close(fd)
	case errors.Is(err, unix.EAGAIN):
		return err
	default:
		return nil // to run a file needs no leave to read it
	}
}
