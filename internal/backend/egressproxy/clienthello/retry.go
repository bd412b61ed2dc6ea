package clienthello

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Answer looks at the beginning of what a server says, as it comes, and tells whether
// it asks for a second ClientHello (RFC 8446 4.1.4). The zero value is ready.
type Answer struct {
	record [recordHeader]byte // of the record that is being read
	header int                // how much of it was read
	left   int                // of its content
	body   []byte             // of the server's first message
	known  bool
	retry  bool
}

const (
	recordHeader = 5
	recordAlert  = 21
	// serverHello is the type of the message, and helloHead what stands before the end
	// of its random: type, length, version, random.
	serverHello = 2
	helloHead   = 1 + 3 + 2 + 32
)

// retryRandom is the random of a ServerHello that is a HelloRetryRequest (RFC 8446
// 4.1.3): the SHA-256 of that word.
const retryRandom = "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91" +
	"\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"

// Read takes the next bytes. It reports whether the answer is known now, and then
// whether it is a request for a second ClientHello. What is no TLS is none.
func (a *Answer) Read(p []byte) (known, retry bool) {
	for len(p) > 0 && !a.known {
		if a.header < recordHeader {
			n := copy(a.record[a.header:], p)
			a.header, p = a.header+n, p[n:]
			if a.header == recordHeader {
				a.begin()
			}
			continue
		}
		n := min(a.left, len(p))
		if a.record[0] == recordHandshake {
			a.body = append(a.body, p[:min(n, helloHead-len(a.body))]...)
			a.judge()
		}
		if a.left, p = a.left-n, p[n:]; a.left == 0 {
			a.header = 0
		}
	}
	return a.known, a.retry
}

// begin looks at a record's header. Alerts that warn may stand before the first message.
func (a *Answer) begin() {
	a.left = int(a.record[3])<<8 | int(a.record[4])
	if a.left == 0 {
		a.header = 0
	}
	a.known = a.record[0] != recordHandshake && a.record[0] != recordAlert
}

func (a *Answer) judge() {
	switch {
	case a.body[0] != serverHello:
		a.known = true
	case len(a.body) == helloHead:
		a.known, a.retry = true, string(a.body[helloHead-len(retryRandom):]) == retryRandom
	}
}

// ReadSecond reads the ClientHello that answers a request for a second one, from r. It
// passes over what may stand before it, a record that changes nothing and data that the
// client has sent too early, and returns all bytes that it took, as [Read] does.
func ReadSecond(r io.Reader) (Hello, []byte, error) {
	var before bytes.Buffer
	for {
		var header [recordHeader]byte
		n, err := io.ReadFull(r, header[:1])
		if err == nil && header[0] == recordHandshake {
			hello, seen, err := Read(io.MultiReader(bytes.NewReader(header[:1]), r))
			return hello, append(before.Bytes(), seen...), err
		}
		if err == nil {
			n, err = io.ReadFull(r, header[1:])
			n++
		}
		before.Write(header[:n])
		switch length := int64(header[3])<<8 | int64(header[4]); {
		case err != nil:
			return Hello{}, before.Bytes(), fmt.Errorf("read the second message of TLS: %w", err)
		case header[0] != recordChange && header[0] != recordAlert && header[0] != recordData, int64(before.Len())+length > maxEarly:
			return Hello{}, before.Bytes(), fmt.Errorf("%w: what stands before the second is none", ErrNotTLS)
		default:
			if _, err := io.CopyN(&before, r, length); err != nil {
				return Hello{}, before.Bytes(), fmt.Errorf("read the second message of TLS: %w", errors.Join(err, io.ErrUnexpectedEOF))
			}
		}
	}
}

const (
	recordChange = 20
	recordData   = 23
	// maxEarly bounds what may stand before the second message. Servers pass over as
	// little as 16 KiB of early data.
	maxEarly = 256 << 10
)
