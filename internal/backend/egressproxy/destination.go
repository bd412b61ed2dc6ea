package egressproxy

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// destination is where a request goes: a name in normal form or an address, and a
// port.
type destination struct {
	name string
	addr netip.Addr
	port uint16
}

// The ports that a scheme stands for.
const (
	httpPort  = 80
	httpsPort = 443
)

// parseAuthority reads the host and port of a request as they stand on the wire.
// Without a port it is standard; a standard of 0 makes the port required. There is
// no user, no zone, and one spelling of a port.
func parseAuthority(text string, standard uint16) (destination, bool) {
	host, port, ported := text, "", false
	if i := strings.LastIndexByte(text, ':'); i > strings.LastIndexByte(text, ']') {
		host, port, ported = text[:i], text[i+1:], true
	}
	if strings.Contains(host, ":") != strings.HasPrefix(host, "[") {
		return destination{}, false // only an IPv6 address in brackets has colons
	}
	d := destination{port: standard}
	if ported {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || strconv.FormatUint(n, 10) != port {
			return destination{}, false
		}
		d.port = uint16(n)
	}
	var err error
	d.name, d.addr, err = egress.ParseRequestHost(host)
	return d, err == nil && d.port != 0
}

// host is the name or the address.
func (d destination) host() string {
	if d.addr.IsValid() {
		return d.addr.String()
	}
	return d.name
}

// String reads "api.example.com:443" or "[2001:db8::1]:443".
func (d destination) String() string {
	return net.JoinHostPort(d.host(), strconv.Itoa(int(d.port)))
}

// authority is what stands in a URL and a Host header: without a port that the
// scheme stands for.
func (d destination) authority(scheme string) string {
	standard := uint16(httpPort)
	if scheme == "https" {
		standard = httpsPort
	}
	switch {
	case d.port != standard:
		return d.String()
	case d.addr.Is6():
		return "[" + d.addr.String() + "]"
	default:
		return d.host()
	}
}

// connection is the destination as a request at connection level.
func (d destination) connection() egress.Request {
	return egress.Request{Host: d.name, Addr: d.addr, Port: d.port}
}

// shown is guest text as it stands in events and answers: itself where it is short
// and harmless, and quoted by [sandbox.Echo] otherwise.
func shown(text string) string {
	quoted := sandbox.Echo(text)
	if bare := quoted[1:]; strings.HasPrefix(bare, text) && bare[len(text):] == `"` {
		return text
	}
	return quoted
}
