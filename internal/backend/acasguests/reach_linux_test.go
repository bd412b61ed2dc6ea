package acasguests

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
)

// A guest whose policy allows all of the internet reaches nothing that listens on this
// machine: the emulator that it is in above all, which takes a token of anybody's.
func TestAGuestReachesNothingOnItsOwnMachine(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	site := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) })}}
	site.Start()
	t.Cleanup(site.Close)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{"127.0.0.1", "localhost", "0.0.0.0", "127.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]"}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if network, ok := a.(*net.IPNet); ok && network.IP.To4() != nil {
			hosts = append(hosts, network.IP.String())
		}
	}
	g, _ := newGuests(t, map[string]string{"allowed.example.com": "127.0.0.1:" + port})
	for name, policy := range map[string]*wire.EgressPolicy{
		"none":  nil,
		"allow": {DefaultAction: wire.EgressAllow, HostRules: []wire.HostRule{{Pattern: "*", Action: wire.EgressAllow}}},
	} {
		r := boot(t, g, acasemu.Boot{ID: name, Egress: acasemu.Egress{Policy: policy}})
		for _, host := range hosts {
			for _, how := range []string{"", "--noproxy '*' ", "--proxytunnel "} {
				out, _ := r.sh("curl -s --max-time 20 -o /dev/null " + how + "http://" + host + ":" + port + "/_emulator/requests; true")
				if n := reached.Load(); n != 0 {
					t.Fatalf("policy %s, %s%s: reached, %s", name, how, host, out)
				}
			}
		}
		r.prints("curl -s --max-time 20 -o /dev/null -w '%{http_code}' http://allowed.example.com/", "200")
		if reached.Swap(0) != 1 {
			t.Error("a name that leads there by configuration does not")
		}
	}
}

// unattaching is a guest of a host that mounts nothing into it.
type unattaching struct{ process.RootGuest }

func (unattaching) Attach(context.Context, string, string, bool) error {
	return fmt.Errorf("attach: %w", process.ErrCannotAttach)
}

type attaching struct{ process.RootGuest }

func (attaching) Attach(context.Context, string, string, bool) error { return nil }

func TestVolumesOfAnOrdinaryUsersEmulatorAreNamed(t *testing.T) {
	t.Parallel()
	err := (&box{guest: unattaching{}}).mount(t.Context(), acasemu.Mount{Path: "/data"})
	if no, ok := errors.AsType[*acasemu.Unsupported](err); !ok || no.Title != "VolumesAreNotPlayed" || !strings.Contains(no.Detail, "root") {
		t.Errorf("%v", err)
	}
	if err := (&box{guest: attaching{}}).mount(t.Context(), acasemu.Mount{Path: "/data"}); err != nil {
		t.Errorf("where the host can: %v", err)
	}
}

func TestWhatARuleWouldChangeIsRefusedAndLogged(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(site.Close)
	at := strings.TrimPrefix(site.URL, "http://")
	g, _ := newGuests(t, map[string]string{"changed.example.com": at, "plain.example.com": at})
	r := boot(t, g, acasemu.Boot{ID: "a", Egress: acasemu.Egress{Policy: &wire.EgressPolicy{
		DefaultAction: wire.EgressAllow, Rules: []wire.EgressRule{rule("changed.example.com", "/v1/*", wire.EgressTransform)},
	}}})
	const curl = "curl -s --max-time 20 -o /dev/null -w '%{http_code}' "
	r.prints(curl+"http://changed.example.com/v1/x", "403")
	r.prints(curl+"http://changed.example.com/v2/x", "200")
	r.prints(curl+"http://plain.example.com/v1/x", "200")
	box, err := g.box("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.engine.Delete(t.Context(), box.guest.ID()); err != nil { // which waits for the log
		t.Fatal(err)
	}
	if log, err := g.Decisions(t.Context(), "a"); err != nil || len(log.Denied) != 1 || log.Denied[0].Host != "changed.example.com" {
		t.Errorf("%+v %v", log, err)
	}
}
