//go:build linux

package egressproxy

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// attackerNice is the attacker's share of the processors where others want them: a
// tenth of what a process has that is not nice. A sandbox of fifty has no more, since
// each is a cgroup of its own beside the others'.
const attackerNice = 10

// loadSide is a load's proxies, with the process of the programs that use them.
type loadSide struct {
	scenes []*scene
	seen   *tallyman
	in     io.WriteCloser
	ask    *json.Encoder
	hear   *json.Decoder
	cmd    *exec.Cmd
}

func newLoadSide(t *testing.T, w *egressworld.World, pool *Pool, sandboxes int, change func(*Limits)) *loadSide {
	t.Helper()
	s := &loadSide{seen: &tallyman{}}
	for range sandboxes {
		s.scenes = append(s.scenes, newScene(t, w, setting{rules: loadRules(), config: func(config *Config) {
			config.Pool, config.Observer = pool, s.seen
			change(&config.Limits)
		}}))
	}
	return s
}

// start starts the programs.
func (s *loadSide) start(t *testing.T, w *egressworld.World, role string, nice int) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	s.cmd = exec.CommandContext(t.Context(), "nice", "-n", strconv.Itoa(nice), self)
	s.cmd.Env = append(os.Environ(), loadRoleEnv+"="+role)
	s.cmd.Stderr = os.Stderr
	s.in, err = s.cmd.StdinPipe()
	must(t, err)
	out, err := s.cmd.StdoutPipe()
	must(t, err)
	must(t, s.cmd.Start())
	s.ask, s.hear = json.NewEncoder(s.in), json.NewDecoder(out)
	order := loadOrder{SitesPEM: w.RootPEM()}
	for _, scene := range s.scenes {
		order.Proxies = append(order.Proxies, loadProxy{Socket: scene.path, AuthorityPEM: scene.proxy.CAPEM()})
	}
	must(t, s.ask.Encode(order))
}

// demand makes a demand and waits for the answer.
func (s *loadSide) demand(d loadDemand) (a loadAnswer, err error) {
	if err := s.ask.Encode(d); err != nil {
		return a, err
	}
	if err := s.hear.Decode(&a); err != nil {
		return a, err
	}
	return a, a.err()
}

// end ends the programs.
func (s *loadSide) end(t *testing.T) {
	t.Helper()
	must(t, s.in.Close())
	must(t, s.cmd.Wait())
}

// stats are the counts of all proxies together.
func (s *loadSide) stats() (all Stats) {
	for _, scene := range s.scenes {
		st := scene.proxy.Stats()
		all.Allowed, all.Denied, all.Dropped = all.Allowed+st.Allowed, all.Denied+st.Denied, all.Dropped+st.Dropped
	}
	return all
}

// tallyman counts events and keeps none.
type tallyman struct{ events, ends atomic.Int64 }

func (m *tallyman) Observe(e egress.Event) {
	m.events.Add(1)
	if e.End != nil {
		m.ends.Add(1)
	}
}
