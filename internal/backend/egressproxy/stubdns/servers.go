package stubdns

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
)

// maxServers is how many servers the C library reads.
const maxServers = 3

// dnsPort is where name servers are asked.
const dnsPort = 53

// SystemServers are the name servers of /etc/resolv.conf. Of that file only the
// nameserver lines are read: a search list or an option never changes which name
// is looked up. Without one it is the server on the machine itself, as
// resolv.conf(5) says.
func SystemServers() ([]netip.AddrPort, error) {
	f, err := os.Open("/etc/resolv.conf")
	if err != nil {
		return nil, fmt.Errorf("read which name servers there are: %w", err)
	}
	defer f.Close()
	return parseServers(f)
}

func parseServers(r io.Reader) ([]netip.AddrPort, error) {
	var servers []netip.AddrPort
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != "nameserver" || len(servers) == maxServers {
			continue
		}
		if addr, err := netip.ParseAddr(fields[1]); err == nil {
			servers = append(servers, netip.AddrPortFrom(addr, dnsPort))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read which name servers there are: %w", err)
	}
	if len(servers) == 0 {
		servers = []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), dnsPort)}
	}
	return servers, nil
}
