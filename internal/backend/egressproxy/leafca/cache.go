package leafca

import (
	"crypto/tls"
	"sync"
)

// cache keeps the certificates that were asked for last, up to a bound.
type cache struct {
	most int

	mu    sync.Mutex
	certs map[string]*entry
	tick  uint64
}

type entry struct {
	cert *tls.Certificate
	used uint64
}

func (c *cache) get(host string) (*tls.Certificate, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.certs[host]
	if !ok {
		return nil, false
	}
	c.tick++
	e.used = c.tick
	return e.cert, true
}

// put keeps a certificate, in the place of the one that was not used for longest
// where there is no room. Looking through all of them costs less than the
// signature that was just made.
func (c *cache) put(host string, cert *tls.Certificate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.certs == nil {
		c.certs = make(map[string]*entry)
	}
	if _, ok := c.certs[host]; !ok && len(c.certs) >= c.most {
		oldest, used := "", uint64(0)
		for name, e := range c.certs {
			if oldest == "" || e.used < used {
				oldest, used = name, e.used
			}
		}
		delete(c.certs, oldest)
	}
	c.tick++
	c.certs[host] = &entry{cert: cert, used: c.tick}
}
