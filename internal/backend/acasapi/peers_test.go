package acasapi_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/listener"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/memguests"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// how is the way in which a server that the client is held to behaves.
type how struct {
	createLooks, stopLooks, imageLooks, snapshotMisses, armLooks, pageSize int

	lifecycleIsPolicy, strictPorts, loosePorts bool
}

// onEach runs a test against this module's own emulator, and against the server that
// somebody else wrote where there is one: what both agree on is the contract.
func onEach(t *testing.T, h how, f func(*testing.T, *other)) {
	t.Helper()
	t.Run("emulator", func(t *testing.T) { t.Parallel(); f(t, startEmulator(t, h)) })
	t.Run("reference", func(t *testing.T) { t.Parallel(); f(t, startReference(t, h.arguments()...)) })
}

// arguments are h for the reference.
func (h how) arguments() []string {
	var args []string
	number := func(flag string, n int) {
		if n > 0 {
			args = append(args, flag, strconv.Itoa(n))
		}
	}
	number("--create-polls", h.createLooks)
	number("--stop-polls", h.stopLooks)
	number("--image-polls", h.imageLooks)
	number("--snapshot-404s", h.snapshotMisses)
	number("--arm-polls", h.armLooks)
	number("--page-size", h.pageSize)
	if h.lifecycleIsPolicy {
		args = append(args, "--lifecycle-returns", "policy")
	}
	if h.strictPorts {
		args = append(args, "--strict-ports")
	}
	return args
}

// startEmulator starts the emulator as h says, over guests in memory that know the
// commands of these tests.
func startEmulator(t *testing.T, h how) *other {
	t.Helper()
	looks := func(n int) acasemu.Delay { return acasemu.Delay{Looks: n} }
	if h.createLooks > 0 {
		h.createLooks-- // the reference counts the answer to the create
	}
	e, err := acasemu.New(acasemu.Config{
		State:  filepath.Join(t.TempDir(), "state.db"),
		Guests: memguests.New(memguests.Options{Exec: shell}),
		Pace: &acasemu.Pace{
			Create: looks(h.createLooks), Stop: looks(h.stopLooks), Resume: looks(h.stopLooks), Build: looks(max(1, h.imageLooks)),
			Snapshot: looks(h.snapshotMisses), ARM: looks(max(1, h.armLooks)),
		},
		Behaviour: acasemu.Behaviour{LifecycleIsPolicy: h.lifecycleIsPolicy, LoosePorts: h.loosePorts, PageSize: h.pageSize},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := listener.Listen(t.Context(), e, listener.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	o := &other{url: s.URL(), roots: x509.NewCertPool()}
	if !o.roots.AppendCertsFromPEM(s.CA()) {
		t.Fatal("the emulator's authority is not PEM")
	}
	o.misbehave = func(t *testing.T, spec string) {
		t.Helper()
		if err := e.Fault(spec); err != nil {
			t.Fatal(err)
		}
	}
	o.calmDown = func(*testing.T) { e.ClearFaults() }
	o.clear = func(*testing.T) { e.ClearRequests() }
	o.arrived = func(*testing.T) []sent { return sentOf(e.Requests()) }
	return o
}

func sentOf(all []acasemu.Exchange) []sent {
	got := make([]sent, 0, len(all))
	for _, x := range all {
		var s sent
		s.Request.Method, s.Request.Path, s.Request.Template = x.Request.Method, x.Request.Path, x.Request.Template
		s.Request.Query, s.Request.Headers, s.Request.Body = x.Request.Query, x.Request.Headers, x.Request.Body
		if x.Response.Status != 0 {
			s.Response = &struct{ Status int }{x.Response.Status}
		}
		got = append(got, s)
	}
	return got
}

// shell knows the commands of these tests.
func shell(_ context.Context, v *memguests.View, req engine.ExecRequest) (int, error) {
	script := strings.Join(req.Args, " ")
	if strings.HasSuffix(req.Args[0], "sh") && len(req.Args) == 3 && req.Args[1] == "-c" {
		script = req.Args[2]
	}
	switch script {
	case "true":
		return 0, nil
	case "echo out; echo err >&2; exit 3":
		return 3, errors.Join(say(req.Stdout, "out\n"), say(req.Stderr, "err\n"))
	case "printenv NAME":
		for _, pair := range req.Env {
			if value, ok := strings.CutPrefix(pair, "NAME="); ok {
				return 0, say(req.Stdout, value+"\n")
			}
		}
		return 1, nil
	case "ln -s /etc/passwd /app/link":
		return 0, v.Link("/etc/passwd", "/app/link")
	case ranOnce:
		ran, err := v.Read("/tmp/ran")
		if err != nil && !errors.Is(err, engine.ErrNotExist) {
			return 1, err
		}
		return 0, v.Write("/tmp/ran", append(ran, "ran\n"...))
	case countRuns:
		ran, err := v.Read("/tmp/ran")
		if err != nil && !errors.Is(err, engine.ErrNotExist) {
			return 1, err
		}
		return 0, say(req.Stdout, strconv.Itoa(strings.Count(string(ran), "\n"))+"\n")
	default:
		return 127, say(req.Stderr, fmt.Sprintf("sh: %s: not found\n", script))
	}
}

func say(to interface{ Write([]byte) (int, error) }, text string) error {
	_, err := to.Write([]byte(text))
	return err
}
