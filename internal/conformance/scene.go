package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Scene is one probe's own sandbox.
type Scene struct {
	*sandbox.Session
	subject Subject
	request sandbox.AcquireRequest
	origin  sandbox.Origin
	work    string
	outside string

	// guest is the way behind the layer, or from within, once something is planted.
	guest Guest
	// inside is the prober in this sandbox, once it is needed.
	inside *foothold
	// beside are other sandboxes that the probe acquired, to be disposed with it;
	// neighbours share the list.
	beside *[]sandbox.DisposeRequest
	// cleanup takes away what the probe put on this machine.
	cleanup []func()
}

const (
	owner       = "conformance"
	otherOwner  = "conformance-other"
	scope       = "conformance-scope"
	maxRead     = 16 << 20
	secret      = "must not cross"
	insideText  = "a legitimate output\n"
	plainText   = "plain"
	specDigest  = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	otherDigest = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

// newScene acquires a sandbox for a key that nothing was acquired for, with rules
// if there are any.
func newScene(ctx context.Context, subject Subject, thread string, may rules) (*Scene, error) {
	if may != nil {
		subject.Spec = under(subject.Spec, may)
	}
	s := &Scene{
		subject: subject, work: subject.Spec.WorkDir, beside: &[]sandbox.DisposeRequest{},
		request: sandbox.AcquireRequest{
			Owner: owner, Key: sandbox.Key{Scope: scope, Thread: thread, Agent: "agent"},
			Spec: subject.Spec, SpecDigest: specDigest, PolicyDigest: specDigest,
		},
	}
	acquired, err := subject.Backend.Acquire(ctx, s.request)
	if err != nil {
		return nil, fmt.Errorf("acquire: %w", err)
	}
	s.Session, s.origin = acquired.Session, acquired.Origin
	if acquired.Origin != sandbox.OriginCreated {
		return s, fmt.Errorf("a fresh key got a sandbox that was %s", acquired.Origin)
	}
	return s, nil
}

// neighbour acquires another sandbox of the subject for as long as the probe lasts.
func (s *Scene) neighbour(ctx context.Context, change func(*sandbox.AcquireRequest)) (*Scene, sandbox.Origin, error) {
	other := &Scene{subject: s.subject, work: s.work, request: s.request, beside: s.beside}
	change(&other.request)
	acquired, err := s.subject.Backend.Acquire(ctx, other.request)
	if err != nil {
		return nil, 0, fmt.Errorf("acquiring another sandbox: %w", err)
	}
	other.Session, other.origin = acquired.Session, acquired.Origin
	s.alsoDispose(sandbox.DisposeRequest{Owner: other.request.Owner, Key: other.request.Key, Kind: other.request.Spec.Kind})
	return other, acquired.Origin, nil
}

func (s *Scene) alsoDispose(req sandbox.DisposeRequest) { *s.beside = append(*s.beside, req) }

// dispose removes everything that the probe acquired.
func (s *Scene) dispose(ctx context.Context) error {
	var failures []*sandbox.DisposalFailure
	for _, req := range append(*s.beside, sandbox.DisposeRequest{Owner: owner, Key: s.request.Key}) {
		failures = append(failures, s.subject.Backend.Dispose(ctx, req))
	}
	*s.beside = nil
	if failure := sandbox.FoldDisposalFailures(failures...); failure != nil {
		return failure
	}
	return nil
}

// close takes away what the probe put on this machine, the latest first.
func (s *Scene) close() {
	for _, undo := range slices.Backward(s.cleanup) {
		undo()
	}
	s.cleanup = nil
}

// again acquires what the scene has once more.
func (s *Scene) again(ctx context.Context) (sandbox.Acquired, error) {
	return s.subject.Backend.Acquire(ctx, s.request)
}

// relative is an absolute path of the guest as it is written from the work
// directory, with as many steps up as there are.
func (s *Scene) relative(path string) string {
	return strings.Repeat("../", strings.Count(strings.TrimSuffix(s.work, "/"), "/")) + strings.TrimPrefix(path, "/")
}

// write puts text at a path through the layer.
func (s *Scene) write(ctx context.Context, path, text string) error {
	return s.WriteFile(ctx, path, strings.NewReader(text), int64(len(text)))
}

// mustWrite writes and names what failed.
func (s *Scene) mustWrite(ctx context.Context, path, text string) error {
	if err := s.write(ctx, path, text); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// holds checks that a read through the layer gives exactly the bytes.
func (s *Scene) holds(ctx context.Context, path string, want []byte) error {
	got, err := s.ReadFile(ctx, path, maxRead)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return same("reading "+path, got, want)
}

// same compares bytes and says where they part.
func same(what string, got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	return fmt.Errorf("%s gave %d bytes instead of %d, different from byte %d on: %s", what, len(got), len(want), at,
		sandbox.Echo(string(got[at:min(len(got), at+40)])))
}

// survives checks that a file still holds what it held: from behind, or through
// the layer where there is no behind.
func (s *Scene) survives(ctx context.Context, path, want string) error {
	var (
		got []byte
		err error
	)
	if s.guest != nil {
		got, err = s.guest.ReadFile(path)
	} else {
		got, err = s.ReadFile(ctx, path, maxRead)
	}
	if err != nil {
		return fmt.Errorf("%s is gone: %w", path, err)
	}
	if string(got) != want {
		return fmt.Errorf("%s was changed to %s", path, sandbox.Echo(string(got)))
	}
	return nil
}

// absent checks that nothing stands there, as [Scene.survives] looks.
func (s *Scene) absent(ctx context.Context, path string) error {
	exists := false
	if s.guest != nil {
		exists = s.guest.Exists(path)
	} else {
		_, err := s.Stat(ctx, path)
		exists = !errors.Is(err, sandbox.CodeFileNotFound)
	}
	if exists {
		return fmt.Errorf("%s is there", path)
	}
	return nil
}

// otherwise says what came instead of what had to, with the error of it if there
// was one.
func otherwise(err error, format string, args ...any) error {
	if err == nil {
		return fmt.Errorf(format, args...)
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

// refused checks that a call failed with exactly the family that is promised.
func refused(what string, err error, families ...sandbox.Family) error {
	switch {
	case err == nil:
		return fmt.Errorf("%s was let through", what)
	case !slices.ContainsFunc(families, func(f sandbox.Family) bool { return errors.Is(err, f) }):
		return fmt.Errorf("%s failed otherwise than %s: %w", what, names(families), err)
	}
	return nil
}

func names(families []sandbox.Family) string {
	words := make([]string, len(families))
	for i, f := range families {
		words[i] = strconv.Quote(string(f))
	}
	return strings.Join(words, " or ")
}

// coded is [refused] for one code.
func coded(what string, err error, code sandbox.Code) error {
	switch {
	case err == nil:
		return fmt.Errorf("%s was let through", what)
	case !errors.Is(err, code):
		return fmt.Errorf("%s failed otherwise than %s: %w", what, string(code), err)
	}
	return nil
}

// readRefused reads and checks the refusal, and that no byte crossed.
func (s *Scene) readRefused(ctx context.Context, path string, family sandbox.Family) error {
	r, _, err := s.Open(ctx, path, maxRead)
	if err == nil {
		var data []byte
		data, err = io.ReadAll(r)
		err = errors.Join(err, r.Close())
		if len(data) > 0 {
			return fmt.Errorf("reading %s gave %d bytes", path, len(data))
		}
	}
	return refused("reading "+path, err, family)
}

func (s *Scene) statRefused(ctx context.Context, path string) error {
	_, err := s.Stat(ctx, path)
	return refused("stat of "+path, err, sandbox.ErrValue)
}

func (s *Scene) listRefused(ctx context.Context, path string) error {
	entries, err := s.List(ctx, path)
	if len(entries) > 0 {
		return fmt.Errorf("listing %s gave %d entries", path, len(entries))
	}
	return refused("listing "+path, err, sandbox.ErrValue)
}

func (s *Scene) writeRefused(ctx context.Context, path string) error {
	return refused("writing "+path, s.write(ctx, path, "must not land"), sandbox.ErrValue)
}

func (s *Scene) removeRefused(ctx context.Context, path string, recursive bool, family sandbox.Family) error {
	return refused("removing "+path, s.Remove(ctx, path, recursive), family)
}

func (s *Scene) has(c sandbox.Capability) bool { return s.subject.has(c) }
