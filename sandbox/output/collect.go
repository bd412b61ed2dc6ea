package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
)

// CollectOption changes one collection.
type CollectOption func(*collection)

// Named adds outputs that were named at call time, by name. The workload must
// allow it.
func Named(outputs map[string]sandbox.Output) CollectOption {
	return func(c *collection) { c.named = maps.Clone(outputs) }
}

// ForCall lands under the given call instead of the key's.
func ForCall(id string) CollectOption { return func(c *collection) { c.call = &id } }

// KeepNames lands names as they were declared; the default is Unicode form NFC.
// Names are validated and compared either way.
func KeepNames() CollectOption { return func(c *collection) { c.deliver = keep } }

func keep(name string) string { return name }

// PortableNames lands names in NFC and as [guestpath.PortableName] writes them, so
// that they mean one file on Windows as well. Names that become one collide.
func PortableNames() CollectOption {
	return func(c *collection) {
		c.deliver = func(name string) string {
			return guestpath.NormalizeArtifactName(guestpath.PortableName(guestpath.NormalizeArtifactName(name)))
		}
	}
}

// collection is one run of [Collect].
type collection struct {
	session *sandbox.Session
	spec    sandbox.Spec
	sink    Sink
	named   map[string]sandbox.Output
	call    *string
	deliver func(string) string
	observe func(OutputsCollected)

	outputs []guestpath.OutputAt
	present []present
	found   int // how many present outputs land
}

// present is an output that is there, and how large it was when looked at.
type present struct {
	guestpath.OutputAt
	size int64
}

// Collect brings the workload's declared outputs, in the order of their names,
// then those named at call time, from the session to the sink, and answers what
// landed in that order. Outputs to consume are judged and counted, and left where
// they are. A workload without outputs needs no sink.
//
// The phases, each over all outputs before the next begins: whether call-time
// names are allowed, whether there is a sink, paths and names and collisions
// (nothing was asked of the guest so far); what stands in the guest, against the
// workload's files_out_limits; reading and staging; commit. An error is a
// [*sandbox.Refusal] of the output family, [sandbox.CodeTransferCap], or what the
// sink answered, and then nothing has landed.
func Collect(ctx context.Context, session *sandbox.Session, spec sandbox.Spec, sink Sink, options ...CollectOption) ([]Landed, error) {
	c := &collection{session: session, spec: spec, sink: sink, deliver: guestpath.NormalizeArtifactName}
	for _, option := range options {
		option(c)
	}
	landed, err := c.run(ctx)
	if c.observe != nil {
		c.observe(c.record(landed, err))
	}
	return landed, err
}

func (c *collection) run(ctx context.Context) ([]Landed, error) {
	if err := c.declare(); err != nil {
		return nil, err
	}
	if err := c.look(ctx); err != nil {
		return nil, err
	}
	return c.land(ctx)
}

// declare settles which outputs are meant and whether they can be.
func (c *collection) declare() error {
	if len(c.named) > 0 && !c.spec.OutputsNamedAtCallTime {
		return sandbox.Finding{
			Code: sandbox.CodeOutputUndeclared, Path: sandbox.Path("outputs_named_at_call_time"),
			Found:    "outputs named at call time: " + quoted(slices.Sorted(maps.Keys(c.named))),
			Required: "a workload that allows them", Remedy: "set outputs_named_at_call_time, or declare the outputs",
		}.Refusal(nil)
	}
	for _, outputs := range []map[string]sandbox.Output{c.spec.Outputs, c.named} {
		for _, name := range slices.Sorted(maps.Keys(outputs)) {
			c.outputs = append(c.outputs, guestpath.OutputAt{
				At: sandbox.Path("outputs", sandbox.MapKey(name)), Output: outputs[name],
			})
		}
	}
	if c.sink == nil {
		var landing []string
		for _, o := range c.outputs {
			if o.Lands() {
				landing = append(landing, o.Path)
			}
		}
		if len(landing) > 0 {
			return sandbox.Finding{
				Code: sandbox.CodeOutputSinkRequired, Path: sandbox.Path("outputs"),
				Found:    "outputs to land: " + quoted(landing),
				Required: "a sink", Remedy: "give Collect a sink, or set disposition = consume",
			}.Refusal(nil)
		}
	}
	if findings := guestpath.CheckOutputs(c.session.Info().WorkDir, c.outputs, c.deliver); len(findings) > 0 {
		return sandbox.Decide(findings).Err()
	}
	return nil
}

// look asks the guest about every output, in order, against the limits.
func (c *collection) look(ctx context.Context) error {
	caps := tally{limits: c.spec.FilesOut.Or(sandbox.DefaultTransferLimits())}
	for _, o := range c.outputs {
		entry, err := c.session.Stat(ctx, o.Path)
		switch {
		case errors.Is(err, sandbox.CodeFileNotFound) && o.Optional:
			continue
		case errors.Is(err, sandbox.CodeFileNotFound):
			return refuse(sandbox.CodeOutputMissing, o, "nothing at "+sandbox.Echo(o.Path), "a file, written by the program",
				"write it, or set required = false; a path is literal, never a pattern", err)
		case err != nil:
			return translate(ctx, o, err)
		case entry.Kind != sandbox.EntryFile:
			return refuse(sandbox.CodeOutputNotRegular, o, entry.Kind.String()+" at "+sandbox.Echo(o.Path), "a regular file",
				"write the content itself to the path", nil)
		case !entry.SizeKnown:
			return refuse(sandbox.CodeOutputSizeUnknown, o, "a file of no known size at "+sandbox.Echo(o.Path), "a size to hold to the limits",
				"use a backend that knows sizes", nil)
		}
		if err := caps.add(o, entry.Size); err != nil {
			return err
		}
		c.present = append(c.present, present{OutputAt: o, size: entry.Size})
	}
	return nil
}

// land reads what lands into the sink and commits it when all of it is there.
func (c *collection) land(ctx context.Context) (_ []Landed, err error) {
	c.present = slices.DeleteFunc(c.present, func(p present) bool { return !p.Lands() })
	c.found = len(c.present)
	if c.found == 0 {
		return nil, nil
	}
	delivery, err := c.sink.Begin(ctx, c.origin())
	if err != nil {
		return nil, err
	}
	defer func() {
		if abort := delivery.Abort(); err != nil {
			err = errors.Join(err, abort)
		}
	}()
	if planner, ok := delivery.(Planner); ok {
		if err := planner.Plan(ctx, c.plan()); err != nil {
			return nil, err
		}
	}
	caps := tally{limits: c.spec.FilesOut.Or(sandbox.DefaultTransferLimits())}
	landed := make([]Landed, 0, len(c.present))
	for _, p := range c.present {
		l, err := c.stage(ctx, delivery, &caps, p)
		if err != nil {
			return nil, err
		}
		landed = append(landed, l)
	}
	if err := delivery.Commit(ctx); err != nil {
		return nil, err
	}
	return landed, nil
}

func (c *collection) plan() []Artifact {
	artifacts := make([]Artifact, len(c.present))
	for i, p := range c.present {
		artifacts[i] = c.artifact(p, p.size)
	}
	return artifacts
}

func (c *collection) artifact(p present, size int64) Artifact {
	return Artifact{Name: c.deliver(p.LandingName()), Kind: c.spec.Kind, MediaType: p.MediaType, Size: size}
}

func (c *collection) origin() Origin {
	info := c.session.Info()
	call := info.Key.Call
	if c.call != nil {
		call = *c.call
	}
	return Origin{Owner: info.Owner, Key: info.Key, Kind: info.Kind, Call: call}
}

// stage streams one output into the sink, at most what was judged and what is left
// of the total.
func (c *collection) stage(ctx context.Context, delivery Delivery, caps *tally, p present) (_ Landed, err error) {
	r, entry, err := c.session.Open(ctx, p.Path, min(p.size, caps.left()))
	if err != nil {
		return Landed{}, translate(ctx, p.OutputAt, err)
	}
	content := &received{r: r}
	defer func() {
		if closeErr := r.Close(); err == nil && closeErr != nil {
			err = translate(ctx, p.OutputAt, closeErr)
		}
	}()
	size := p.size
	if entry.SizeKnown {
		size = entry.Size
	}
	artifact := c.artifact(p, size)
	landed, err := delivery.Stage(ctx, artifact, content)
	switch {
	case content.err != nil && !errors.Is(content.err, io.EOF):
		return Landed{}, translate(ctx, p.OutputAt, content.err)
	case err != nil:
		return Landed{}, err
	case content.err == nil || content.n != size:
		return Landed{}, refuse(sandbox.CodeLandingFailed, p.OutputAt, fmt.Sprintf("a sink that took %d bytes", content.n),
			fmt.Sprintf("all %d bytes", size), "report it to the sink's author", nil)
	}
	if err := caps.add(p.OutputAt, content.n); err != nil {
		return Landed{}, err
	}
	// A receipt is believed about where, never about what.
	landed.Name, landed.Size = artifact.Name, content.n
	if landed.Display == "" {
		landed.Display = DisplayOf(artifact)
	}
	return landed, nil
}

// received counts what was really read and remembers how it ended.
type received struct {
	r   io.Reader
	n   int64
	err error
}

func (r *received) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.r.Read(p)
	r.n += int64(n)
	r.err = err
	return n, err
}

func quoted(names []string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = sandbox.Echo(name)
	}
	return strings.Join(shown, ", ")
}
