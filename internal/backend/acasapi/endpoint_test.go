package acasapi_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestALookAlikeEndpointGetsNoToken(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{
		"https://management.swedencentral.azuredevcompute.io.evil.test",
		"https://management.swedencentral.evilazuredevcompute.io",
		"https://management.swedencentral-azuredevcompute.io",
		"https://evil.swedencentral.azuredevcompute.io",
		"https://evil.management.swedencentral.azuredevcompute.io",
		"https://azuredevcompute.io",
		"https://management.swedencentral.azuredevcompute.io:8443",
		"https://management.swedencentral.azuredevcompute.io:443",
		"https://management.swedencentral.azuredevcompute.io.",
		"https://management.SWEDENCENTRAL.azuredevcompute.io",
		"https://management.sweden_central.azuredevcompute.io",
		"https://management.swedencentral.azuredevcompute.io@evil.test",
		"https://user@management.swedencentral.azuredevcompute.io",
		"https://management.swedencentral.azuredevcompute.io/path",
		"https://management.swedencentral.azuredevcompute.io?x=1",
		"https://management.swedencentral.azuredevcompute.io#x",
		"https://management%2eswedencentral.azuredevcompute.io",
		"https://mаnagement.swedencentral.azuredevcompute.io", // a Cyrillic letter
		"http://management.swedencentral.azuredevcompute.io",
		"//management.swedencentral.azuredevcompute.io",
		"management.swedencentral.azuredevcompute.io",
		"https://management.azure.com", // the other plane
		"https://127.0.0.1:8443",
		"https://localhost",
		"https://",
	} {
		cred := &credential{}
		_, err := acasapi.New(acasapi.Config{DataEndpoint: endpoint, Credential: cred})
		if !errors.Is(err, sandbox.CodeEndpointNotAllowed) || len(cred.asked()) > 0 {
			t.Errorf("%s: %v, tokens asked for: %q", endpoint, err, cred.asked())
		}
	}
}

func TestTheServicesOwnEndpointsAreAllowed(t *testing.T) {
	t.Parallel()
	for _, cfg := range []acasapi.Config{
		{DataEndpoint: "https://management.swedencentral.azuredevcompute.io"},
		{DataEndpoint: "https://management.swedencentral.azuredevcompute.io/"},
		{DataEndpoint: "https://management.azuredevcompute.io"},
		{Location: "Sweden Central"},
		{DataEndpoint: "https://127.0.0.1:8443", ExactEndpoints: []string{"https://127.0.0.1:8443/"}},
		{},
	} {
		cfg.Credential = &credential{}
		c, err := acasapi.New(cfg)
		if err != nil {
			t.Errorf("%+v: %v", cfg, err)
			continue
		}
		_, own := c.Endpoint(wire.Data)
		if want := len(cfg.ExactEndpoints) == 0 && (cfg.DataEndpoint != "" || cfg.Location != ""); own != want {
			t.Errorf("%+v: the cloud's own is %v", cfg, own)
		}
	}
}

func TestAnEndpointIsAllowedToTheLastDigit(t *testing.T) {
	t.Parallel()
	_, err := acasapi.New(acasapi.Config{
		DataEndpoint: "https://127.0.0.1:8444", ExactEndpoints: []string{"https://127.0.0.1:8443"}, Credential: &credential{},
	})
	if !errors.Is(err, sandbox.CodeEndpointNotAllowed) {
		t.Error(err)
	}
}

// An answer may name another server in three ways. None takes a token along.
func TestNothingInAnAnswerLeadsATokenElsewhere(t *testing.T) {
	t.Parallel()
	elsewhere := newServer(t)
	for name, lead := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		call   func(context.Context, *rig, *acasapi.Group) error
	}{
		"a redirect": {
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, elsewhere.url+r.URL.Path, http.StatusTemporaryRedirect)
			},
			func(ctx context.Context, _ *rig, g *acasapi.Group) error { return second(g.CountSandboxes(ctx)) },
		},
		"a link to the next page": {
			says(http.StatusOK, "application/json", `{"value":[],"nextLink":"`+elsewhere.url+`/x?api-version=1"}`),
			func(ctx context.Context, _ *rig, g *acasapi.Group) error {
				return second(gathered(g.Sandboxes(ctx, nil)))
			},
		},
		"an operation to watch": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Azure-AsyncOperation", elsewhere.url+"/op?api-version=1")
				w.WriteHeader(http.StatusAccepted)
			},
			func(ctx context.Context, r *rig, _ *acasapi.Group) error {
				return r.DeleteGroup(ctx, groupID("g"), acasapi.Wait{})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := newServer(t)
			srv.answer(lead.answer)
			r := srv.rig(t)
			err := lead.call(t.Context(), r, r.group(t, "g"))
			if err == nil || sandbox.RefusalOf(err) == nil {
				t.Errorf("followed: %v", err)
			}
			if n := len(srv.requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
			if n := len(elsewhere.requests()); n != 0 {
				t.Errorf("%d requests went elsewhere", n)
			}
		})
	}
}

func TestTokensAreForThePlaneTheyGoTo(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	_, _ = r.GetGroup(t.Context(), groupID("g"))
	_, _ = r.group(t, "g").CountSandboxes(t.Context())
	if got := strings.Join(r.cred.asked(), " "); got != "https://management.azure.com/.default https://dynamicsessions.io/.default" {
		t.Errorf("asked for %s", got)
	}
}

func TestATokenIsAskedForWithTheFirstRequestAndNotBefore(t *testing.T) {
	t.Parallel()
	srv := newServer(t)
	r := srv.rig(t)
	g := r.group(t, "g")
	if _, err := g.Sandbox("../x"); !errors.Is(err, sandbox.CodeInvalidText) || len(r.cred.asked()) > 0 {
		t.Errorf("%v, asked %q", err, r.cred.asked())
	}
}
