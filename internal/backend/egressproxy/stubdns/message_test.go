package stubdns

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func TestOnlyTheServersOfTheResolverFileAreRead(t *testing.T) {
	t.Parallel()
	text := "# nameserver 9.9.9.9\nsearch corp.example\noptions ndots:5 use-vc\nnameserver 11.0.0.1\nnameserver\t2606:4700::1 # second\nnameserver fe80::1%lo\nnameserver 11.0.0.4\nnameserver x\n"
	got, err := parseServers(strings.NewReader(text))
	want := []netip.AddrPort{netip.MustParseAddrPort("11.0.0.1:53"), netip.MustParseAddrPort("[2606:4700::1]:53"), netip.MustParseAddrPort("[fe80::1%lo]:53")}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := parseServers(strings.NewReader("search corp.example\n")); err != nil || len(got) != 1 || got[0].String() != "127.0.0.1:53" {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzAnAnswerIsToTheQuestionOrNone(f *testing.F) {
	q := question{id: 7, name: dnsmessage.MustNewName("api.example.com."), kind: dnsmessage.TypeA}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, Response: true},
		Questions: []dnsmessage.Question{{Name: q.name, Type: q.kind, Class: dnsmessage.ClassINET}},
		Answers: []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.name, Class: dnsmessage.ClassINET}, Body: &dnsmessage.AResource{A: [4]byte{11, 0, 0, 9}},
		}},
	}
	seed, err := m.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, message []byte) {
		addrs, err := q.answer(message)
		if err != nil {
			if len(addrs) > 0 {
				t.Error("addresses beside an error")
			}
			return
		}
		if len(addrs) == 0 || len(addrs) > maxRecords || message[0] != 0 || message[1] != 7 {
			t.Errorf("%v out of % x", addrs, message)
		}
		for _, a := range addrs {
			if !a.Is4() {
				t.Errorf("%v for a question about IPv4", a)
			}
		}
	})
}
