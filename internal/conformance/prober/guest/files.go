//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// file makes a program of a change to a file: nothing on success, else exit code
// failure with the error's name on standard error, which is all the suite needs
// to tell a guest that cannot from one that failed.
func file(do func(args []string) error) func([]string) int {
	return func(args []string) int {
		if len(args) == 0 {
			return usage
		}
		err := do(args)
		if number, ok := errors.AsType[syscall.Errno](err); ok {
			fmt.Fprintf(os.Stderr, "errno %d: %v\n", int(number), err)
			return failure
		}
		return status(err)
	}
}

func parents(path string) error { return os.MkdirAll(filepath.Dir(path), 0o755) }

func mkdir(args []string) error { return os.MkdirAll(args[0], 0o755) }

// write puts standard input into a file, links followed.
func write(args []string) error {
	if err := parents(args[0]); err != nil {
		return err
	}
	f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, os.Stdin)
	return errors.Join(err, f.Close())
}

func read(args []string) error {
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(os.Stdout, f)
	return err
}

// link makes the link args[0] to args[1].
func link(args []string) error {
	if len(args) < 2 {
		return errors.New("a link has a target")
	}
	if err := parents(args[0]); err != nil {
		return err
	}
	return os.Symlink(args[1], args[0])
}

func pipe(args []string) error {
	if err := parents(args[0]); err != nil {
		return err
	}
	return syscall.Mkfifo(args[0], 0o666)
}

// exists prints yes or no; a link to nowhere is there.
func exists(args []string) error {
	_, err := os.Lstat(args[0])
	word := "yes"
	if err != nil {
		word = "no"
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	_, err = fmt.Fprint(os.Stdout, word)
	return err
}

func remove(args []string) error { return os.RemoveAll(args[0]) }

// many makes args[1] empty files in the directory args[0].
func many(args []string) error {
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return err
	}
	for i := range number(args, 1, 0) {
		f, err := os.Create(filepath.Join(args[0], "f"+strconv.Itoa(i)))
		if err != nil {
			return err
		}
		f.Close()
	}
	return nil
}

// sparse makes a file of args[1] bytes that holds none.
func sparse(args []string) error {
	f, err := os.Create(args[0])
	if err != nil {
		return err
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	if err == nil {
		err = f.Truncate(size)
	}
	return errors.Join(err, f.Close())
}

// device makes a node of /dev/zero there.
func device(args []string) error {
	const zero = 1<<8 | 5
	return syscall.Mknod(args[0], syscall.S_IFCHR|0o666, zero)
}

// nodes lists the names in a directory as they are, NUL after each.
func nodes(args []string) error {
	entries, err := os.ReadDir(args[0])
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, err := fmt.Fprintf(os.Stdout, "%s\x00", e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// writable opens a file for writing and changes nothing.
func writable(args []string) error {
	f, err := os.OpenFile(args[0], os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func deletable(args []string) error {
	if err := os.Remove(args[0]); err != nil {
		return err
	}
	_, err := os.Lstat(args[0])
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("it is there after its removal: %w", err)
}

// reach reads files that nobody should be able to and answers those it could.
func reach(args []string) answer {
	var a answer
	for _, path := range args {
		data, err := os.ReadFile(path)
		a.Tried++
		if err == nil {
			a.reach("%s (%d bytes)", path, len(data))
		}
	}
	return a
}

// relocate moves the directory args[0] to args[1] and makes args[0] a link to
// args[2].
func relocate(args []string) error {
	if len(args) < 3 {
		return errors.New("three places are needed")
	}
	if err := os.Rename(args[0], args[1]); err != nil {
		return err
	}
	return os.Symlink(args[2], args[0])
}
