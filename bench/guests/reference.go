package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"time"
)

//go:embed reference.py
var referenceScript string

// reference is what the reference's bubblewrap backend took, as its script timed
// it, in seconds.
type reference struct {
	Acquire       float64 `json:"acquire"`
	Exec          float64 `json:"exec"`
	Write1MiB     float64 `json:"write_1MiB"`
	Read1MiB      float64 `json:"read_1MiB"`
	Stat          float64 `json:"stat"`
	WithoutLimits bool    `json:"without_limits"`
}

func measureReference(ctx context.Context, python string, rounds int) (*reference, error) {
	if python == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	// A mount namespace of its own, so that what the script binds ends with it.
	cmd := exec.CommandContext(ctx, "unshare", "-m", python, "-c", referenceScript, strconv.Itoa(rounds))
	cmd.WaitDelay = 5 * time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("time the reference: %w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	var r reference
	if err := json.Unmarshal(out, &r); err != nil {
		return nil, fmt.Errorf("read what the reference took: %w", err)
	}
	return &r, nil
}

// told is a row of the reference, none where it was skipped.
func (r *reference) told(of func(*reference) float64) []contender {
	if r == nil {
		return nil
	}
	c := contender{name: "the reference", told: time.Duration(of(r) * float64(time.Second))}
	if r.WithoutLimits {
		c.note = "without its cgroup limits, which this machine cannot give it"
	}
	return []contender{c}
}
