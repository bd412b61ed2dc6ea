package mutants_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// inOwnNetwork marks the process that runs the tests in a network of its own.
const inOwnNetwork = "MUTANTS_TEST_NETWORK"

// runInOwnNetwork runs the tests in a network namespace with a loopback interface
// and no way out: some mutants let a sandbox have the machine's network, and what
// it tries there must not leave the machine. Whoever cannot make one runs without
// those mutants.
func runInOwnNetwork(m *testing.M) int {
	if os.Getenv(inOwnNetwork) != "" {
		if err := raiseLoopback(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}
	if os.Geteuid() != 0 {
		return m.Run()
	}
	again := exec.Command("/proc/self/exe", os.Args[1:]...)
	again.Env = append(os.Environ(), inOwnNetwork+"=1")
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.SysProcAttr = &unix.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: unix.SIGKILL}
	err := again.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "run the tests in a network of their own:", err)
		return 1
	}
	return 0
}

// ownAddress is an address of this machine's beside 127.0.0.1, for what is judged by
// the machine's addresses.
var ownAddress = []byte{10, 77, 1, 1}

// raiseLoopback brings the loopback interface of this network up.
func raiseLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bring the loopback interface up: %w", err)
	}
	defer func() { _ = unix.Close(socket) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("bring the loopback interface up: %w", err)
	}
	request.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("bring the loopback interface up: %w", err)
	}
	if request, err = unix.NewIfreq("lo:1"); err == nil {
		err = request.SetInet4Addr(ownAddress)
	}
	if err == nil {
		err = unix.IoctlIfreq(socket, unix.SIOCSIFADDR, request)
	}
	if err != nil {
		return fmt.Errorf("give the loopback interface an address: %w", err)
	}
	return nil
}

// needOwnNetwork is for mutants that let a sandbox have the machine's network.
func needOwnNetwork(t *testing.T) {
	t.Helper()
	if os.Getenv(inOwnNetwork) != "" {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatal("the tests do not run in a network of their own, which takes root")
	}
	t.Skip("only in a network of its own, which takes root")
}
