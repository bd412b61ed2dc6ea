package cli

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
)

// patience is how long a start may take before a line says what takes so long.
const patience = 700 * time.Millisecond

// notices are what a backend had to say while it started.
type notices struct {
	first string // what follows "starting the sandbox", from Backend.FirstStart
	mu    sync.Mutex
	lines []string
}

func (n *notices) hear(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, text)
}

func (n *notices) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lines)
}

// announce writes a line to standard error if it is not called off within the
// time that people wait without wondering, and then also what the backend had to
// say. The returned function waits for the line, if there is one, so that no two
// writes meet; calling it again does nothing.
func (a *app) announce(text string, heard *notices) (done func()) {
	said := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(said)
		_, _ = io.WriteString(a.env.Stderr, "sandboxctl: "+text+"\n") // nobody can be told
	})
	var once sync.Once
	return func() {
		once.Do(func() {
			if timer.Stop() {
				return
			}
			<-said
			for _, line := range heard.all() {
				fmt.Fprintln(a.errs, "sandboxctl: "+plaintext.Value(line))
			}
		})
	}
}
