package egressproxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestASocketIsPrivateAndGoesWithItsDirectory(t *testing.T) {
	t.Parallel()
	parent := shortDir(t)
	s, err := Listen(parent)
	must(t, err)
	info, err := os.Stat(filepath.Dir(s.Path()))
	must(t, err)
	if info.Mode().Perm() != 0o700 || filepath.Dir(filepath.Dir(s.Path())) != parent {
		t.Errorf("the directory of %s is %v", s.Path(), info.Mode())
	}
	other, err := Listen(parent)
	must(t, err)
	if filepath.Dir(other.Path()) == filepath.Dir(s.Path()) {
		t.Error("two sockets share a directory")
	}
	must(t, errors.Join(s.Close(), s.Close(), other.Close()))
	left, err := os.ReadDir(parent)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if _, err := Listen(filepath.Join(parent, "nowhere")); err == nil {
		t.Error("a socket in no directory")
	}
}

// The kernel takes 107 bytes; who mounts the socket has no such bound.
func TestASocketStandsBelowAPathOfAnyLength(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("a directory has no name but its path here")
	}
	long := filepath.Join(shortDir(t), strings.Repeat("a", 200))
	must(t, os.Mkdir(long, 0o700))
	s, err := Listen(long)
	must(t, err)
	if info, err := os.Stat(s.Path()); err != nil || info.Mode().Type() != os.ModeSocket || info.Mode().Perm() != 0o666 {
		t.Errorf("%v, %v", info, err)
	}
	must(t, s.Close())
	if left, err := os.ReadDir(long); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestOneSandboxesCertificateIsWorthNothingInAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	a := newScene(t, w, setting{rules: openedRules()})
	b := newScene(t, w, setting{rules: openedRules()})
	must(t, a.tlsAllowed(goodHost+":443", goodHost, true))
	cert, err := a.proxy.authority.Certificate(goodHost, netip.Addr{}, time.Now())
	must(t, err)
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	must(t, err)
	for _, c := range []struct {
		proxy *Proxy
		good  bool
	}{{a.proxy, true}, {b.proxy, false}} {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(c.proxy.CAPEM())
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: goodHost}); (err == nil) != c.good {
			t.Errorf("want good %v: %v", c.good, err)
		}
	}
}

func TestNoKeyIsInAnyFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	s := newScene(t, w, setting{rules: openedRules()})
	must(t, s.tlsAllowed(goodHost+":443", goodHost, true))
	var files []string
	must(t, filepath.WalkDir(filepath.Dir(s.path), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, entry.Name())
		}
		return err
	}))
	if len(files) != 1 || files[0] != socketName {
		t.Errorf("the directory has %q", files)
	}
	if strings.Contains(string(s.proxy.CAPEM()), "PRIVATE") {
		t.Error("what the guest gets has a key in it")
	}
	if plain := newScene(t, w, setting{rules: plainRules()}); plain.proxy.CAPEM() != nil {
		t.Error("an authority that no rule asks for")
	}
}

func TestAHostThatTheAuthorityDoesNotHaveIsNotOpenedByALaterReload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	twoSites(t, w)
	for name, rules := range map[string]map[string]sandbox.EgressRule{"an authority for another host": openedRules(), "no authority": plainRules()} {
		s := newScene(t, w, setting{rules: rules})
		s.proxy.Reload(ruleSet(t, map[string]sandbox.EgressRule{"evil": rule(evilHost, "443", "GET", "*"), "api": rule(goodHost, "443", "*", "*")}))
		if err := s.tunnelRefused(evilHost+":443", sandbox.CodeEgressOpeningRefused); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		must(t, s.tlsAllowed(goodHost+":443", goodHost, false))
	}
}

func TestAProgramThatPinsItsCertificatesFailsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := site(t, w, goodHost)
	s := newScene(t, w, setting{rules: openedRules()})
	must(t, s.tlsRefused(goodHost+":443", goodHost, false, sandbox.CodeEgressOpeningRefused))
	if len(asked.asked()) > 0 {
		t.Error("the server was asked")
	}
	must(t, s.tlsAllowed(goodHost+":443", goodHost, true))
}

func TestARequestUnderWayEndsWithTheRuleThatAdmittedIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr := w.Address()
	w.Name(goodHost, addr)
	asked := make(chan struct{}, 2)
	must(t, w.Serve(netip.AddrPortFrom(addr, 80), func(conn net.Conn) {
		asked <- struct{}{}
		for buf := make([]byte, 1<<16); ; { // until it is closed
			if _, err := conn.Read(buf); err != nil {
				return
			}
		}
	}))
	s := newScene(t, w, setting{rules: plainRules()})
	answered := make(chan error, 1)
	go func() { answered <- s.rawRefused(absolute(goodHost, "/"), sandbox.CodeEgressRulesChanged) }()
	<-asked
	if n := s.proxy.Reload(ruleSet(t, plainRules())); n != 0 {
		t.Errorf("%d requests were ended by the same rules", n)
	}
	if n := s.proxy.Reload(nil); n != 1 {
		t.Errorf("%d requests were ended", n)
	}
	must(t, <-answered)
}

func TestCloseEndsWhatIsUnderWayAndServesNothingMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	twoSites(t, w)
	s := newScene(t, w, setting{rules: map[string]sandbox.EgressRule{"api": rule(goodHost, "443", "*", "*"), "evil": rule(evilHost, "443", "GET", "*")}})
	var inside []*tls.Conn
	for _, c := range []struct {
		host, protocol string
		opened         bool
	}{{goodHost, "http/1.1", false}, {evilHost, "http/1.1", true}, {evilHost, "h2", true}} {
		conn, err := s.tls(c.host+":443", c.host, c.opened, c.protocol)
		must(t, err)
		defer conn.Close()
		inside = append(inside, conn)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	must(t, s.proxy.Close(ctx))
	for _, conn := range inside {
		must(t, closedByPeer(conn))
	}
	if _, err := s.dial(); err == nil {
		t.Error("the socket is still there")
	}
	socket, err := Listen(shortDir(t))
	must(t, err)
	if err := s.proxy.Serve(ctx, socket); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed proxy serves: %v", err)
	}
	must(t, s.proxy.Close(ctx)) // twice does no harm
}

func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, goodHost)
	s := newScene(t, w, setting{rules: plainRules()})
	socket, err := Listen(shortDir(t))
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.proxy.Serve(ctx, socket) }()
	second := &scene{world: w, proxy: s.proxy, path: socket.Path()}
	conn, err := second.tls(goodHost+":443", goodHost, false)
	must(t, err)
	defer conn.Close()
	cancel()
	must(t, <-served)
	must(t, closedByPeer(conn))
	must(t, s.rawAllowed(absolute(goodHost, "/"))) // the other socket goes on
}
