package egressproxy

import (
	"errors"
	"fmt"
	"time"
)

// Limits bound what one sandbox can make its proxy use. A field that is zero has
// the default beside it; a negative one is refused.
type Limits struct {
	Connections int // open from the guest, tunnels included: 512. Further ones wait to be accepted.
	Requests    int // under way at once, streams of HTTP/2 each: 1024
	Handshakes  int // of TLS with the guest, at once: 32
	Multiplexed int // opened connections that speak HTTP/2: 32. Further ones are offered HTTP/1.1 only.
	Uploads     int // of Requests, the ones with a body of unknown length or more than 16 KiB: 128
	Lookups     int // of names, at once: 32
	Dials       int // of servers, at once: 64

	HeaderBytes  int   // of one request head: 32 KiB
	RequestBytes int64 // of one request body, where it is seen: 4 GiB

	HeaderTimeout    time.Duration // from the first byte of a head to its last, and to a connection's first byte: 10 s
	HandshakeTimeout time.Duration // of TLS with the guest: 10 s
	LookupTimeout    time.Duration // of one name: 10 s
	DialTimeout      time.Duration // of one server, all its addresses together: 15 s
	KeepTimeout      time.Duration // of a kept connection between two requests: 90 s
	IdleTimeout      time.Duration // of a tunnel or an exchange in which nothing moves: 5 min

	Certificates int // kept for opened hosts: 256

	Events         int           // waiting for the observer; more are dropped, and told as lost: 1024
	DenialsPerRule int           // told one by one of each code and rule in a window; more are counted: 100
	DenialWindow   time.Duration // 1 min

	// DenialsPerSecond is how many requests and connections of the sandbox are refused
	// in a second; further ones wait for their answer, and none is dropped. It is far
	// beyond what a program comes to that goes wrong, and keeps one that asks in a loop
	// from taking the processors of all others: 2000.
	DenialsPerSecond int
}

func (l Limits) withDefaults() (Limits, error) {
	var bad []error
	for _, n := range []struct {
		name     string
		field    *int
		standard int
	}{
		{"Connections", &l.Connections, 512},
		{"Requests", &l.Requests, 1024},
		{"Handshakes", &l.Handshakes, 32},
		{"Multiplexed", &l.Multiplexed, 32},
		{"Uploads", &l.Uploads, 128},
		{"Lookups", &l.Lookups, 32},
		{"Dials", &l.Dials, 64},
		{"HeaderBytes", &l.HeaderBytes, 32 << 10},
		{"Certificates", &l.Certificates, 256},
		{"Events", &l.Events, 1024},
		{"DenialsPerRule", &l.DenialsPerRule, 100},
		{"DenialsPerSecond", &l.DenialsPerSecond, 2000},
	} {
		bad = append(bad, orDefault(n.name, n.field, n.standard))
	}
	bad = append(bad, orDefault("RequestBytes", &l.RequestBytes, 4<<30))
	for _, d := range []struct {
		name     string
		field    *time.Duration
		standard time.Duration
	}{
		{"HeaderTimeout", &l.HeaderTimeout, 10 * time.Second},
		{"HandshakeTimeout", &l.HandshakeTimeout, 10 * time.Second},
		{"LookupTimeout", &l.LookupTimeout, 10 * time.Second},
		{"DialTimeout", &l.DialTimeout, 15 * time.Second},
		{"KeepTimeout", &l.KeepTimeout, 90 * time.Second},
		{"IdleTimeout", &l.IdleTimeout, 5 * time.Minute},
		{"DenialWindow", &l.DenialWindow, time.Minute},
	} {
		bad = append(bad, orDefault(d.name, d.field, d.standard))
	}
	return l, errors.Join(bad...)
}

func orDefault[T int | int64 | time.Duration](name string, field *T, standard T) error {
	switch {
	case *field < 0:
		return fmt.Errorf("limit %s is negative", name)
	case *field == 0:
		*field = standard
	}
	return nil
}

// PoolLimits bound what all proxies of a pool use together. A field that is zero
// has the default beside it; a negative one is refused.
//
// What is the process's comes on top, and it is descriptors that run out first: a
// connection takes two, one to the guest and one to a server, and two more while
// bytes pour down a tunnel. An eighth of each sandbox's Connections is not counted
// here, and each proxy keeps up to 64 idle connections to servers. With the defaults
// fifty sandboxes come to at most 33,000; with fewer the proxy goes on, and accepts
// and dials again when there are some.
type PoolLimits struct {
	Connections int // 4096
	Requests    int // 8192
	Handshakes  int // 128
	Multiplexed int // 256
	Uploads     int // 1024
	Lookups     int // 256
	Dials       int // 512
}

func (l PoolLimits) withDefaults() (PoolLimits, error) {
	return l, errors.Join(
		orDefault("Connections", &l.Connections, 4096),
		orDefault("Requests", &l.Requests, 8192),
		orDefault("Handshakes", &l.Handshakes, 128),
		orDefault("Multiplexed", &l.Multiplexed, 256),
		orDefault("Uploads", &l.Uploads, 1024),
		orDefault("Lookups", &l.Lookups, 256),
		orDefault("Dials", &l.Dials, 512),
	)
}
