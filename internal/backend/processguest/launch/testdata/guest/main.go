// Command guest is process 1 of the launchers' tests: it says that it is there,
// then reads scripts, each behind its length, runs them in a shell and prints what
// they printed and how they ended. It ends with its input.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	for {
		var length int
		if _, err := fmt.Fscanf(in, "%d\n", &length); err != nil {
			return
		}
		script := make([]byte, length)
		if _, err := io.ReadFull(in, script); err != nil {
			return
		}
		fmt.Printf("\x00%d\n", run(string(script)))
	}
}

func run(script string) (code int) {
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	err := cmd.Run()
	exit, ran := errors.AsType[*exec.ExitError](err)
	switch {
	case ran:
		return exit.ExitCode()
	case err != nil:
		fmt.Println(err)
		return 127
	}
	return 0
}
