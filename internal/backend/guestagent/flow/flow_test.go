package flow_test

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/flow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func put(r *flow.Ring, data []byte) error {
	first, second, err := r.Room(len(data))
	if err != nil || first == nil {
		return err
	}
	copy(second, data[copy(first, data):])
	r.Commit(len(data))
	return nil
}

// TestRingIsAQueueOfBytesWithALimit is a model of one.
func TestRingIsAQueueOfBytesWithALimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20_000).Draw(t, "limit")
		r := flow.NewRing(limit)
		var model []byte
		next, granted, taken := byte(0), 0, 0
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				data := make([]byte, rapid.IntRange(1, 9000).Draw(t, "n"))
				for i := range data {
					data[i] = next
					next++
				}
				if err := put(r, data); (err == nil) != (len(model)+len(data) <= limit) {
					t.Fatalf("%d on %d of %d: %v", len(data), len(model), limit, err)
				} else if err == nil {
					model = append(model, data...)
				}
			},
			"take": func(t *rapid.T) {
				part, err := r.Next(closed)
				if len(model) == 0 {
					if !errors.Is(err, flow.ErrStopped) {
						t.Fatalf("%d bytes, %v", len(part), err)
					}
					return
				}
				if err != nil || len(part) == 0 || !bytes.Equal(part, model[:len(part)]) {
					t.Fatalf("%d bytes, %v", len(part), err)
				}
				n := rapid.IntRange(1, len(part)).Draw(t, "n")
				model, taken = model[n:], taken+n
				granted += r.Advance(n)
				if granted > taken || taken-granted >= max(limit/4, 1) {
					t.Fatalf("granted %d of %d", granted, taken)
				}
			},
		})
	})
}

func TestRingAnswersItsEndAfterItsBytes(t *testing.T) {
	t.Parallel()
	r := flow.NewRing(10)
	if err := put(r, []byte("ab")); err != nil {
		t.Fatal(err)
	}
	if !r.End(io.EOF) || r.End(errors.New("later")) {
		t.Error("the first end counts")
	}
	if err := put(r, []byte("c")); !errors.Is(err, flow.ErrOverrun) {
		t.Errorf("after the end: %v", err)
	}
	if part, err := r.Next(nil); string(part) != "ab" || err != nil {
		t.Errorf("%q, %v", part, err)
	}
	r.Advance(2)
	if _, err := r.Next(nil); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}

func TestAbandonedRingTakesItsLimitAndNoMore(t *testing.T) {
	t.Parallel()
	r := flow.NewRing(10)
	waits := make(chan error)
	go func() {
		_, err := r.Next(nil)
		waits <- err
	}()
	r.Abandon()
	if err := <-waits; !errors.Is(err, flow.ErrStopped) {
		t.Errorf("%v", err)
	}
	for range 5 {
		if first, second, err := r.Room(2); first != nil || second != nil || err != nil {
			t.Errorf("%v, %v, %v", first, second, err)
		}
	}
	if _, _, err := r.Room(1); !errors.Is(err, flow.ErrOverrun) {
		t.Errorf("%v", err)
	}
}

func TestRingBetweenTwoGoroutines(t *testing.T) {
	t.Parallel()
	const total = 4 << 20
	r := flow.NewRing(64 << 10)
	c := flow.NewCredit(64<<10, 64<<10)
	var both sync.WaitGroup
	both.Go(func() {
		for sent := 0; sent < total; {
			n, err := c.Wait(7001, nil)
			if err != nil {
				t.Error(err)
				return
			}
			n = min(n, total-sent)
			data := make([]byte, n)
			for i := range data {
				data[i] = byte((sent + i) * 7)
			}
			c.Spend(n)
			if err := put(r, data); err != nil {
				t.Error(err)
				return
			}
			sent += n
		}
		r.End(io.EOF)
	})
	got := 0
	for {
		part, err := r.Next(nil)
		if err != nil {
			break
		}
		for i, b := range part {
			if b != byte((got+i)*7) {
				t.Fatalf("byte %d", got+i)
			}
		}
		got += len(part)
		if grant := r.Advance(len(part)); grant > 0 {
			if err := c.Give(grant); err != nil {
				t.Fatal(err)
			}
		}
	}
	both.Wait()
	if got != total {
		t.Errorf("%d bytes", got)
	}
}

func TestCreditIsBounded(t *testing.T) {
	t.Parallel()
	c := flow.NewCredit(0, 10)
	if _, err := c.Wait(1, closed); !errors.Is(err, flow.ErrStopped) {
		t.Errorf("%v", err)
	}
	if err := errors.Join(c.Give(4), c.Give(6)); err != nil {
		t.Error(err)
	}
	if err := c.Give(1); !errors.Is(err, flow.ErrOverrun) {
		t.Errorf("%v", err)
	}
	if n, err := c.Wait(100, nil); n != 10 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	c.Spend(10)
	if err := c.Give(1); err != nil {
		t.Error(err)
	}
	c.Close()
	if _, err := c.Wait(1, nil); !errors.Is(err, flow.ErrStopped) {
		t.Errorf("%v", err)
	}
}
