package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
)

// subject is a backend of ours with one sandbox that is kept, for work inside.
type subject struct {
	name    string
	backend *backend.Backend
	kept    *sandbox.Session
}

const (
	owner  = "bench"
	digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
)

func newSubject(ctx context.Context, name string, b *backend.Backend) (*subject, error) {
	s := &subject{name: name, backend: b}
	kept, err := s.acquire(ctx, "kept")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("acquire from %s: %w", name, err), s.close(ctx))
	}
	s.kept = kept
	return s, nil
}

func key(thread string) sandbox.Key {
	return sandbox.Key{Scope: "bench", Thread: thread, Agent: "agent"}
}

func (s *subject) acquire(ctx context.Context, thread string) (*sandbox.Session, error) {
	limits := sandbox.TransferLimits{MaxBytesPerFile: 1 << 30, MaxTotalBytes: 1 << 50, MaxFiles: 1 << 40}
	requires := sandbox.SetOf(sandbox.CapabilityExec, sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut)
	acquired, err := s.backend.Acquire(ctx, sandbox.AcquireRequest{
		Owner: owner, Key: key(thread), SpecDigest: digest, PolicyDigest: digest,
		Spec: sandbox.Spec{Kind: "bench", Requires: &requires, FilesIn: &limits, FilesOut: &limits},
	})
	if err != nil {
		return nil, err
	}
	return acquired.Session, nil
}

func (s *subject) dispose(ctx context.Context, thread string) error {
	if failure := s.backend.Dispose(ctx, sandbox.DisposeRequest{Owner: owner, Key: key(thread)}); failure != nil {
		return failure
	}
	return nil
}

func (s *subject) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return errors.Join(s.dispose(ctx, "kept"), s.backend.Close(ctx))
}

func (s *subject) making() contender {
	return contender{
		name: s.name,
		do: func(ctx context.Context, n int) error {
			_, err := s.acquire(ctx, "made-"+strconv.Itoa(n))
			return err
		},
		undo: func(ctx context.Context, n int) error { return s.dispose(ctx, "made-"+strconv.Itoa(n)) },
	}
}

func (s *subject) running() contender {
	return contender{name: s.name, do: func(ctx context.Context, _ int) error { return runTrue(ctx, s.kept) }}
}

func runTrue(ctx context.Context, session *sandbox.Session) error {
	result, err := session.Exec(ctx, sandbox.Command{Args: []string{"/bin/true"}})
	if err == nil && result.ExitCode != 0 {
		err = fmt.Errorf("true ended with %d: %s", result.ExitCode, result.Stderr)
	}
	return err
}

func (s *subject) writing(size int64) contender {
	return contender{name: s.name, do: func(ctx context.Context, _ int) error {
		return s.kept.WriteFile(ctx, "file-"+strconv.FormatInt(size, 10), io.LimitReader(zeros{}, size), size)
	}}
}

func (s *subject) reading(size int64) contender {
	return contender{name: s.name, do: func(ctx context.Context, _ int) error {
		r, _, err := s.kept.Open(ctx, "file-"+strconv.FormatInt(size, 10), size)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, r)
		if err == nil && n != size {
			err = fmt.Errorf("read %d bytes of %d", n, size)
		}
		return errors.Join(err, r.Close())
	}}
}

func (s *subject) asking() contender {
	return contender{name: s.name, do: func(ctx context.Context, _ int) error {
		_, err := s.kept.Stat(ctx, "file-"+strconv.Itoa(1<<20))
		return err
	}}
}

// zeros never ends. The page's numbers are of bytes that cost nothing to make.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
