package acasapi

import (
	"net/http"
	"time"
)

// reading is the service's clock beside this client's own.
type reading struct{ service, own time.Time }

// ServiceTime is what the data plane's clock said when it last granted a request of
// this client, to the second and rounded down, and what the client's own clock said
// then. Both are zero when nothing was granted yet, or the answer did not say.
//
// How old something is, is counted by the clock that dated it: this machine's may be
// wrong by hours.
func (g *Group) ServiceTime() (service, own time.Time) {
	if r := g.plane.time.Load(); r != nil {
		return r.service, r.own
	}
	return time.Time{}, time.Time{}
}

// noteTime keeps what an answer says of the service's clock.
func (p *plane) noteTime(h http.Header) {
	at, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		p.time.Store(nil)
		return
	}
	p.time.Store(&reading{at, p.client.cfg.Clock.Now()})
}
