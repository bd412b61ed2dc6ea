package guestagent_test

import (
	"errors"
	"io"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// A stream ends with its call, and its reader may be the first to see it.
func TestStreamThatFailedIsNeverTakenForWhole(t *testing.T) {
	t.Parallel()
	l := newLiar(t, guestagent.Options{})
	full := wire.Outcome{Status: wire.StatusNoSpace}.Result()
	for call := uint64(1); call < 2000; call += 2 {
		l.answer(func() {
			l.send(wire.Frame(wire.KindReply, 0, call, wire.Info{Kind: wire.EntryFile, Size: 1}.Result()))
			l.send(wire.Frame(wire.KindResult, 0, call, full))
		}, func() {
			r, _, err := l.Open(t.Context(), anyRef())
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := io.ReadAll(r); !errors.Is(err, engine.ErrNoSpace) {
				t.Errorf("read: %v", err)
			}
		})
		l.answer(func() { l.send(wire.Frame(wire.KindResult, 0, call+1, full)) }, func() {
			if err := l.List(t.Context(), anyRef(), func(engine.Info) bool { return true }); !errors.Is(err, engine.ErrNoSpace) {
				t.Errorf("list: %v", err)
			}
		})
	}
}

// answer plays the agent's part beside the host's.
func (l *liar) answer(agent, host func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.hear()
		agent()
	}()
	host()
	<-done
}
