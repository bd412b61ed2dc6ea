package acasemu

import (
	"net/http"
	"net/url"
	"strings"
)

// portDomain is where the service serves what listens on the ports of sandboxes.
const portDomain = "adcproxy.io"

// throughPort reports a request for what listens on a sandbox's port, by the address
// that the sandbox shows for it.
func throughPort(r *http.Request) bool {
	host := strings.TrimSuffix(strings.ToLower((&url.URL{Host: r.Host}).Hostname()), ".")
	return host == portDomain || strings.HasSuffix(host, "."+portDomain)
}

func portsAreNotPlayed() error {
	return &Unsupported{
		Title:  "PortsAreNotPlayed",
		Detail: "this emulator keeps and shows a sandbox's ports and passes nothing on to them; ask from inside, with a command",
	}
}

// wantsStream reports a request for one of the service's streams: of a command, of
// logs, of processes.
func wantsStream(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket") || strings.HasSuffix(strings.ToLower(r.URL.Path), "stream")
}

func streamsAreNotPlayed() error {
	return &Unsupported{
		Title:  "StreamsAreNotPlayed",
		Detail: "this emulator speaks no WebSocket; run commands with executeShellCommand, whose answer has their whole output",
	}
}
