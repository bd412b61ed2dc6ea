package egress

import (
	"net/netip"
	"strconv"
)

// Witness is one concrete request that tells two sets apart, or that both have.
type Witness struct {
	// Host or Addr is where it goes.
	Host string
	Addr netip.Addr
	Port uint16
	// Method and Path are both empty when the connection as a whole is meant, and
	// both set otherwise.
	Method, Path string
	// Rule is the name of the rule that admits it: in [Set.Within] and
	// [Set.Overlaps] a rule of the receiver.
	Rule string
}

// Request is the witness as a request for [Set.Match].
func (w Witness) Request() Request {
	return Request{Host: w.Host, Addr: w.Addr, Port: w.Port, Method: w.Method, Path: w.Path}
}

// String reads "evil.example.com:443", and "evil.example.com:443 (DELETE /x)"
// where method and path matter. The zero value is empty.
func (w Witness) String() string {
	host := w.Host
	if w.Addr.IsValid() {
		host = bracketed(w.Addr.String())
	}
	if host == "" {
		return ""
	}
	text := host + ":" + strconv.Itoa(int(w.Port))
	if w.Method != "" || w.Path != "" {
		text += " (" + w.Method + " " + w.Path + ")"
	}
	return text
}

// at sets where the witness goes: the name, or the first address of the range.
func (w Witness) at(host Host) Witness {
	if host.kind == hostAddress {
		w.Addr = host.prefix.Addr()
	} else {
		w.Host = host.name
	}
	return w
}
