package stubdns

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// maxUDP is the size of answers that fit unfragmented into every path (DNS flag
// day 2020).
const maxUDP = 1232

// maxRecords bounds how many answers are looked at.
const maxRecords = 128

var (
	errTruncated = errors.New("the answer does not fit into a datagram")
	errForeign   = errors.New("the answer is to another question")
)

// question is a query and what its answer must repeat.
type question struct {
	id   uint16
	name dnsmessage.Name
	kind dnsmessage.Type
}

// newQuestion writes a query with a random id, behind prefix bytes of room.
func newQuestion(name dnsmessage.Name, kind dnsmessage.Type, prefix int) (question, []byte, error) {
	var id [2]byte
	rand.Read(id[:]) // it never fails
	q := question{id: binary.BigEndian.Uint16(id[:]), name: name, kind: kind}
	b := dnsmessage.NewBuilder(make([]byte, prefix, prefix+512), dnsmessage.Header{ID: q.id, RecursionDesired: true})
	b.EnableCompression()
	var opt dnsmessage.ResourceHeader
	err := errors.Join(
		b.StartQuestions(),
		b.Question(dnsmessage.Question{Name: name, Type: kind, Class: dnsmessage.ClassINET}),
		b.StartAdditionals(),
		opt.SetEDNS0(maxUDP, dnsmessage.RCodeSuccess, false),
		b.OPTResource(opt, dnsmessage.OPTResource{}),
	)
	if err != nil {
		return question{}, nil, fmt.Errorf("write a question: %w", err)
	}
	message, err := b.Finish()
	if err != nil {
		return question{}, nil, fmt.Errorf("write a question: %w", err)
	}
	return q, message, nil
}

// overDatagrams asks over UDP. What does not answer this question is passed over,
// as anybody may send it.
func overDatagrams(conn net.Conn, name dnsmessage.Name, kind dnsmessage.Type) ([]netip.Addr, error) {
	q, message, err := newQuestion(name, kind, 0)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(message); err != nil {
		return nil, fmt.Errorf("ask a name server: %w", err)
	}
	buf := make([]byte, maxUDP)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return nil, fmt.Errorf("hear from a name server: %w", err)
		}
		addrs, err := q.answer(buf[:n])
		if !errors.Is(err, errForeign) {
			return addrs, err
		}
	}
}

// overStream asks over TCP, where each message follows its length.
func overStream(conn net.Conn, name dnsmessage.Name, kind dnsmessage.Type) ([]netip.Addr, error) {
	const length = 2
	q, message, err := newQuestion(name, kind, length)
	if err != nil {
		return nil, err
	}
	binary.BigEndian.PutUint16(message, uint16(len(message)-length))
	if _, err := conn.Write(message); err != nil {
		return nil, fmt.Errorf("ask a name server: %w", err)
	}
	var size [length]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, fmt.Errorf("hear from a name server: %w", err)
	}
	answer := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, answer); err != nil {
		return nil, fmt.Errorf("hear from a name server: %w", err)
	}
	addrs, err := q.answer(answer)
	if errors.Is(err, errTruncated) {
		return nil, errForeign
	}
	return addrs, err
}

// answer reads the addresses out of an answer to the question. Aliases are
// followed by the server; the addresses at their end count whatever their names
// are, since all of them are judged.
func (q question) answer(message []byte) ([]netip.Addr, error) {
	var p dnsmessage.Parser
	head, err := p.Start(message)
	if err != nil || !head.Response || head.ID != q.id {
		return nil, errForeign
	}
	asked, err := p.AllQuestions()
	if err != nil || len(asked) != 1 || asked[0].Type != q.kind || asked[0].Class != dnsmessage.ClassINET ||
		!strings.EqualFold(asked[0].Name.String(), q.name.String()) {
		return nil, errForeign
	}
	switch {
	case head.Truncated:
		return nil, errTruncated
	case head.RCode == dnsmessage.RCodeNameError:
		return nil, ErrNoAddress
	case head.RCode != dnsmessage.RCodeSuccess:
		return nil, fmt.Errorf("the name server answered %s", head.RCode)
	}
	return q.addresses(&p)
}

func (q question) addresses(p *dnsmessage.Parser) ([]netip.Addr, error) {
	var addrs []netip.Addr
	for range maxRecords {
		h, err := p.AnswerHeader()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read an answer: %w", err)
		}
		switch {
		case h.Class != dnsmessage.ClassINET || h.Type != q.kind:
			err = p.SkipAnswer()
		case h.Type == dnsmessage.TypeA:
			var a dnsmessage.AResource
			a, err = p.AResource()
			addrs = append(addrs, netip.AddrFrom4(a.A))
		default:
			var a dnsmessage.AAAAResource
			a, err = p.AAAAResource()
			addrs = append(addrs, netip.AddrFrom16(a.AAAA))
		}
		if err != nil {
			return nil, fmt.Errorf("read an answer: %w", err)
		}
	}
	if len(addrs) == 0 {
		return nil, ErrNoAddress
	}
	return addrs, nil
}
