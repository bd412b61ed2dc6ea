package egressproxy

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// loadRoleEnv makes the test's binary the clients of a load, in a process of their
// own: what is measured is proxies, which shall not share a process with what asks.
const loadRoleEnv = "EGRESS_LOAD_ROLE"

// The roles.
const (
	roleCrowd    = "crowd"
	roleAttacker = "attacker"
)

// loadOrder is the first line that such a process reads: where proxies are.
type loadOrder struct {
	SitesPEM []byte
	Proxies  []loadProxy
}

// loadProxy is one sandbox's proxy, as the sandbox sees it.
type loadProxy struct {
	Socket       string
	AuthorityPEM []byte
}

// loadDemand is each further line. Each is answered by one line.
type loadDemand struct {
	What  string        // attackSlow, attackDenied or, of a crowd, nothing
	For   time.Duration // of slow connections
	Times int           // how many of them, or of requests to be refused
}

// The attacks.
const (
	attackSlow   = "slow connections"
	attackDenied = "denials"
)

// loadAnswer is what the crowd measured since it was last asked, or what came of an
// attack.
type loadAnswer struct {
	Kept, Fresh []time.Duration
	Said        string
	Failed      string
}

func (a loadAnswer) err() error {
	if a.Failed == "" {
		return nil
	}
	return errors.New(a.Failed)
}

// serveLoad plays a role until its input ends.
func serveLoad(role string, in io.Reader, out io.Writer) error {
	demands, answers := json.NewDecoder(in), json.NewEncoder(out)
	var order loadOrder
	if err := demands.Decode(&order); err != nil {
		return fmt.Errorf("read where the proxies are: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	answer := func(loadDemand) loadAnswer { return loadAnswer{Failed: "no such role: " + role} }
	switch scenes := order.scenes(); role {
	case roleCrowd:
		c := &crowd{scenes: scenes}
		asking.Go(func() { c.ask(ctx) })
		answer = func(loadDemand) loadAnswer { return c.turnOver() }
	case roleAttacker:
		v := villain{scenes[0]}
		answer = func(d loadDemand) loadAnswer { return v.attack(ctx, d) }
	}
	for {
		var d loadDemand
		if err := demands.Decode(&d); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a demand: %w", err)
		}
		if err := answers.Encode(answer(d)); err != nil {
			return fmt.Errorf("answer a demand: %w", err)
		}
	}
}

// scenes are the proxies, from outside of their process.
func (o loadOrder) scenes() (scenes []*scene) {
	pool := func(pem []byte) *x509.CertPool {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		return roots
	}
	sites := pool(o.SitesPEM)
	for _, p := range o.Proxies {
		authority := pool(p.AuthorityPEM)
		scenes = append(scenes, &scene{path: p.Socket, trusts: func(opened bool) *x509.CertPool {
			if opened {
				return authority
			}
			return sites
		}})
	}
	return scenes
}

// pause waits for a stage to pass.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
