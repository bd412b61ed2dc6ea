//go:build linux

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// forbiddenHere are the calls that this processor has beside.
func forbiddenHere() []systemCall {
	return []systemCall{
		{"iopl", unix.SYS_IOPL, [6]uintptr{9}},
		{"ioperm", unix.SYS_IOPERM, [6]uintptr{1 << 40, 1, 1}},
		{"modify_ldt", unix.SYS_MODIFY_LDT, [6]uintptr{1, 1, 1}},
		{"uselib", unix.SYS_USELIB, [6]uintptr{1}},
	}
}

// otherABIs are the ways into the kernel beside this program's own.
var otherABIs = []string{"32-bit", "x32"}

// otherABI asks for the process id in that way and reports whether it got it.
func otherABI(abi string) bool {
	switch abi {
	case "32-bit":
		return getpid32() == uint32(os.Getpid())
	case "x32":
		const x32 = 1 << 30
		pid, _, errno := syscall.RawSyscall(x32|unix.SYS_GETPID, 0, 0, 0)
		return errno == 0 && int(pid) == os.Getpid()
	}
	return false
}

// getpid32 enters the kernel as programs for the 80386 do.
func getpid32() uint32
