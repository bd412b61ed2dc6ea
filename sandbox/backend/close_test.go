package backend_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func TestCloseWaitsForWhatIsInFlight(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	s := newStage(t, sandboxtest.Options{RunCode: func(context.Context, *sandboxtest.View, engine.CodeRequest) (int, error) {
		close(begun)
		<-finish
		return 3, nil
	}})
	var group sync.WaitGroup
	group.Go(func() {
		got, err := s.RunCode(t.Context(), sandbox.Program{})
		if err != nil || got.ExitCode != 3 {
			t.Errorf("%+v, %v", got, err)
		}
	})
	<-begun
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.backend.Close(impatient); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the closer's patience", err)
	}
	_, err := s.backend.Acquire(t.Context(), s.request)
	wantCode(t, err, sandbox.CodeBackendClosed)
	close(finish)
	must(t, s.backend.Close(t.Context()))
	group.Wait()
}

func TestAnOpenStreamIsInFlight(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{Access: rootFollows, Freeze: true})
	must(t, s.write(t, "f", "text"))
	r, _, err := s.Open(t.Context(), "f", 10)
	must(t, err)
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.backend.Close(short); err == nil {
		t.Error("closed under an open stream")
	}
	must(t, r.Close(), r.Close(), s.backend.Close(t.Context()))
}

func TestNothingIsServedAfterClose(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{RunCode: sandboxtest.Script})
	must(t, s.backend.Close(t.Context()), s.backend.Close(t.Context()))
	_, readErr := s.read(t, "f")
	_, runErr := s.RunCode(t.Context(), sandbox.Program{})
	_, acquireErr := s.backend.Acquire(t.Context(), s.request)
	for _, err := range []error{readErr, runErr, acquireErr, s.write(t, "f", "x")} {
		wantCode(t, err, sandbox.CodeBackendClosed)
	}
	if s.dispose(t) == nil || s.backend.DisposeScope(t.Context(), owner, "tenant", "").Undisposed == nil {
		t.Error("a closed backend says that nothing remains")
	}
	if s.engine.Count() != 1 {
		t.Error("closing removed a sandbox that can outlive the process")
	}
}

func TestAThawThatFailsIsReported(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{Access: rootFollows, Freeze: true}, backend.WithCleanupTimeout(time.Minute))
	s.engine.FailNth(sandboxtest.OpThaw, 1, errHostile)
	_, err := s.Stat(t.Context(), ".")
	wantCode(t, err, sandbox.CodeGuestFailed)
}

func TestACancelledCallStillThaws(t *testing.T) {
	t.Parallel()
	s := newStage(t, sandboxtest.Options{Access: rootFollows, Freeze: true, RunCode: sandboxtest.Script})
	ctx, cancel := context.WithCancel(t.Context())
	s.engine.Intercept(func(r sandboxtest.Request) error {
		if r.Op == sandboxtest.OpReaddir {
			cancel()
		}
		return nil
	})
	if _, err := s.List(ctx, "."); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_, err := s.RunCode(t.Context(), sandbox.Program{Source: []byte("out x")})
	must(t, err)
}
