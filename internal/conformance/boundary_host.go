package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// hostDirectories are where people and programs of this machine keep things that
// no sandbox sees.
func hostDirectories() []string {
	dirs := []string{os.TempDir(), "/tmp", "/var/tmp", "/run", "/var/lib", "/opt", "/srv", os.Getenv("XDG_RUNTIME_DIR")}
	if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, home)
	}
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, cache)
	}
	if here, err := os.Getwd(); err == nil {
		dirs = append(dirs, here)
	}
	slices.Sort(dirs)
	return slices.DeleteFunc(slices.Compact(dirs), func(dir string) bool { return !filepath.IsAbs(dir) })
}

// hostFiles puts a file into each of them and looks for it from within.
func hostFiles(ctx context.Context, s *Scene) error {
	var canaries []string
	for _, dir := range hostDirectories() {
		f, err := os.CreateTemp(dir, "sandbox-conformance-*")
		if err != nil {
			continue // not this user's
		}
		_, err = f.WriteString(secret)
		if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
			return notShown("leaving a canary: %v", err)
		}
		s.cleanup = append(s.cleanup, func() { _ = os.Remove(f.Name()) })
		canaries = append(canaries, f.Name())
	}
	if len(canaries) == 0 {
		return notShown("no canary could be left on this machine")
	}
	return s.attack(ctx, append([]string{"canary"}, canaries...)...)
}

// rootCanary leaves a file that only root may read where sandboxes may look: below
// /usr. Only a host that is root itself can ask this.
func rootCanary(ctx context.Context, s *Scene) error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return held("this host is not root")
	}
	f, err := os.CreateTemp("/usr/local", "sandbox-conformance-*")
	if err != nil {
		return notShown("leaving a canary: %v", err)
	}
	s.cleanup = append(s.cleanup, func() { _ = os.Remove(f.Name()) })
	_, err = f.WriteString(secret)
	if err := errors.Join(err, f.Chmod(0o600), f.Close()); err != nil {
		return notShown("leaving a canary: %v", err)
	}
	return s.attack(ctx, "reach", f.Name())
}

// hostSockets listens on sockets that local programs of this machine reach.
func hostSockets(ctx context.Context, s *Scene) error {
	name := "sandbox-conformance-" + strings.ToLower(rand.Text()[:12])
	var targets []string
	var where net.ListenConfig
	for _, dir := range []string{"/run", os.Getenv("XDG_RUNTIME_DIR"), "/tmp", os.TempDir()} {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name+".sock")
		l, err := where.Listen(ctx, "unix", path)
		if err != nil {
			continue // not this user's, or there already
		}
		_ = os.Chmod(path, 0o666) //nolint:gosec // whoever sees it may try
		s.cleanup = append(s.cleanup, func() { _ = l.Close() })
		targets = append(targets, "unix "+path)
	}
	if runtime.GOOS == "linux" {
		if l, err := where.Listen(ctx, "unix", "@"+name); err == nil {
			s.cleanup = append(s.cleanup, func() { _ = l.Close() })
			targets = append(targets, "unix @"+name)
		}
	}
	if len(targets) == 0 {
		return notShown("no socket could be made on this machine")
	}
	return s.attack(ctx, append([]string{"network"}, targets...)...)
}

// hostNetwork listens on every address of this machine and looks for them, and for
// the metadata service of clouds, from within.
func hostNetwork(ctx context.Context, s *Scene) error {
	targets := []string{"tcp 169.254.169.254:80", "tcp [fd00:ec2::254]:80", "udp 169.254.169.254:53"}
	received := make(chan string, 64)
	for _, address := range addresses() {
		var where net.ListenConfig
		if l, err := where.Listen(ctx, "tcp", net.JoinHostPort(address, "0")); err == nil {
			s.cleanup = append(s.cleanup, func() { _ = l.Close() })
			targets = append(targets, "tcp "+l.Addr().String())
		}
		if p, err := where.ListenPacket(ctx, "udp", net.JoinHostPort(address, "0")); err == nil {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				listen(p, received)
			}()
			s.cleanup = append(s.cleanup, func() { _ = p.Close(); <-ended })
			targets = append(targets, "udp "+p.LocalAddr().String())
		}
	}
	if len(targets) <= 3 {
		return notShown("nothing on this machine could listen")
	}
	if err := s.attack(ctx, append([]string{"network"}, targets...)...); err != nil {
		return err
	}
	select {
	case where := <-received:
		return fmt.Errorf("a datagram came to %s", where)
	default:
		return nil
	}
}

// addresses are this machine's own, without zones.
func addresses() []string {
	own := []string{"127.0.0.1", "::1"}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return own
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			own = append(own, n.IP.String())
		}
	}
	return own
}

// listen says where datagrams come in until the socket is closed.
func listen(p net.PacketConn, received chan<- string) {
	var buffer [64]byte
	for {
		if _, _, err := p.ReadFrom(buffer[:]); err != nil {
			return
		}
		select {
		case received <- p.LocalAddr().String():
		default:
		}
	}
}

// grace is how long a sandbox under attack is watched before it is taken to have
// reached its peak.
const grace = 20 * time.Second
