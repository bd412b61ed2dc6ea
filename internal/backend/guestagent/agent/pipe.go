//go:build linux

package agent

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/serve"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// pipe is one stream of a program: the end that it is given, which blocks, and
// ours, which does not.
type pipe struct {
	child int
	ours  *os.File
}

var noPipe = pipe{child: -1}

func (p *pipe) open(input bool) error {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	ours := fds[0]
	p.child = fds[1]
	if input {
		ours, p.child = fds[1], fds[0]
	}
	if err := unix.SetNonblock(ours, true); err != nil {
		_ = unix.Close(ours)
		return err
	}
	p.ours = os.NewFile(uintptr(ours), "pipe")
	return nil
}

func (p *pipe) closeChild() {
	if p.child >= 0 {
		_ = unix.Close(p.child)
		p.child = -1
	}
}

func (p *pipe) closeOurs() {
	if p.ours != nil {
		_ = p.ours.Close()
	}
}

// interrupt ends what waits for the pipe.
func (p *pipe) interrupt() {
	if p.ours != nil {
		_ = p.ours.SetDeadline(time.Unix(1, 0)) // only fails on a closed pipe, where nothing waits
	}
}

// feed writes what the host sends to the program until either ends. A program
// that closes its input loses the rest of it.
func feed(c *serve.Call, to *pipe, ended <-chan struct{}) {
	defer c.Refuse()
	defer to.closeOurs()
	for {
		part, err := c.Next(ended)
		if err != nil {
			return
		}
		n, err := to.ours.Write(part[:min(len(part), wire.MaxChunk)])
		if err != nil || c.Took(n) != nil {
			return
		}
	}
}
