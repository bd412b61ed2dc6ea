package imageregistry

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// proxies remembers which addresses are those of a configured HTTP proxy. The
// operator chose them, so they may be private; what a proxy dials is its own to
// refuse.
type proxies struct {
	find func(*http.Request) (*url.URL, error)
	mu   sync.Mutex
	at   map[string]bool
}

func (p *proxies) forRequest(req *http.Request) (*url.URL, error) {
	if p.find == nil {
		return nil, nil
	}
	u, err := p.find(req)
	if err != nil || u == nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at == nil {
		p.at = map[string]bool{}
	}
	p.at[dialled(u)] = true
	return u, nil
}

func (p *proxies) has(address string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at[strings.ToLower(address)]
}

// dialled is the address that a proxy's URL is dialled at.
func dialled(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	return strings.ToLower(net.JoinHostPort(u.Hostname(), port))
}
