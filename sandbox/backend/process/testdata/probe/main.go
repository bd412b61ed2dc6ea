// Command probe is what a hostile guest would try, in a program without
// dependencies. Its first argument says what.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	switch os.Args[1] {
	case "calls":
		calls(os.Args[2:])
	case "families":
		families()
	case "old":
		fmt.Println(oldCall(20)) // getpid of the 32-bit interface
	case "secret":
		secret(os.Args[2])
	case "descriptors":
		descriptors()
	case "writable":
		writable()
	case "memory":
		memory()
	case "hog":
		hog()
	case "forks":
		forks()
	case "inodes":
		inodes(os.Args[2])
	case "fill":
		fill(os.Args[2])
	case "hoard":
		hoard()
	case "get":
		get(os.Args[2:])
	case "datagrams":
		most, _ := strconv.Atoi(os.Args[2])
		datagrams(most)
	}
}

// get asks as any program in Go does.
func get(urls []string) {
	for _, url := range urls {
		response, err := http.Get(url)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		_, _ = io.Copy(os.Stdout, response.Body)
	}
}

// calls makes each call with arguments that no call accepts and prints the errors.
func calls(numbers []string) {
	for _, text := range numbers {
		n, _ := strconv.ParseUint(text, 10, 32)
		const bad = ^uintptr(0)
		_, _, errno := syscall.RawSyscall6(uintptr(n), bad, bad, bad, bad, bad, bad)
		fmt.Println(n, int(errno))
	}
}

func families() {
	for family := 1; family <= 46; family++ {
		for _, kind := range []int{syscall.SOCK_STREAM, syscall.SOCK_DGRAM, syscall.SOCK_RAW, syscall.SOCK_SEQPACKET} {
			for protocol := range 24 {
				fd, _, errno := syscall.RawSyscall(syscall.SYS_SOCKET, uintptr(family), uintptr(kind), uintptr(protocol))
				if errno == 0 {
					fmt.Println(family, kind, protocol)
					_ = syscall.Close(int(fd))
				}
			}
		}
	}
}

// secret looks for a text, given backwards, wherever /proc shows a process.
func secret(backwards string) {
	var text []byte
	for i := len(backwards) - 1; i >= 0; i-- {
		text = append(text, backwards[i])
	}
	for _, pattern := range []string{"/proc/*/environ", "/proc/*/cmdline", "/proc/*/maps", "/proc/*/comm"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err == nil && bytes.Contains(content, text) {
				fmt.Println("found in", file)
			}
		}
	}
	for _, name := range []string{"environ", "mem", "maps", "smaps", "root", "cwd", "exe", "auxv", "stack", "syscall", "personality", "map_files"} {
		if fd, err := syscall.Open("/proc/1/"+name, syscall.O_RDONLY, 0); err == nil {
			switch n, err := syscall.Read(fd, make([]byte, 1)); {
			case n > 0:
				fmt.Println("read", name)
			case err != nil:
				fmt.Println("opened", name)
			}
		}
	}
}

// descriptors opens every descriptor of process 1.
func descriptors() {
	if _, err := os.ReadDir("/proc/1/fd"); err == nil {
		fmt.Println("listed")
	}
	for n := range 1024 {
		for _, flag := range []int{os.O_RDONLY, os.O_WRONLY} {
			if _, err := syscall.Open(fmt.Sprintf("/proc/1/fd/%d", n), flag|syscall.O_NONBLOCK, 0); err == nil {
				fmt.Println("opened", n)
			}
		}
	}
}

// writable tries to make a file in every directory there is.
func writable() {
	seen := 0
	_ = filepath.WalkDir("/", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if strings.HasPrefix(path, "/proc/") && strings.Count(path, "/") > 2 {
			return filepath.SkipDir
		}
		if !d.IsDir() {
			if d.Type()&(os.ModeSocket) != 0 {
				fmt.Println("socket", path)
			}
			return nil
		}
		seen++
		name := filepath.Join(path, ".probe")
		if fd, err := syscall.Open(name, os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			fmt.Println("wrote", path)
			_ = syscall.Close(fd)
			_ = os.Remove(name)
		}
		return nil
	})
	fmt.Fprintln(os.Stderr, seen, "directories")
}

// memory starts children that each take as much as they can.
func memory() {
	for range 6 {
		_ = exec.Command("/proc/self/exe", "hog").Start()
	}
	hog()
}

func hog() {
	var kept [][]byte
	for {
		block := make([]byte, 4<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		kept = append(kept, block)
	}
}

// forks makes children that make children.
func forks() {
	refused := 0
	for refused < 100 {
		if err := exec.Command("/proc/self/exe", "forks").Start(); err != nil {
			refused++
		}
	}
}

func inodes(dir string) {
	n := 0
	for ; ; n++ {
		fd, err := syscall.Open(fmt.Sprintf("%s/%d", dir, n), os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			break
		}
		_ = syscall.Close(fd)
	}
	fmt.Println(n)
}

func fill(path string) {
	f, err := os.Create(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	block := make([]byte, 1<<20)
	n := 0
	for {
		m, err := f.Write(block)
		n += m
		if err != nil {
			break
		}
	}
	fmt.Println(n)
}
