package imageregistry

import (
	"net/netip"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// Access is how one registry may be asked. The zero value is over TLS, at public
// addresses, as nobody, and at the registry's own host alone.
type Access struct {
	// PlainHTTP asks without TLS, and never with it.
	PlainHTTP bool
	// PrivateAddresses admits addresses of this machine and of private networks,
	// for the registry and for the hosts below. Link-local addresses and those of
	// cloud metadata are never dialled.
	PrivateAddresses bool
	// Credentials signs in with what the client's keychain knows.
	Credentials bool
	// TokenHost is another host, with its port if it has one, that issues the
	// registry's tokens. Credentials are sent to it.
	TokenHost string
	// BlobHosts are other hosts that the registry may redirect to. They are sent no
	// credentials and no tokens.
	BlobHosts []egress.Host
}

// role is what a host beside the registry's own is to a registry.
type role uint8

const (
	stranger role = iota
	tokenHost
	blobHost
)

// roleOf says what a host is. It has its port unless that is the scheme's own.
func (a *Access) roleOf(host, hostname string) role {
	switch {
	case a.TokenHost != "" && host == strings.ToLower(a.TokenHost):
		return tokenHost
	case host == hostname && a.servesBlobs(hostname):
		return blobHost
	default:
		return stranger
	}
}

func (a *Access) servesBlobs(hostname string) bool {
	name, addr, err := egress.ParseRequestHost(hostname)
	if err != nil {
		return false
	}
	for _, h := range a.BlobHosts {
		switch {
		case h.IsAddress():
			if addr.IsValid() && h.Prefix().Contains(addr) {
				return true
			}
		case name == "":
		case h.IsWildcard():
			if strings.HasSuffix(name, "."+h.Name()) {
				return true
			}
		case name == h.Name():
			return true
		}
	}
	return false
}

// refuses says why an address is not dialled.
func (a *Access) refuses(addr netip.Addr) (why string, refused bool) {
	addr = addr.Unmap()
	why, refused = egress.SpecialAddress(addr)
	if !refused || !a.PrivateAddresses {
		return why, refused
	}
	if addr.IsLoopback() {
		return "", false
	}
	return egress.BlockedAddress(addr)
}
