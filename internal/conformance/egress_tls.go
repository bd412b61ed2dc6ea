package conformance

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/prober/visit"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// frontHost shares its server with the evil one, as large networks do.
const frontHost = "front.example.com"

// egressTLS are tunnels, and what they begin with.
func egressTLS() Suite {
	bound := shows(sandbox.GuaranteeSNIBound)
	front := rules{"front": rule(frontHost, "443", "*", "*")}
	return Suite{Name: "EGRESS_TLS", Gate: sandbox.CapabilityExec, Probes: confined([]Probe{
		{Name: "a-server-name-other-than-the-tunnels-is-refused", Shows: bound, Rules: front, Run: func(ctx context.Context, s *Scene) error {
			return s.front(ctx, call{what: "another name", visit: s.toFront(evilHost), code: sandbox.CodeEgressSNIMismatch})
		}},
		{Name: "no-server-name-is-refused", Shows: bound, Rules: front, Run: func(ctx context.Context, s *Scene) error {
			return s.front(ctx, call{what: "no name", visit: s.toFront(""), code: sandbox.CodeEgressSNIMismatch})
		}},
		{Name: "an-encrypted-name-is-judged-by-its-outer-one", Shows: bound, Rules: front, Run: encryptedNames},
		{Name: "a-tunnel-to-an-address-has-no-server-name", Rules: rules{"one": rule("11.0.201.9", "443", "*", "*")}, Run: namelessTunnel},
		{Name: "a-tunnel-carries-nothing-but-tls", Shows: bound, Rules: rules{"talk": rule(talkHost, "443", "*", "*"), "api": rule(goodHost, "80 443", "*", "*")}, Run: notTLS},
		{Name: "what-a-tunnel-carries-is-untouched", Rules: rules{"digest": rule(digestHost, "443", "*", "*")}, Run: untouched},
	})}
}

func (s *Scene) toFront(name string) visit.Visit {
	return throughTLS(frontHost+":443", name, s.worldRoots(), head("GET / HTTP/1.1", "Host: "+frontHost))
}

// front makes calls to a server that would answer for both names.
func (s *Scene) front(ctx context.Context, calls ...call) error {
	at := netip.MustParseAddrPort("11.0.202.1:443")
	s.subject.internet.Name(frontHost, at.Addr())
	if err := s.subject.internet.secure(at, nil, frontHost, evilHost); err != nil {
		return err
	}
	return s.calls(ctx, append(calls, call{what: "its own name", visit: s.toFront(frontHost)})...)
}

// encryptedNames hides a name behind another (ECH). The world's server knows no
// keys for that, and says so to a client that has reached it.
func encryptedNames(ctx context.Context, s *Scene) error {
	behind := func(outer, inner string) (visit.Visit, error) {
		hide, err := hideBehind(outer)
		v := s.toFront(inner)
		v.Steps[1].TLS.Hide = hide
		return v, err
	}
	const arrived = "server rejected ECH"
	shut, err1 := behind(evilHost, frontHost)
	open, err2 := behind(frontHost, frontHost)
	if err := errors.Join(err1, err2); err != nil {
		return notShown("hiding a name: %v", err)
	}
	return s.front(ctx,
		call{what: "another outer name", visit: shut, judge: func(o visit.Outcome) error {
			if o.Failed == "" || strings.Contains(o.Failed, arrived) || strings.Contains(o.Failed, "i/o timeout") {
				return fmt.Errorf("was let through: %s", heard(o))
			}
			return nil
		}},
		call{what: "its own outer name", visit: open, judge: func(o visit.Outcome) error {
			if !strings.Contains(o.Failed, arrived) {
				return fmt.Errorf("did not reach the server: %s", heard(o))
			}
			return nil
		}},
	)
}

// hideBehind is a list of one configuration for encrypted names (RFC 9849) with a
// key that nobody has.
func hideBehind(outer string) ([]byte, error) {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	public := key.PublicKey().Bytes()
	var body []byte
	body = append(body, 1)                             // the configuration's number
	body = binary.BigEndian.AppendUint16(body, 0x0020) // X25519 with HKDF-SHA256
	body = binary.BigEndian.AppendUint16(body, uint16(len(public)))
	body = append(body, public...)
	body = append(body, 0, 4, 0, 1, 0, 1) // one pair: HKDF-SHA256, AES-128-GCM
	body = append(body, 0, byte(len(outer)))
	body = append(body, outer...)
	body = append(body, 0, 0) // no extensions
	list := binary.BigEndian.AppendUint16(nil, uint16(len(body)+4))
	list = binary.BigEndian.AppendUint16(list, 0xfe0d)
	list = binary.BigEndian.AppendUint16(list, uint16(len(body)))
	return append(list, body...), nil
}

func namelessTunnel(ctx context.Context, s *Scene) error {
	at := netip.MustParseAddrPort("11.0.201.9:443")
	if err := s.subject.internet.secure(at, nil, at.Addr().String(), goodHost); err != nil {
		return err
	}
	get := head("GET / HTTP/1.1", "Host: "+at.String())
	return s.calls(ctx,
		call{what: "no name", visit: throughTLS(at.String(), at.Addr().String(), s.worldRoots(), get)},
		call{what: "a name", visit: throughTLS(at.String(), goodHost, s.worldRoots(), get), code: sandbox.CodeEgressSNIMismatch},
	)
}

// talkHost answers at port 443 without TLS.
const talkHost = "talk.example.com"

func notTLS(ctx context.Context, s *Scene) error {
	at := netip.MustParseAddrPort("11.0.204.1:443")
	s.subject.internet.Name(talkHost, at.Addr())
	if err := errors.Join(s.twoSites(ctx), s.subject.internet.another(at.Addr(), at.Port()), s.subject.internet.answers(ctx, talkHost+":443")); err != nil {
		return err
	}
	calls := []call{{what: "TLS", visit: throughTLS(goodHost+":443", goodHost, s.worldRoots(), head("GET / HTTP/1.1", "Host: "+goodHost))}}
	for _, first := range []string{
		head("GET / HTTP/1.1", "Host: "+talkHost), "SSH-2.0-x\r\n", "\x00", "\x16\x03\x01", "\x80\x2e\x01\x00\x02", "EHLO " + talkHost + "\r\n",
		"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", "\x17\x03\x03\x00\x01\x00", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", strings.Repeat("\x16", 100),
	} {
		calls = append(calls, call{what: quote(first), judge: unspoken, visit: visit.Visit{Steps: []visit.Step{
			{Tunnel: talkHost + ":443"}, {Say: []byte(first)}, {End: true}, {Hear: visit.ToTheEnd},
		}}})
	}
	return s.calls(ctx, calls...)
}

// digestHost says the digest of what it was told, once it was told everything: TLS
// has said goodbye, and the connection is at its end.
const digestHost = "digest.example.com"

func (n *internet) digester() error {
	at := netip.MustParseAddrPort("11.0.203.1:443")
	n.Name(digestHost, at.Addr())
	return n.once("a server of digests", func() error {
		return n.Serve(at, func(conn net.Conn) {
			inside, err := n.Accept(conn, digestHost)
			if err != nil {
				return
			}
			defer inside.Close()
			n.asked.Add(1)
			sum := sha256.New()
			_, _ = io.Copy(sum, inside) // what did not come is not in the sum
			_, _ = io.Copy(io.Discard, conn)
			fmt.Fprintf(inside, "%s: %x", reached, sum.Sum(nil))
		})
	})
}

// untouched sends a megabyte of every byte through a tunnel, ends its half of it,
// and hears what came.
func untouched(ctx context.Context, s *Scene) error {
	if err := s.subject.internet.digester(); err != nil {
		return err
	}
	data := everyByte()
	const times = 4096
	sum := sha256.New()
	for range times {
		sum.Write(data)
	}
	want := fmt.Sprintf("%x", sum.Sum(nil))
	return s.calls(ctx, call{
		what: "a megabyte and half an end", asks: 1,
		visit: visit.Visit{Steps: []visit.Step{
			{Tunnel: digestHost + ":443"}, {TLS: &visit.TLS{Name: digestHost, Roots: s.worldRoots()}}, {Say: data, Times: times}, {End: true}, {Hear: visit.ToTheEnd},
		}},
		judge: func(o visit.Outcome) error {
			if o.Failed != "" || !bytes.Contains(o.Heard, []byte(want)) {
				return fmt.Errorf("did not arrive as it was sent: %s", heard(o))
			}
			return nil
		},
	})
}
