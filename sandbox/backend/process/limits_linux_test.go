package process

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// limited is an engine whose sandboxes are small, on a machine that has cgroups.
func limited(t *testing.T) *Engine {
	t.Helper()
	c := testConfig(t)
	c.MemoryBytes, c.Processes = 160<<20, 96
	c.WorkBytes, c.TmpBytes, c.SharedBytes = 64<<20, 32<<20, 16<<20
	e := newEngine(t, c)
	if e.host.group == nil {
		need(t, false, "cgroups: "+e.host.missing.Found)
	}
	return e
}

// beside runs programs in a neighbour while an attack goes on, at least as many
// as asked for, and tells how long they took.
func beside(t *testing.T, neighbour box, least int, attack func()) {
	t.Helper()
	over := make(chan struct{})
	go func() {
		defer close(over)
		attack()
	}()
	var took []time.Duration
	for ended := false; !ended || len(took) < least; {
		began := time.Now()
		neighbour.alive()
		took = append(took, time.Since(began))
		select {
		case <-over:
			ended = true
		default:
		}
	}
	slices.Sort(took)
	t.Logf("neighbour: %d programs, median %v, p99 %v", len(took), took[len(took)/2].Round(10*time.Microsecond), took[len(took)*99/100].Round(10*time.Microsecond))
}

//nolint:paralleltest,tparallel // one attack after the other, beside one neighbour
func TestBombsHurtNobodyElse(t *testing.T) {
	t.Parallel()
	e := limited(t)
	neighbour := start(t, e, "neighbour")
	t.Log("before:")
	beside(t, neighbour, 200, func() {})
	for _, c := range []struct {
		name, command string
		holds         func(t *testing.T, b box, out string, code int, err error)
	}{
		{"memory", "/tmp/probe memory; echo over", func(t *testing.T, b box, _ string, _ int, _ error) {
			t.Helper()
			if e := b.events(); e.MemoryKills == 0 && !b.lost() {
				t.Errorf("nobody was killed for memory: %+v", e)
			}
		}},
		{"forks", "/tmp/probe forks; echo over", func(t *testing.T, b box, _ string, _ int, _ error) {
			t.Helper()
			// gVisor refuses by itself, before the host's kernel has to.
			if e := b.events(); (e.ForksRefused == 0) != inGVisor(b.engine) {
				t.Errorf("no fork was refused: %+v", e)
			}
		}},
		{"inodes", "/tmp/probe inodes /work", func(t *testing.T, b box, out string, _ int, _ error) {
			t.Helper()
			if n, _ := strconv.Atoi(strings.TrimSpace(out)); n > 600_000 {
				t.Errorf("%d files fitted", n)
			}
			t.Logf("%s files, %d bytes counted, lost %v", strings.TrimSpace(out), b.events().MemoryBytes, b.lost())
		}},
		{"disk", "/tmp/probe fill /work/x; /tmp/probe fill /tmp/x; /tmp/probe fill /dev/shm/x", func(t *testing.T, _ box, out string, _ int, err error) {
			t.Helper()
			total := 0
			for field := range strings.FieldsSeq(out) {
				n, _ := strconv.Atoi(field)
				total += n
			}
			if err != nil || total == 0 || total > 112<<20 {
				t.Errorf("%d bytes fitted, %v", total, err)
			}
		}},
		{"datagrams", "/tmp/probe datagrams " + strconv.Itoa(200<<20), func(t *testing.T, b box, out string, _ int, _ error) {
			t.Helper()
			// Lost, or killed for it, or kept from it: in any case no more than its memory.
			if n, err := strconv.Atoi(strings.TrimSpace(out)); err == nil && n > 160<<20 || err != nil && b.events().MemoryKills == 0 && !b.lost() {
				t.Errorf("%q bytes waited in sockets", out)
			}
			t.Logf("%s bytes waited", strings.TrimSpace(out))
		}},
		{"devices", "/tmp/probe fill /dev/x; /tmp/probe fill /dev/null/x; /tmp/probe inodes /dev; /tmp/probe inodes /; /tmp/probe fill /x", func(t *testing.T, _ box, out string, _ int, err error) {
			t.Helper()
			for word := range strings.FieldsSeq(out) {
				if n, bad := strconv.Atoi(word); bad == nil && n > 0 {
					t.Errorf("%s, %v", out, err)
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := start(t, e, c.name)
			b.upload("/tmp/probe", probe(t))
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			beside(t, box{t, neighbour.guest}, 50, func() {
				out, code, err := b.try(ctx, "/bin/sh", "-c", c.command)
				c.holds(t, b, out, code, err)
			})
			removing := time.Now()
			if err := e.Delete(t.Context(), b.ID()); err != nil {
				t.Fatal(err)
			}
			t.Logf("removed in %v", time.Since(removing).Round(time.Millisecond))
		})
	}
	neighbour.alive()
}

func TestAProgramKilledForItsMemoryIsSaidToBe(t *testing.T) {
	t.Parallel()
	e := limited(t)
	b := start(t, e, "a")
	b.upload("/tmp/probe", probe(t))
	_, _, err := b.try(t.Context(), "/tmp/probe", "hog")
	if !errors.Is(err, engine.ErrMemory) || isGone(err) != inGVisor(e) {
		t.Errorf("%v", err)
	}
	if inGVisor(e) {
		return // it took the sandbox with it
	}
	if _, code, err := b.try(t.Context(), "/bin/sh", "-c", "kill -9 $$"); err != nil || code != 137 {
		t.Errorf("a program that kills itself: %d, %v", code, err)
	}
	b.alive()
}

// A full sandbox gives back what it held when its files go.
func TestAFullSandboxCanBeUsedOn(t *testing.T) {
	t.Parallel()
	e := limited(t)
	b := start(t, e, "a")
	b.prints("head -c 60000000 /dev/zero > x; rm x")
	if _, code := b.sh("head -c 80000000 /dev/zero > x"); code == 0 {
		t.Error("more than its size fitted in the work directory")
	}
	b.prints("rm x; head -c 60000000 /dev/zero > y")
	err := b.Write(t.Context(), b.ref("/work/z"), strings.NewReader(strings.Repeat("z", 16<<20)), 16<<20)
	if !errors.Is(err, engine.ErrNoSpace) {
		t.Errorf("%v", err)
	}
}

func TestProcessorTimeIsBounded(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	c.CPUPercent = 20
	e := newEngine(t, c)
	if inGVisor(e) {
		t.Skip("gVisor's kernel counts time itself")
	}
	if e.host.group == nil || e.host.place.Unified == "" && e.host.place.Legacy["cpu"] == "" {
		need(t, false, "a cpu controller")
	}
	b := start(t, e, "a")
	used := b.prints(`python3 -c 'import time, os
w = time.monotonic()
while time.monotonic() - w < 1: pass
print(int(sum(os.times()[:2]) * 1000))' 2>/dev/null || echo 0`)
	if ms, err := strconv.Atoi(used); err != nil || ms > 600 {
		t.Errorf("%s ms of processor time in a second at 20%%", used)
	}
}
