package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"testing"
	"time"
)

// unsolicited is a server that says more than it was asked.
func unsolicited(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok##vso[task.setvariable variable=PATH]/evil")
	})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		server.Serve(listener) //nolint:errcheck // it ends when it is closed
	}()
	t.Cleanup(func() {
		server.Close()
		<-ended
	})
	return "http://" + listener.Addr().String()
}

// The test is alone with package log: it says where that writes.
func TestWhatServersSayBesideIsNotPrinted(t *testing.T) { //nolint:paralleltest // see above
	var printed bytes.Buffer
	before := log.Writer()
	t.Cleanup(func() { log.SetOutput(before) })
	log.SetOutput(&printed)
	quiet()
	at := unsolicited(t)
	transport := &http.Transport{}
	for range 3 {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	transport.CloseIdleConnections()
	if log.Print("own"); printed.Len() > 0 {
		t.Errorf("printed: %q", printed.String())
	}
}
