// Package tfplan plans a copy of a configuration with the real Terraform, or
// OpenTofu: without its backend, from an empty state, without refreshing
// anything, and reads what came of it. The original is never written to, and the
// copy is removed.
//
// It is for configurations that need no cloud; whoever calls it has asked
// hclsource first. Read [Run].
package tfplan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hclsource"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/planjson"
)

// Options say with what to plan.
type Options struct {
	// Terraform is the command. Empty is TERRAFORM of the environment, else
	// terraform or tofu on PATH.
	Terraform string
	// Provider is the provider's binary. Empty leaves finding it to Terraform.
	Provider string
	VarFiles []string
	Vars     []string
	// Environ is the environment, NAME=value; what would lead Terraform away from
	// the copy is taken out of it.
	Environ []string
}

// Outcome is what planning came to.
type Outcome struct {
	// Diagnostics are the errors and warnings, in Terraform's order.
	Diagnostics []Diagnostic
	// Plan is what was planned; nil when planning did not get that far.
	Plan *planjson.Plan
}

// ErrNoTerraform says that there is neither terraform nor tofu.
var ErrNoTerraform = errors.New("neither terraform nor tofu is on PATH; name one with --terraform or TERRAFORM")

// Run plans. An error means that there is no outcome: the copy could not be made,
// or Terraform could not be started or prepared. A configuration that Terraform
// refuses is an outcome.
func Run(ctx context.Context, config *hclsource.Config, o Options) (outcome Outcome, err error) {
	binary, err := o.find()
	if err != nil {
		return outcome, err
	}
	dir, err := os.MkdirTemp("", "sandboxctl-check-")
	if err != nil {
		return outcome, fmt.Errorf("make a directory for the copy: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := copyConfig(config, filepath.Join(dir, "copy"))
	if err != nil {
		return outcome, err
	}
	t := &terraform{binary: binary, root: root, env: o.environ()}
	if err := t.findProvider(ctx, o, dir); err != nil {
		return outcome, err
	}
	return t.plan(ctx, o, filepath.Join(dir, "plan"), filepath.Join(dir, "plan.json"))
}

func (o Options) find() (string, error) {
	for _, name := range []string{o.Terraform, variable(o.Environ, "TERRAFORM")} {
		if name == "" {
			continue
		}
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("find the terraform to plan with: %w", err)
		}
		return filepath.Abs(path)
	}
	for _, name := range []string{"terraform", "tofu"} {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", ErrNoTerraform
}

// misleading are the variables that would change which directory, state or
// arguments Terraform uses, or what it prints.
var misleading = []string{
	"TF_DATA_DIR=", "TF_WORKSPACE=", "TF_CLI_ARGS", "TF_LOG", "TF_INPUT=", "TF_IN_AUTOMATION=", "TF_STATE_", "CHECKPOINT_DISABLE=",
	"TF_CLI_CONFIG_FILE=", "SANDBOX_POLICY_FILE=",
}

func (o Options) environ() []string {
	env := make([]string, 0, len(o.Environ)+4)
	for _, entry := range o.Environ {
		drop := false
		for _, prefix := range misleading {
			drop = drop || strings.HasPrefix(entry, prefix)
		}
		if !drop {
			env = append(env, entry)
		}
	}
	env = append(env, "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1")
	// Files named relative to where the command was started stay the same files.
	for _, name := range []string{"TF_CLI_CONFIG_FILE", "SANDBOX_POLICY_FILE"} {
		if file := variable(o.Environ, name); file != "" {
			if abs, err := filepath.Abs(file); err == nil {
				file = abs
			}
			env = append(env, name+"="+file)
		}
	}
	return env
}

func variable(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// terraform is the command in the copy.
type terraform struct {
	binary, root string
	env          []string
}

// maxOutput bounds what is kept of a command's output in memory.
const maxOutput = 64 << 20

// run runs one command and returns what it printed on standard output. A command
// that ends with a code other than 0 is an error of *exec.ExitError, and the
// output comes with it.
func (t *terraform) run(ctx context.Context, args ...string) (stdout, stderr []byte, err error) {
	var out, errs bounded
	cmd := t.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("%s %s: %w", filepath.Base(t.binary), args[0], context.Cause(ctx))
	}
	return out.Bytes(), errs.Bytes(), err
}

func (t *terraform) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.binary, args...)
	cmd.Dir, cmd.Env = t.root, t.env
	// Asked first, so that it can end its providers; killed when it does not.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killDelay
	return cmd
}

// plan plans and reads the plan.
func (t *terraform) plan(ctx context.Context, o Options, planFile, jsonFile string) (Outcome, error) {
	args := []string{"plan", "-json", "-input=false", "-refresh=false", "-lock=false", "-out=" + planFile}
	for _, file := range o.VarFiles {
		abs, err := filepath.Abs(file)
		if err != nil {
			return Outcome{}, fmt.Errorf("find the variables file: %w", err)
		}
		args = append(args, "-var-file="+abs)
	}
	for _, v := range o.Vars {
		args = append(args, "-var="+v)
	}
	stdout, stderr, err := t.run(ctx, args...)
	if ctx.Err() != nil {
		return Outcome{}, err
	}
	outcome := Outcome{Diagnostics: readDiagnostics(stdout)}
	if err != nil && !outcome.failed() {
		return outcome, fmt.Errorf("terraform plan: %w: %s", err, bytes.TrimSpace(stderr))
	}
	if _, err := os.Stat(planFile); errors.Is(err, fs.ErrNotExist) {
		return outcome, nil // refused before anything was planned
	}
	outcome.Plan, err = t.show(ctx, planFile, jsonFile)
	return outcome, err
}

// show writes a plan as JSON to a file and reads it from there, since it may be
// large.
func (t *terraform) show(ctx context.Context, planFile, jsonFile string) (plan *planjson.Plan, err error) {
	f, err := os.Create(jsonFile)
	if err != nil {
		return nil, fmt.Errorf("make a file for the plan: %w", err)
	}
	defer f.Close()
	var errs bounded
	cmd := t.command(ctx, "show", "-json", planFile)
	cmd.Stdout, cmd.Stderr = f, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("terraform show: %w: %s", err, bytes.TrimSpace(errs.Bytes()))
	}
	if _, err := f.Seek(0, 0); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	read, err := planjson.Read(f)
	return &read, err
}

func (o Outcome) failed() bool {
	for _, d := range o.Diagnostics {
		if d.Error {
			return true
		}
	}
	return false
}

// bounded keeps the beginning of what is written and takes the rest.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := maxOutput - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
