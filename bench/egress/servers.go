package main

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/clienthello"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/leafca"
)

// The hosts that are asked, each for one kind of work.
const (
	plainHost   = "plain.example.com"   // without TLS
	throughHost = "through.example.com" // by a tunnel that is passed through
	openedHost  = "opened.example.com"  // by one that is opened, as a rule asks for methods
	pouringHost = "pouring.example.com" // by a tunnel, without anybody's TLS to pay for
	shutHost    = "shut.example.com"    // by nobody: no rule names it
)

// addresses are public ones, as every contender judges them in some way; places in
// the directory of a run says where they are served.
var addresses = map[string]netip.Addr{
	plainHost:   netip.MustParseAddr("11.0.0.1"),
	throughHost: netip.MustParseAddr("11.0.0.2"),
	openedHost:  netip.MustParseAddr("11.0.0.3"),
	pouringHost: netip.MustParseAddr("11.0.0.4"),
	shutHost:    netip.MustParseAddr("11.0.0.5"),
}

// places are where an address and port are served.
type places map[netip.AddrPort]string

// The files of a run's directory.
const (
	placesFile = "places.json"
	rootsFile  = "roots.pem"
)

// servers serve all hosts.
type servers struct {
	places places
	roots  []byte
	stop   func()
}

func startServers(dir string) (*servers, error) {
	authority, err := leafca.New(leafca.Scope{Names: []string{"example.com"}}, time.Now(), 24*time.Hour, 16)
	if err != nil {
		return nil, err
	}
	s := &servers{places: places{}, roots: authority.CertificatePEM()}
	var stops []func()
	s.stop = func() {
		for _, stop := range stops {
			stop()
		}
	}
	listen := func(host string, port uint16, serve func(net.Listener)) error {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		stops = append(stops, func() { listener.Close() })
		s.places[netip.AddrPortFrom(addresses[host], port)] = listener.Addr().String()
		go serve(listener)
		return nil
	}
	web := func(listener net.Listener) { http.Serve(listener, http.HandlerFunc(answer)) }
	err = errors.Join(listen(plainHost, 80, web), listen(pouringHost, 443, pour), listen(shutHost, 443, pour), listen(shutHost, 80, web))
	for _, host := range []string{throughHost, openedHost} {
		cert, failed := authority.Certificate(host, netip.Addr{}, time.Now())
		if failed != nil {
			return s, errors.Join(err, failed)
		}
		err = errors.Join(err, listen(host, 443, func(listener net.Listener) {
			server := http.Server{Handler: http.HandlerFunc(answer), TLSConfig: &tls.Config{Certificates: []tls.Certificate{*cert}}}
			server.ServeTLS(listener, "", "") // HTTP/2 and HTTP/1.1, as servers do
		}))
	}
	text, failed := json.Marshal(s.places)
	return s, errors.Join(err, failed,
		os.WriteFile(filepath.Join(dir, placesFile), text, 0o600), os.WriteFile(filepath.Join(dir, rootsFile), s.roots, 0o600))
}

// answer sends as many bytes as the path asks for: "/2" is two.
func answer(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.URL.Path[1:])
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(n))
	for chunk := make([]byte, min(n, 256<<10)); n > 0; n -= len(chunk) {
		if _, err := w.Write(chunk[:min(n, len(chunk))]); err != nil {
			return
		}
	}
}

// The works of a connection to the pouring host: a hello of TLS, which every
// contender lets through, then one of these and a length.
const (
	workDown = iota // so many bytes come
	workUp          // so many bytes are taken, and then one comes
	workEcho        // so many bytes come back, again and again
)

func pour(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			if err := pourOne(conn); err != nil && !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, "a server:", err)
			}
		}()
	}
}

func pourOne(conn net.Conn) error {
	_, seen, err := clienthello.Read(conn)
	if err != nil {
		return nil // somebody only looked whether there is a server
	}
	const record = 5 // the head of one, which has its length
	behind := seen[record+int(binary.BigEndian.Uint16(seen[3:record])):]
	from := io.MultiReader(bytes.NewReader(behind), conn)
	for {
		var work [9]byte
		if _, err := io.ReadFull(from, work[:]); err != nil {
			return err
		}
		size := int64(binary.BigEndian.Uint64(work[1:]))
		switch work[0] {
		case workDown:
			if _, err := io.CopyBuffer(onlyWriter{conn}, io.LimitReader(zeros{}, size), make([]byte, 256<<10)); err != nil {
				return err
			}
		case workUp:
			if _, err := io.CopyBuffer(onlyWriter{io.Discard}, io.LimitReader(from, size), make([]byte, 256<<10)); err != nil {
				return err
			}
			if _, err := conn.Write([]byte{1}); err != nil {
				return err
			}
		default:
			if _, err := io.CopyBuffer(onlyWriter{conn}, io.LimitReader(from, size), make([]byte, min(size, 64<<10))); err != nil {
				return err
			}
		}
	}
}

// onlyWriter keeps io.Copy from asking for more than a Write.
type onlyWriter struct{ io.Writer }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
