package httphead_test

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/httphead"
)

func lines(text ...string) string { return strings.Join(text, "\r\n") + "\r\n\r\n" }

func TestAHeadIsGoodOrHasItsFirstFlaw(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]httphead.Flaw{
		lines("GET / HTTP/1.1", "Host: a"):                                                        httphead.FlawNone,
		lines("GET / HTTP/1.0"):                                                                   httphead.FlawNone,
		lines("GET / HTTP/1.1"):                                                                   httphead.FlawNoHost,
		lines("GET / HTTP/1.1", "Host: a", "host: a"):                                             httphead.FlawTwoHosts,
		lines("GET / HTTP/2.0", "Host: a"):                                                        httphead.FlawVersion,
		lines("GET / http/1.1", "Host: a"):                                                        httphead.FlawVersion,
		lines("GET /  HTTP/1.1", "Host: a"):                                                       httphead.FlawVersion,
		lines("G(T / HTTP/1.1", "Host: a"):                                                        httphead.FlawRequestLine,
		lines(" / HTTP/1.1", "Host: a"):                                                           httphead.FlawRequestLine,
		lines("GET /\x80 HTTP/1.1", "Host: a"):                                                    httphead.FlawRequestLine,
		lines("GET / HTTP/1.1", "Host: a", "\tb: c"):                                              httphead.FlawFolded,
		lines("GET / HTTP/1.1", "Host: a", "b : c"):                                               httphead.FlawField,
		lines("GET / HTTP/1.1", "Host: a", "b"):                                                   httphead.FlawField,
		lines("GET / HTTP/1.1", "Host: a", "b: \x01"):                                             httphead.FlawControl,
		lines("GET / HTTP/1.1", "Host: a", "b: \x7f"):                                             httphead.FlawControl,
		lines("GET / HTTP/1.1", "Host: a", "b: \xff\t"):                                           httphead.FlawNone,
		lines("GET / HTTP/1.1", "Host: a\nb: c"):                                                  httphead.FlawLineEnd,
		lines("GET / HTTP/1.1", "Host: a\rb: c"):                                                  httphead.FlawLineEnd,
		"GET / HTTP/1.1\nHost: a\n\n":                                                             httphead.FlawLineEnd,
		lines("GET / HTTP/1.1", "Host: a", "Content-Length: 1", "content-length: 1"):              httphead.FlawLength,
		lines("GET / HTTP/1.1", "Host: a", "Content-Length: 1", "Transfer-Encoding: chunked"):     httphead.FlawLengthAndChunks,
		lines("GET / HTTP/1.1", "Host: a", "Content-Length: -1"):                                  httphead.FlawLength,
		lines("GET / HTTP/1.1", "Host: a", "Content-Length: 9999999999999999999"):                 httphead.FlawLength,
		lines("GET / HTTP/1.1", "Host: a", "Content-Length: 999999999999999999"):                  httphead.FlawNone,
		lines("GET / HTTP/1.1", "Host: a", "Transfer-Encoding: gzip, chunked"):                    httphead.FlawEncoding,
		lines("GET / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Transfer_Encoding: xx"): httphead.FlawSpelling,
		lines("GET / HTTP/1.1", "Host: a", "Content.Length: 1"):                                   httphead.FlawSpelling,
		lines("GET / HTTP/1.1", "Host: a", "Transfer!Encoding: x"):                                httphead.FlawSpelling,
		lines("GET / HTTP/1.1", "Host: a", "Content.Lengths: 1"):                                  httphead.FlawNone,
		lines("GET / HTTP/1.1", "Host: a", "Content_Length: 1"):                                   httphead.FlawSpelling,
		lines("GET / HTTP/1.1", "Host: a", "Content_Lengths: 1"):                                  httphead.FlawNone,
		lines("GET / HTTP/1.0", "Transfer-Encoding: chunked"):                                     httphead.FlawEncoding,
		lines("GET / HTTP/1.1", "Host: a", "Transfer-Encoding: Chunked"):                          httphead.FlawNone,
	} {
		if got := httphead.Check([]byte(head)); got != want {
			t.Errorf("%q: %s, want %s", head, got, want)
		}
	}
	many := strings.Repeat("a: b\r\n", httphead.MaxFields)
	if got := httphead.Check([]byte("GET / HTTP/1.0\r\n" + many + "\r\n")); got != httphead.FlawNone {
		t.Errorf("as many lines as there may be: %s", got)
	}
	if got := httphead.Check([]byte("GET / HTTP/1.0\r\n" + many + "a: b\r\n\r\n")); got != httphead.FlawTooMany {
		t.Errorf("one more: %s", got)
	}
}

func TestTheEndOfAHeadIsFoundWhereverReadingStopped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "\r\n": 0, "GET / HTTP/1.1\r\n": 0, "a\r\n\r": 0, "a\r\n\r\n": 5, "a\r\n\r\nbody\r\n\r\n": 5, "a\n\nb": 3, "a\n\r\nb": 4, "a\r\n\nb": 4,
	} {
		if got := httphead.End([]byte(text)); got != want {
			t.Errorf("%q ends at %d, want %d", text, got, want)
		}
	}
}

func FuzzWhatIsGoodIsReadAsItIsWritten(f *testing.F) {
	f.Add([]byte(lines("POST http://a.example/ HTTP/1.1", "Host: a.example", "Content-Length: 3", "X-A:  b ")))
	f.Add([]byte(lines("GET / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked")))
	f.Add([]byte(lines("CONNECT a:443 HTTP/1.0")))
	f.Add([]byte("GET / HTTP/1.1\nHost: a\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		n := httphead.End(text)
		if n > len(text) {
			t.Fatalf("a head of %d bytes in %d", n, len(text))
		}
		if n == 0 || httphead.Check(text[:n]) != httphead.FlawNone {
			return
		}
		head := string(text[:n])
		if strings.Count(head, "\r\n\r\n") != 1 || strings.Count(head, "\n") != strings.Count(head, "\r\n") {
			t.Fatalf("%q is good", head)
		}
		read, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text[:n])))
		if err != nil {
			return // a target that is none; the proxy refuses it then
		}
		first, rest, _ := strings.Cut(head, "\r\n")
		if want := read.Method + " " + read.RequestURI + " " + read.Proto; first != want {
			t.Errorf("%q is read as %q", first, want)
		}
		fields := 0
		for _, values := range read.Header {
			fields += len(values)
		}
		written := strings.Count(rest, "\r\n") - 1
		host, hasHost := httphead.Host(text[:n])
		if hasHost {
			fields++
		}
		if len(read.TransferEncoding) > 0 {
			fields++
		}
		if fields != written {
			t.Errorf("%q has %d lines, and %d are read", head, written, fields)
		}
		if hasHost && read.URL.Host == "" && read.Host != host {
			t.Errorf("%q: host %q is read as %q", head, host, read.Host)
		}
		if read.ContentLength > 0 && len(read.TransferEncoding) > 0 {
			t.Errorf("%q has two lengths", head)
		}
	})
}
