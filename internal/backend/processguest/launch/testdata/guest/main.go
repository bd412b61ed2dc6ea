// Command guest is process 1 of the launchers' tests: it says that it is there,
// then runs each line that it reads as a shell script, prints what that printed
// and how it ended. It ends with its input.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	signal.Notify(make(chan os.Signal, 64), syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	fmt.Println("ready")
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if line == "echo\n" {
			echo(lines)
			continue
		}
		cmd := exec.Command("/bin/sh", "-c", line)
		cmd.Env = []string{"PATH=/usr/bin:/bin"}
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
		code := 0
		if err := cmd.Run(); err != nil {
			code = 255
			if exit, ok := err.(*exec.ExitError); ok {
				code = exit.ExitCode()
			}
		}
		fmt.Printf("\x00%d\n", code)
	}
}

func echo(r io.Reader) { _, _ = io.Copy(os.Stdout, r) }
