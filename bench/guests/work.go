package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// task is one piece of work; its first contender is the one that others are set
// against.
type task struct {
	name  string
	times int   // how often, in each contender's turn; 0 is the run's own number
	bytes int64 // that one repetition moves, 0 for none
	run   []contender
}

// contender does a piece of work its own way. prepare and undo are not timed and
// may be nil.
type contender struct {
	name          string
	prepare, undo func(ctx context.Context, n int) error
	do            func(ctx context.Context, n int) error
	// told are times that another program measured itself, in place of do.
	told time.Duration
	// note says what sets this row apart.
	note string
}

// row is what a contender took.
type row struct {
	task, name, note string
	median, p99      time.Duration
	ratio            float64
	bytes            int64
}

// measure lets the contenders take turns at every single repetition, so that a
// busy moment of the machine does not fall on one of them alone. Time is the
// wall's: most of the work is other processes'.
func (t task) measure(ctx context.Context, times int) ([]row, error) {
	if t.times > 0 {
		times = t.times
	}
	const warmUp = 3
	taken := make([][]time.Duration, len(t.run))
	for n := range warmUp + times {
		for i, c := range t.run {
			if c.do == nil {
				continue
			}
			took, err := c.once(ctx, n)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", t.name, c.name, err)
			}
			if n >= warmUp {
				taken[i] = append(taken[i], took)
			}
		}
	}
	rows := make([]row, len(t.run))
	for i, c := range t.run {
		rows[i] = row{task: t.name, name: c.name, note: c.note, bytes: t.bytes, median: c.told}
		if c.do != nil {
			rows[i].median, rows[i].p99 = quantile(taken[i], 0.5), quantile(taken[i], 0.99)
		}
		rows[i].ratio = float64(rows[i].median) / float64(rows[0].median)
	}
	return rows, nil
}

func (c contender) once(ctx context.Context, n int) (took time.Duration, err error) {
	if c.prepare != nil {
		if err := c.prepare(ctx, n); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	err = c.do(ctx, n)
	took = time.Since(began)
	if c.undo != nil {
		if undone := c.undo(ctx, n); err == nil {
			err = undone
		}
	}
	return took, err
}

func quantile(taken []time.Duration, q float64) time.Duration {
	if len(taken) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(taken))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
