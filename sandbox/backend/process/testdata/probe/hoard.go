package main

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// hoard takes all it gets of what the kernel counts by user and not by memory,
// tells how much that was, and holds it until its input ends.
func hoard() {
	watchers := 0
	for watchers < 4096 {
		if _, err := syscall.InotifyInit1(0); err != nil {
			break
		}
		watchers++
	}
	fmt.Println("watchers", watchers)
	fmt.Println("signals", queueSignals(200_000))
	fmt.Println("queues", openQueues(64))
	_ = os.Stdout.Sync()
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// queueSignals sends this thread blocked signals that wait, each with a value.
func queueSignals(most int) int {
	const first, sigQueue, blockAll = 40, -1, 2
	all := ^uint64(0)
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, blockAll, uintptr(unsafe.Pointer(&all)), 0, 8, 0, 0)
	var info [128]byte
	*(*int32)(unsafe.Pointer(&info[0])) = first
	*(*int32)(unsafe.Pointer(&info[8])) = sigQueue
	tgid, tid := syscall.Getpid(), syscall.Gettid()
	for n := range most {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_TGSIGQUEUEINFO, uintptr(tgid), uintptr(tid), first, uintptr(unsafe.Pointer(&info[0])), 0, 0)
		if errno != 0 {
			return n
		}
	}
	return most
}

// openQueues makes message queues of the usual size.
func openQueues(most int) int {
	for n := range most {
		name := append([]byte(fmt.Sprintf("q%d", n)), 0)
		_, _, errno := syscall.RawSyscall6(syscall.SYS_MQ_OPEN, uintptr(unsafe.Pointer(&name[0])), syscall.O_CREAT|syscall.O_RDWR, 0o600, 0, 0, 0)
		if errno != 0 {
			return n
		}
	}
	return most
}

// datagrams sends this program what it does not read, until so many bytes were
// sent, and prints how many of them wait.
func datagrams(most int) {
	out, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	const each = 32000
	var to []net.PacketConn
	for sent := 0; sent < most; {
		in, err := net.ListenPacket("udp4", "127.0.0.1:0")
		if err != nil {
			break
		}
		to = append(to, in)
		if u, ok := in.(*net.UDPConn); ok {
			_ = u.SetReadBuffer(1 << 20)
		}
		for range 6 {
			_, _ = out.WriteTo(make([]byte, each), in.LocalAddr())
			sent += each
		}
	}
	waiting := 0
	for _, in := range to {
		_ = in.SetReadDeadline(time.Now().Add(time.Millisecond))
		for b := make([]byte, each); ; {
			n, _, err := in.ReadFrom(b)
			if err != nil {
				break
			}
			waiting += n
		}
	}
	fmt.Println(waiting)
}
