package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/explain"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// upload is one file on its way into the sandbox.
type upload struct {
	// flag is how it was asked for.
	flag    string
	path    string
	content []byte
}

// run is a program and all that it needs, read before anything is started.
type run struct {
	document []byte
	accept   []manifest.Digest
	program  program
	uploads  []upload
}

// program runs to its end in a sandbox.
type program func(ctx context.Context, s *sandbox.Session) (sandbox.ExecResult, error)

// inputs reads everything before anything is started.
func (a *app) inputs(ctx context.Context, o runOptions, args []string) (in run, err error) {
	switch {
	case o.timeout <= 0:
		return in, badInput("--timeout %s: give a time that is longer than nothing", o.timeout)
	case o.manifest == "-" && args[0] == "-":
		return in, badInput("the manifest and the program cannot both be standard input")
	}
	if in.document, err = a.readFile(o.manifest, manifest.MaxDocument); err != nil {
		return in, err
	}
	for _, pair := range o.files {
		from, to, ok := strings.Cut(pair, "=")
		if !ok || from == "" || to == "" {
			return in, badInput("--file %s: write SOURCE=PATH", sandbox.Echo(pair))
		}
		content, err := a.readFile(from, sandbox.DefaultTransferLimits().MaxTotalBytes)
		if err != nil {
			return in, err
		}
		in.uploads = append(in.uploads, upload{pair, to, content})
	}
	for _, text := range o.accept {
		digest, err := manifest.ParseDigest(text)
		if err != nil {
			return in, inInput("--accept", err)
		}
		in.accept = append(in.accept, digest)
	}
	if err := in.named(ctx, o); err != nil {
		return in, err
	}
	in.program, err = a.programOf(in.document, o, args)
	return in, err
}

// named refuses a manifest that no router opens, and a workload that the manifest does
// not have, before anything is taken for a program, a backend or a flag of one.
func (in run) named(ctx context.Context, o runOptions) error {
	m, err := manifest.Parse(in.document)
	if err != nil || !slices.Contains(in.accept, manifest.DigestOf(in.document)) {
		// It ends before it asks for a backend, so it is given one that is none.
		_, err := router.Open(ctx, in.options(struct{ router.Backend }{}))
		return inInput(o.manifest, err)
	}
	return inInput("--workload "+sandbox.Echo(o.workload), explain.HasWorkload(m, o.workload))
}

// options are the router's for one backend.
func (in run) options(b router.Backend) router.Options {
	return router.Options{Manifest: in.document, Accept: in.accept, Owner: "sandboxctl", Backends: []router.Backend{b}}
}

// programOf is a command of the sandbox for a workload that has nothing else, and
// a file of this machine otherwise.
func (a *app) programOf(document []byte, o runOptions, args []string) (program, error) {
	spec, known := unjudged(document, o.workload)
	if !known {
		return neverRun, nil
	}
	if can := spec.RequiredCapabilities(); can.Has(sandbox.CapabilityExec) && !can.Has(sandbox.CapabilityRunCode) {
		return func(ctx context.Context, s *sandbox.Session) (sandbox.ExecResult, error) {
			return s.Exec(ctx, sandbox.Command{Args: args, Timeout: o.timeout})
		}, nil
	}
	source, err := a.readFile(args[0], maxProgram)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, s *sandbox.Session) (sandbox.ExecResult, error) {
		return s.RunCode(ctx, sandbox.Program{Source: source, Args: args[1:], Timeout: o.timeout})
	}, nil
}

// neverRun is the program of a manifest that no router opens, so that what is wrong with
// the manifest is said, and not what is wrong with the program.
func neverRun(context.Context, *sandbox.Session) (sandbox.ExecResult, error) {
	return sandbox.ExecResult{}, badInput("the workload is not known")
}

// unjudged is what a manifest says of a workload before the router has judged its
// digest. Acting on it trusts nothing: the router does so before it believes a word,
// and says what is wrong where the manifest does not tell.
func unjudged(document []byte, workload string) (sandbox.Spec, bool) {
	m, err := manifest.Parse(document)
	if err != nil {
		return sandbox.Spec{}, false
	}
	spec, ok := m.Workloads[workload]
	return spec, ok
}

// backendFor is the backend to offer.
func (a *app) backendFor(document []byte, o runOptions) string {
	if o.backend != "" {
		return o.backend
	}
	if spec, ok := unjudged(document, o.workload); ok {
		return spec.Backend
	}
	for _, name := range sortedKeys(a.env.Backends) {
		if b := a.env.Backends[name]; b.Probe == nil && b.Reach == nil {
			return name
		}
	}
	return ""
}
