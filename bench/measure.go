package main

import (
	"runtime"
	"syscall"
	"time"
)

const (
	rounds = 5
	// budget is the least processor time of one round of one engine.
	budget = 200 * time.Millisecond
)

// contender is one engine at one piece of work: run does item i of it.
type contender struct {
	name string
	run  func(i int)
}

// timing is what one item took.
type timing struct {
	name        string
	nanoseconds float64 // the least of all rounds
	allocations float64 // negative where they were not counted
}

// measure lets the contenders take turns, so that a busy moment of the machine
// does not fall on one of them alone. The least of the rounds is kept: whatever
// else runs on the machine only ever makes a round longer.
func measure(items []int, contenders ...contender) []timing {
	out := make([]timing, len(contenders))
	for i, c := range contenders {
		out[i] = timing{name: c.name, allocations: allocations(items, c)}
	}
	for round := range rounds {
		for i, c := range contenders {
			if took := oneRound(items, c); round == 0 || took < out[i].nanoseconds {
				out[i].nanoseconds = took
			}
		}
	}
	return out
}

// oneRound gives the nanoseconds that one item took.
func oneRound(items []int, c contender) float64 {
	runtime.GC()
	passes, began, spent := 0, processorTime(), time.Duration(0)
	for spent < budget {
		// The clock is a system call, so it is not read after every item.
		for until := max(2*passes, 1); passes < until; passes++ {
			for _, i := range items {
				c.run(i)
			}
		}
		spent = processorTime() - began
	}
	return float64(spent.Nanoseconds()) / float64(passes*len(items))
}

// processorTime is what this process has used, collecting garbage included. On a
// busy machine it says more than the time on the wall.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return time.Duration(time.Now().UnixNano()) // no such clock: the wall's
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// allocations runs the items once to warm up and once to count.
func allocations(items []int, c contender) float64 {
	var before, after runtime.MemStats
	for range 2 {
		runtime.GC()
		runtime.ReadMemStats(&before)
		for _, i := range items {
			c.run(i)
		}
		runtime.ReadMemStats(&after)
	}
	return float64(after.Mallocs-before.Mallocs) / float64(len(items))
}
