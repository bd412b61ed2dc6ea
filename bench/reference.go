package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

//go:embed reference.py
var referencePy string

// referenceCodes are the reference's refusals in our words.
var referenceCodes = map[string]sandbox.Code{
	"SandboxCapabilityDenied":           sandbox.CodeCapabilityDenied,
	"SandboxIdentityDenied":             sandbox.CodeIdentityDenied,
	"SandboxBackendNotPermitted":        sandbox.CodeIsolationBelowFloor,
	"SandboxCapabilityNotSupported":     sandbox.CodeCapabilityMissing,
	"SandboxOsFamilyNotSupported":       sandbox.CodeOSFamilyUnsupported,
	"SandboxTransferLimitsNotPermitted": sandbox.CodeLimitsOverCeiling,
	"SandboxEgressNotEnforced":          sandbox.CodeEgressNotEnforced,
	"SandboxScopeNotEnforced":           sandbox.CodeScopeNotEnforced,
}

// referenceRun is what the reference decided and how long one check took, by
// list.
type referenceRun struct {
	Decided     map[int]*string    `json:"decided"`
	Nanoseconds map[string]float64 `json:"nanoseconds"`
	Python      string             `json:"python"`
}

// runReference lets a Python that has the reference package decide and time the
// lists of cases.
func runReference(ctx context.Context, python string, p *plainCorpus, lists map[string][]int) (*referenceRun, error) {
	job, err := json.Marshal(map[string]any{"corpus": p, "lists": lists})
	if err != nil {
		return nil, fmt.Errorf("write the reference's cases: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-c", referencePy)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(job), os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run the reference: %w", err)
	}
	var out referenceRun
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("read the reference's answer: %w", err)
	}
	return &out, nil
}

// agree holds every decision of the reference against the first code of ours: it
// stops at its first refusal.
func (r *referenceRun) agree(c *corpus) error {
	for _, i := range slices.Sorted(maps.Keys(r.Decided)) {
		class := r.Decided[i]
		want := sandbox.Code("")
		if kind := c.cases[i].refusal; kind != nil {
			want = kind.codes[0]
		}
		got := sandbox.Code("")
		if class != nil {
			got = referenceCodes[*class]
			if got == "" {
				return fmt.Errorf("case %d: the reference raised %s", i, *class)
			}
		}
		if got != want {
			return fmt.Errorf("case %d: the reference says %q, this engine %q", i, string(got), string(want))
		}
	}
	return nil
}
