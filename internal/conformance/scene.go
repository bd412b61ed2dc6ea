package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Scene is one probe's own sandbox.
type Scene struct {
	*sandbox.Session
	subject Subject
	request sandbox.AcquireRequest
	guest   Guest
	work    string
	outside string
}

const (
	owner       = "conformance"
	otherOwner  = "conformance-other"
	scope       = "conformance-scope"
	maxRead     = 1 << 20
	secret      = "must not cross"
	insideText  = "a legitimate output\n"
	plainText   = "plain"
	specDigest  = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	otherDigest = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

func newScene(ctx context.Context, subject Subject, thread string, layout Layout) (*Scene, error) {
	s := &Scene{
		subject: subject, work: subject.Spec.WorkDir,
		// The neighbour shares the work directory's spelling as a prefix on purpose.
		outside: subject.Spec.WorkDir + "-outside",
		request: sandbox.AcquireRequest{
			Owner: owner, Key: sandbox.Key{Scope: scope, Thread: thread, Agent: "agent"},
			Spec: subject.Spec, SpecDigest: specDigest, PolicyDigest: specDigest,
		},
	}
	acquired, err := subject.Backend.Acquire(ctx, s.request)
	if err != nil {
		return nil, fmt.Errorf("acquire: %w", err)
	}
	s.Session = acquired.Session
	if acquired.Origin != sandbox.OriginCreated {
		return s, fmt.Errorf("a fresh key got a sandbox that was %s", acquired.Origin)
	}
	return s, s.plant(ctx, layout)
}

// plant lays out plain files that must stay usable and, where links are wanted,
// the attack: links in the work directory that lead to its neighbour.
func (s *Scene) plant(ctx context.Context, layout Layout) (err error) {
	if layout == Empty {
		return nil
	}
	if s.subject.Behind == nil {
		return errors.Join(s.mustWrite(ctx, "real/inside.txt", insideText), s.mustWrite(ctx, "plain.txt", plainText))
	}
	if s.guest, err = s.subject.Behind(s.Info().InstanceID); err != nil {
		return fmt.Errorf("behind the layer: %w", err)
	}
	err = errors.Join(
		s.guest.WriteFile(s.work+"/real/inside.txt", []byte(insideText)),
		s.guest.WriteFile(s.work+"/plain.txt", []byte(plainText)),
	)
	if err != nil || layout == Files {
		return err
	}
	return errors.Join(
		s.guest.WriteFile(s.outside+"/secret.txt", []byte(secret)),
		s.guest.WriteFile(s.outside+"/sub/leaf.txt", []byte(secret)),
		s.guest.Symlink(s.work+"/link-dir", s.outside),
		s.guest.Symlink(s.work+"/link-file", s.outside+"/secret.txt"),
	)
}

func (s *Scene) dispose(ctx context.Context) error {
	failure := s.subject.Backend.Dispose(ctx, sandbox.DisposeRequest{Owner: owner, Key: s.request.Key})
	if failure != nil {
		return failure
	}
	return nil
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
	if !bytes.Equal(got, want) {
		return fmt.Errorf("reading %s gave %d bytes that differ from the %d written", path, len(got), len(want))
	}
	return nil
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

// refused checks that a call failed with exactly the family that is promised.
func refused(what string, err error, family sandbox.Family) error {
	switch {
	case err == nil:
		return fmt.Errorf("%s was let through", what)
	case !errors.Is(err, family):
		return fmt.Errorf("%s failed otherwise than %q: %w", what, string(family), err)
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
