package egressproxy

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestRefusalsBeyondThePaceWaitAndNoneIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // whose clock is its own
		limits, err := Limits{}.withDefaults()
		must(t, err)
		pace, began := newDenialPace(limits.DenialsPerSecond), time.Now()
		const seconds = 600 // the million denials of ten minutes are within it
		for range seconds * limits.DenialsPerSecond {
			pace.wait(t.Context())
		}
		if took := time.Since(began).Seconds(); took < seconds-1 || took > seconds+1 || seconds*limits.DenialsPerSecond < 1_000_000 {
			t.Errorf("%d refusals took %.1f seconds", seconds*limits.DenialsPerSecond, took)
		}
	})
}

func TestASandboxBeyondItsPaceHoldsUpItselfAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	slow := newScene(t, w, setting{rules: plainRules(), config: limited(Limits{DenialsPerSecond: 1})})
	neighbour := newScene(t, w, setting{rules: plainRules()})
	must(t, slow.rawRefused(absolute(evilHost, "/"), sandbox.CodeEgressDenied)) // what may come at once
	slow.proxy.pace.limiter.SetLimit(rate.Every(time.Hour))                     // and no more, for as long as this test takes
	waiting, err := slow.dial()
	must(t, err)
	defer waiting.Close()
	answered := make(chan reply, 1)
	go func() {
		if _, err := waiting.Write([]byte(absolute(evilHost, "/"))); err == nil {
			r, _ := readReply(newReader(waiting), http.MethodGet)
			answered <- r
		}
	}()
	must(t, slow.rawAllowed(absolute(goodHost, "/"))) // what is admitted waits for nothing
	must(t, neighbour.rawRefused(absolute(evilHost, "/"), sandbox.CodeEgressDenied))
	select {
	case r := <-answered:
		t.Errorf("a refusal beyond the pace is answered: %+v", r)
	default:
	}
	slow.proxy.pace.limiter.SetLimit(1000)
	must(t, slow.proxy.Close(context.Background())) // which is not held up by what waits
}
