package stubdns_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/stubdns"
)

// server is a name server that keeps what it is asked.
type server struct {
	addr   netip.AddrPort
	answer func(network string, m *dnsmessage.Message) (before [][]byte)

	mu    sync.Mutex
	asked []string
}

func newServer(t *testing.T, answer func(network string, m *dnsmessage.Message) [][]byte) *server {
	t.Helper()
	stream, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	datagrams, err := net.ListenPacket("udp", stream.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s := &server{addr: netip.MustParseAddrPort(stream.Addr().String()), answer: answer}
	var serving sync.WaitGroup
	t.Cleanup(func() {
		stream.Close()
		datagrams.Close()
		serving.Wait()
	})
	serving.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := datagrams.ReadFrom(buf)
			if err != nil {
				return
			}
			for _, message := range s.reply("udp", buf[:n]) {
				datagrams.WriteTo(message, from) //nolint:errcheck // the resolver tells
			}
		}
	})
	serving.Go(func() {
		for {
			conn, err := stream.Accept()
			if err != nil {
				return
			}
			var size [2]byte
			io.ReadFull(conn, size[:]) //nolint:errcheck // the resolver tells
			query := make([]byte, binary.BigEndian.Uint16(size[:]))
			io.ReadFull(conn, query) //nolint:errcheck // the resolver tells
			for _, message := range s.reply("tcp", query) {
				conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(message))), message...)) //nolint:errcheck // the resolver tells
			}
			conn.Close()
		}
	})
	return s
}

func (s *server) reply(network string, query []byte) [][]byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	s.mu.Lock()
	s.asked = append(s.asked, network+" "+m.Questions[0].Name.String()+" "+m.Questions[0].Type.String())
	s.mu.Unlock()
	m.Response, m.Additionals = true, nil
	return s.answer(network, &m)
}

func (s *server) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	heard := slices.Clone(s.asked)
	slices.Sort(heard)
	return heard
}

func packed(m *dnsmessage.Message) []byte {
	b, err := m.Pack()
	if err != nil {
		return nil
	}
	return b
}

// with answers a question with addresses of its family, behind an alias.
func with(m *dnsmessage.Message, addrs ...string) *dnsmessage.Message {
	alias := dnsmessage.MustNewName("alias.example.org.")
	head := dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET, TTL: 1}
	m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.CNAMEResource{CNAME: alias}})
	head.Name = alias
	for _, text := range addrs {
		addr := netip.MustParseAddr(text)
		switch {
		case addr.Is4() && m.Questions[0].Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: addr.As4()}})
		case addr.Is6() && m.Questions[0].Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
	return m
}

func lookup(r *stubdns.Resolver, name string) ([]string, error) {
	addrs, err := r.LookupNetIP(context.Background(), "ip", name)
	var texts []string
	for _, a := range addrs {
		texts = append(texts, a.String())
	}
	return texts, err
}

func TestBothFamiliesAreAskedOnceAndByTheVeryName(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(_ string, m *dnsmessage.Message) [][]byte {
		return [][]byte{packed(with(m, "11.0.0.9", "2606:4700::1", "11.0.0.8", "::ffff:11.0.0.7"))}
	})
	r := &stubdns.Resolver{Servers: []netip.AddrPort{s.addr}}
	got, err := lookup(r, "api.example.com.")
	if err != nil || !slices.Equal(got, []string{"11.0.0.9", "11.0.0.8", "2606:4700::1", "::ffff:11.0.0.7"}) {
		t.Errorf("%q, %v", got, err)
	}
	if heard := s.heard(); !slices.Equal(heard, []string{"udp api.example.com. TypeA", "udp api.example.com. TypeAAAA"}) {
		t.Errorf("asked %q", heard)
	}
	for _, name := range []string{"api.example.com", ""} {
		if _, err := lookup(r, name); !errors.Is(err, stubdns.ErrNoAddress) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestTheHostsFileIsNotRead is why this package exists: the resolver of package
// net answers for a rooted name out of the hosts file, before it asks anybody.
func TestTheHostsFileIsNotRead(t *testing.T) {
	t.Parallel()
	nobody := errors.New("nobody is asked")
	theirs := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, nobody }}
	if addrs, err := theirs.LookupNetIP(context.Background(), "ip", "localhost."); err != nil {
		t.Logf("the hosts file of this machine does not have localhost: %v", err)
	} else {
		t.Logf("package net says %v, and asked nobody", addrs)
	}
	s := newServer(t, func(_ string, m *dnsmessage.Message) [][]byte {
		m.RCode = dnsmessage.RCodeNameError
		return [][]byte{packed(m)}
	})
	ours := &stubdns.Resolver{Servers: []netip.AddrPort{s.addr}}
	if got, err := lookup(ours, "localhost."); !errors.Is(err, stubdns.ErrNoAddress) || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
	if heard := s.heard(); len(heard) != 2 {
		t.Errorf("asked %q", heard)
	}
}

func TestAnAnswerToAnotherQuestionIsPassedOver(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(_ string, m *dnsmessage.Message) [][]byte {
		forged := with(&dnsmessage.Message{Header: m.Header, Questions: m.Questions}, "169.254.169.254", "fe80::1")
		forged.ID++
		other := with(&dnsmessage.Message{Header: m.Header, Questions: []dnsmessage.Question{m.Questions[0]}}, "169.254.169.254", "fe80::1")
		other.Questions[0].Name = dnsmessage.MustNewName("other.example.com.")
		query := with(&dnsmessage.Message{Header: m.Header, Questions: m.Questions}, "169.254.169.254", "fe80::1")
		query.Response = false
		return [][]byte{packed(forged), packed(other), packed(query), []byte("x"), {}, packed(with(m, "11.0.0.9"))}
	})
	got, err := lookup(&stubdns.Resolver{Servers: []netip.AddrPort{s.addr}}, "api.example.com.")
	if err != nil || !slices.Equal(got, []string{"11.0.0.9"}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAnAnswerThatDoesNotFitIsAskedForAgainByTCP(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(network string, m *dnsmessage.Message) [][]byte {
		if network == "udp" {
			m.Truncated = true
			return [][]byte{packed(m)}
		}
		return [][]byte{packed(with(m, "11.0.0.9"))}
	})
	got, err := lookup(&stubdns.Resolver{Servers: []netip.AddrPort{s.addr}}, "api.example.com.")
	if err != nil || !slices.Equal(got, []string{"11.0.0.9"}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTheNextServerIsAskedWhereOneFails(t *testing.T) {
	t.Parallel()
	failing := newServer(t, func(_ string, m *dnsmessage.Message) [][]byte {
		m.RCode = dnsmessage.RCodeServerFailure
		return [][]byte{packed(m)}
	})
	silent := newServer(t, func(string, *dnsmessage.Message) [][]byte { return nil })
	good := newServer(t, func(_ string, m *dnsmessage.Message) [][]byte { return [][]byte{packed(with(m, "11.0.0.9"))} })
	r := &stubdns.Resolver{Servers: []netip.AddrPort{failing.addr, silent.addr, good.addr}, Timeout: 50 * time.Millisecond}
	got, err := lookup(r, "api.example.com.")
	if err != nil || !slices.Equal(got, []string{"11.0.0.9"}) {
		t.Errorf("%q, %v", got, err)
	}
	r.Servers = r.Servers[:2]
	if got, err := lookup(r, "api.example.com."); !errors.Is(err, stubdns.ErrNoAnswer) || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := lookup(&stubdns.Resolver{}, "api.example.com."); !errors.Is(err, stubdns.ErrNoAnswer) {
		t.Errorf("nobody to ask: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.LookupNetIP(ctx, "ip", "api.example.com."); err == nil {
		t.Error("a cancelled lookup has an answer")
	}
}
