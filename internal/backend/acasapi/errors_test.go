package acasapi_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestEveryShapeOfErrorIsReadAndCarriesItsCorrelation(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct{ code, text string }{
		`{"title":"SandboxNotFound","status":404,"detail":"no document","errorCode":1}`: {"SandboxNotFound", "no document"},
		`{"error":{"code":"ResourceNotFound","message":"it is gone"}}`:                  {"ResourceNotFound", "it is gone"},
		`{"code":"Gone","message":"went"}`:                                              {"Gone", "went"},
		`{"error":"Sandbox is not running"}`:                                            {"", "Sandbox is not running"},
		`{"title":"Some validation errors.","errors":{"labels":["x"]}}`:                 {`"Some validation errors."`, "labels: x"},
		``:          {"", ""},
		`<p>no</p>`: {"", ""},
		`null`:      {"", ""},
		`[]`:        {"", ""},
		`{"title":"\u001b[31mred\u202e","detail":"line\n::error::forged"}`: {`"\x1b[31mred\u202e"`, `line\n::error::forged`},
	} {
		srv := newServer(t)
		r := srv.rig(t)
		srv.answer(says(http.StatusNotFound, wire.ProblemContentType, body))
		_, err := r.group(t, "g").CountSandboxes(t.Context())
		e := acasapi.ErrorOf(err)
		if !errors.Is(err, sandbox.CodeServiceNotFound) || !errors.Is(err, sandbox.ErrLookup) || e.Status != 404 {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if e.Code != want.code || !strings.Contains(e.Text, want.text) {
			t.Errorf("%s: code %s, text %s", body, e.Code, e.Text)
		}
		for _, id := range []string{e.ClientRequestID, "req-1", "cor-1"} {
			if id == "" || !strings.Contains(err.Error(), id) {
				t.Errorf("%q is not in %v", id, err)
			}
		}
		if strings.ContainsAny(err.Error(), "\n\x1b\u202e") {
			t.Errorf("%q is not one plain line", err.Error())
		}
	}
}

func TestStatusesHaveTheirCodes(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]sandbox.Code{
		400: sandbox.CodeServiceInvalid, 401: sandbox.CodeServiceUnauthenticated, 403: sandbox.CodeServiceForbidden,
		404: sandbox.CodeServiceNotFound, 405: sandbox.CodeServiceInvalid, 409: sandbox.CodeServiceConflict, 412: sandbox.CodeServiceConflict,
		413: sandbox.CodeServiceTooLarge, 429: sandbox.CodeServiceThrottled, 500: sandbox.CodeServiceUnavailable,
		501: sandbox.CodeServiceUnavailable, 503: sandbox.CodeServiceUnavailable, 302: sandbox.CodeServiceAnswerInvalid,
	} {
		srv := newServer(t)
		r := srv.rig(t)
		for range 20 {
			srv.answer(says(status, "application/json", ""))
		}
		if _, err := r.group(t, "g").CountSandboxes(t.Context()); !errors.Is(err, code) {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// The service may echo what it was sent; an error goes into logs and plans.
func TestNoSecretOfARequestIsInAnError(t *testing.T) {
	t.Parallel()
	const sentinel = "s3ntinel"
	srv := newServer(t)
	r := srv.rig(t)
	g := r.group(t, "g")
	s := must(g.Sandbox("sb-1"))(t)
	withEnv := smallest()
	withEnv.Environment = map[string]string{"TOKEN": sentinel}
	for name, call := range map[string]func() error{
		"secret":  func() error { return second(g.PutSecret(t.Context(), "svc", map[string]string{"k": sentinel})) },
		"sandbox": func() error { return second(g.CreateSandbox(t.Context(), withEnv, acasapi.Making{})) },
		"exec":    func() error { return second(s.ExecShell(t.Context(), wire.ShellCommand{Command: "echo " + sentinel})) },
		"image":   func() error { return second(g.CreateImage(t.Context(), private(sentinel), acasapi.Making{})) },
		"egress":  func() error { return second(s.SetEgress(t.Context(), injecting(sentinel))) },
	} {
		srv.answer(says(http.StatusBadRequest, wire.ProblemContentType,
			`{"title":"InvalidRequest","detail":"value `+sentinel+` is bad","errors":{"`+sentinel+`":["`+sentinel+`"]}}`))
		err := call()
		if !errors.Is(err, sandbox.CodeServiceInvalid) || !strings.Contains(err.Error(), "InvalidRequest") {
			t.Errorf("%s: %v", name, err)
		}
		if text := fmt.Sprintf("%v %+v %#v", err, err, acasapi.ErrorOf(err)); strings.Contains(text, sentinel) {
			t.Errorf("%s: %s", name, text)
		}
	}
	// Where nothing secret was sent, what the service said is told.
	srv.answer(says(http.StatusBadRequest, wire.ProblemContentType, `{"title":"InvalidRequest","detail":"value `+sentinel+` is bad"}`))
	if _, err := g.CountSandboxes(t.Context()); !strings.Contains(err.Error(), sentinel) {
		t.Error(err)
	}
}

func private(token string) wire.CreateImage {
	return wire.CreateImage{
		Image:               &wire.ImageSource{Base: "registry.example.test/app:1"},
		RegistryCredentials: &wire.RegistryCredentials{Username: "u", Token: token},
	}
}

func injecting(value string) wire.EgressPolicy {
	return wire.EgressPolicy{DefaultAction: wire.EgressDeny, Rules: []wire.EgressRule{{
		Name: "r", Match: wire.EgressMatch{Host: "api.example"},
		Action: wire.EgressAction{Type: wire.EgressTransform, Headers: []wire.EgressHeader{{Operation: "Set", Name: "A", Value: value}}},
	}}}
}

// unsigned is a credential that gives no token.
type unsigned struct{ err error }

func (u unsigned) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, u.err
}

// A host hands in any credential. What could be asked again to sign in has been asked
// by the credential itself; an answer that was broken off is another matter.
func TestSignInThatFailedIsToldAtOnce(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	broken := errors.New("no token")
	r := srv.rig(t, func(cfg *acasapi.Config) { cfg.Credential = unsigned{broken} })
	_, err := gathered(r.group(t, "g").Sandboxes(t.Context(), nil))
	if waits, _ := r.clock.waited(); !errors.Is(err, broken) || len(waits) != 0 || len(srv.requests()) != 0 {
		t.Errorf("waited %v, %d requests: %v", waits, len(srv.requests()), err)
	}
	r = srv.rig(t)
	srv.answer(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if _, err := gathered(r.group(t, "g").Sandboxes(t.Context(), nil)); err != nil {
		t.Errorf("an answer that was broken off once: %v", err)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	for header, want := range map[[2]string]time.Duration{
		{"Retry-After", "7"}:                                7 * time.Second,
		{"x-ms-retry-after-ms", "1500"}:                     1500 * time.Millisecond,
		{"Retry-After", "Fri, 15 Jan 2027 08:00:30 GMT"}:    30 * time.Second,
		{"Retry-After", "-3"}:                               800 * time.Millisecond, // no wait that anybody could mean
		{"Retry-After", "99999999999999999999999999999999"}: 800 * time.Millisecond,
	} {
		srv := newServer(t)
		r := srv.rig(t)
		srv.answer(throttled(header[0], header[1]))
		must(gathered(r.group(t, "g").Sandboxes(t.Context(), nil)))(t)
		if waits, _ := r.clock.waited(); len(waits) != 1 || waits[0] != want {
			t.Errorf("%v: waited %v", header, waits)
		}
	}
}

func TestNothingIsWaitedForPastTheCallersDeadline(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	srv.answer(throttled("Retry-After", "100"))
	ctx, cancel := context.WithDeadline(t.Context(), r.clock.Now().Add(time.Minute))
	defer cancel()
	_, err := gathered(r.group(t, "g").Sandboxes(ctx, nil))
	if e := acasapi.ErrorOf(err); !errors.Is(err, sandbox.CodeServiceThrottled) || e.RetryAfter != 100*time.Second {
		t.Error(err)
	}
	if waits, _ := r.clock.waited(); len(waits) != 0 {
		t.Errorf("waited %v", waits)
	}
}

func throttled(name, value string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(name, value)
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

func TestA403IsWaitedOutWithoutABodyAndNotForEver(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]time.Duration{0: 90 * time.Second, 10 * time.Second: 10 * time.Second, -1: 0} {
		srv := newServer(t)
		r := srv.rig(t, func(c *acasapi.Config) { c.RoleWait = wait })
		for range 50 {
			srv.answer(says(http.StatusForbidden, "application/json", ""))
		}
		_, err := r.group(t, "g").CountSandboxes(t.Context())
		if !errors.Is(err, sandbox.CodeServiceForbidden) || !strings.Contains(err.Error(), "Data Owner") {
			t.Errorf("%s: %v", wait, err)
		}
		if _, sum := r.clock.waited(); sum != want {
			t.Errorf("%s: waited %s", wait, sum)
		}
	}
}

func TestAServerThatCannotBeTrustedIsAskedOnce(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := newRig(t, srv.url, x509.NewCertPool())
	_, err := r.group(t, "g").CountSandboxes(t.Context())
	if !errors.Is(err, sandbox.CodeServiceUnreachable) || r.events.total() != 1 || len(srv.requests()) != 0 {
		t.Errorf("%v after %d", err, r.events.total())
	}
}

func TestAnEmulatorsFailuresSayWhatToDoAboutAnEmulator(t *testing.T) {
	t.Parallel()
	nobody := httptest.NewServer(http.NotFoundHandler())
	nobody.Close()
	srv := newServer(t)
	asking := func(r *rig) error {
		_, err := r.group(t, "g").CountSandboxes(t.Context())
		return err
	}
	untrusting, refused := newRig(t, srv.url, x509.NewCertPool()), newRig(t, "https"+strings.TrimPrefix(nobody.URL, "http"), x509.NewCertPool())
	for name, c := range map[string]struct {
		rig   *rig
		sends int
		says  string
	}{
		"a certificate of nobody's": {untrusting, 1, "--ca-file"},
		"nobody listens":            {refused, 2, "start the emulator"},
	} {
		err := asking(c.rig)
		if r := sandbox.RefusalOf(err); r == nil || r.Code != sandbox.CodeServiceUnreachable || !strings.Contains(r.Remedy, c.says) || c.rig.events.total() != c.sends {
			t.Errorf("%s: %v after %d", name, err, c.rig.events.total())
		}
	}
	for name, c := range map[string]struct {
		status int
		body   string
		says   string
	}{
		"another token":        {http.StatusUnauthorized, `{"title":"Unauthorized"}`, "--emulator-token-file"},
		"a state without keys": {http.StatusServiceUnavailable, `{"title":"EmulatorState","detail":"x"}`, "restore the state file"},
	} {
		r := srv.rig(t)
		srv.answer(says(c.status, wire.ProblemContentType, c.body))
		err := asking(r)
		if refusal := sandbox.RefusalOf(err); refusal == nil || !strings.Contains(refusal.Remedy, c.says) || r.events.total() != 1 {
			t.Errorf("%s: %v after %d", name, err, r.events.total())
		}
	}
}

func TestAFailedSignInIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	r.cred.err = &sandbox.Refusal{Finding: sandbox.Finding{Code: sandbox.CodeCredentialFailed, Subject: "sign-in by cli"}}
	_, err := r.group(t, "g").CountSandboxes(t.Context())
	if !errors.Is(err, sandbox.CodeCredentialFailed) || len(r.cred.asked()) != 1 || len(srv.requests()) != 0 {
		t.Errorf("%v after asking %d times", err, len(r.cred.asked()))
	}
}

func TestAnAnswerIsReadToItsBoundAndNoFurther(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	endless := func(status int) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.Copy(w, &zeros{left: 1 << 30})
		}
	}
	srv.answer(endless(http.StatusOK))
	if _, err := r.group(t, "g").CountSandboxes(t.Context()); !errors.Is(err, sandbox.CodeServiceTooLarge) {
		t.Error(err)
	}
	srv.answer(endless(http.StatusBadRequest))
	if _, err := r.group(t, "g").CountSandboxes(t.Context()); !errors.Is(err, sandbox.CodeServiceInvalid) {
		t.Error(err)
	}
	list := `{"value":[],"pad":"` + strings.Repeat("x", wire.MaxAnswer-100) + `"}`
	srv.answer(says(http.StatusOK, "application/json", list))
	must(gathered(r.group(t, "g").Sandboxes(t.Context(), nil)))(t)
}
