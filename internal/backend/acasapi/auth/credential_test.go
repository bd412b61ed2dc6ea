package auth_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const (
	tenant   = "11111111-1111-1111-1111-111111111111"
	sentinel = "s3ntinel"
	scope    = "https://dynamicsessions.io/.default"
)

// entra is a sign-in service: it gives tokens, remembers what it was shown, and can
// refuse. It is also the CI system that tokens are requested from.
type entra struct {
	*httptest.Server

	mu     sync.Mutex
	forms  []map[string][]string
	bearer []string
	paths  []string
	refuse bool
}

func newEntra(t *testing.T) *entra {
	t.Helper()
	e := &entra{}
	e.Server = httptest.NewUnstartedServer(http.HandlerFunc(e.serve))
	e.Config.ErrorLog = log.New(io.Discard, "", 0)
	e.StartTLS()
	t.Cleanup(e.Close)
	return e
}

func (e *entra) serve(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.paths = append(e.paths, r.Method+" "+r.URL.RequestURI())
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
		fmt.Fprintf(w, `{"issuer":"%[1]s/%[2]s/v2.0","token_endpoint":"%[1]s/%[2]s/oauth2/v2.0/token","authorization_endpoint":"%[1]s/%[2]s/authorize"}`, e.URL, tenant)
	case strings.HasSuffix(r.URL.Path, "/token"):
		_ = r.ParseForm()
		e.forms = append(e.forms, r.PostForm)
		if e.refuse {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret `+sentinel+"\u202e"+` provided."}`)
			return
		}
		_, _ = io.WriteString(w, `{"token_type":"Bearer","expires_in":3600,"access_token":"token-of-entra"}`)
	case r.URL.Path == "/request":
		e.bearer = append(e.bearer, r.Header.Get("Authorization"))
		if r.Method == http.MethodPost {
			_, _ = io.WriteString(w, `{"oidcToken":"assertion-of-ado"}`)
			return
		}
		_, _ = io.WriteString(w, `{"value":"assertion-of-github"}`)
	case r.URL.Path == "/moved":
		http.Redirect(w, r, e.URL+"/request", http.StatusTemporaryRedirect)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (e *entra) last() map[string][]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.forms) == 0 {
		return nil
	}
	return e.forms[len(e.forms)-1]
}

// client follows no redirect, as the product's own does not.
func (e *entra) client() *http.Client {
	c := e.Client()
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

func (e *entra) config(change auth.Config) auth.Config {
	change.Tenant, change.ClientID = tenant, "client-1"
	change.AuthorityHost, change.DisableInstanceDiscovery, change.Transport = e.URL+"/", true, e.client()
	change.Why = "this test says so"
	return change
}

func token(t *testing.T, c auth.Config) (string, error) {
	t.Helper()
	credential, err := auth.New(c)
	if err != nil {
		return "", err
	}
	got, err := credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{scope}})
	return got.Token, err
}

func TestEveryMethodOfAPrincipalSignsIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	certificate := certificatePEM(t)
	for name, c := range map[string]struct {
		config auth.Config
		shows  string // what Entra ID is shown
	}{
		"secret":            {auth.Config{Method: auth.ClientSecret, ClientSecret: auth.NewSecret("pw")}, "client_secret=pw"},
		"secret file":       {auth.Config{Method: auth.ClientSecret, ClientSecretFile: write("secret", "pw\n")}, "client_secret=pw"},
		"certificate":       {auth.Config{Method: auth.ClientCertificate, CertificateFile: write("cert.pem", certificate)}, "client_assertion=ey"},
		"given certificate": {auth.Config{Method: auth.ClientCertificate, Certificate: auth.NewSecret(base64.StdEncoding.EncodeToString([]byte(certificate)))}, "client_assertion=ey"},
		"OIDC token":        {auth.Config{Method: auth.OIDC, OIDCToken: auth.NewSecret("given")}, "client_assertion=given"},
		"OIDC file":         {auth.Config{Method: auth.OIDC, OIDCTokenFile: write("oidc", "in-file\n")}, "client_assertion=in-file"},
		"workload":          {auth.Config{Method: auth.WorkloadIdentity, OIDCTokenFile: write("pod", "of-pod")}, "client_assertion=of-pod"},
		"GitHub":            {auth.Config{Method: auth.OIDC, OIDCRequestURL: "/request?x=1", OIDCRequestToken: auth.NewSecret("job")}, "client_assertion=assertion-of-github"},
		"Azure DevOps":      {auth.Config{Method: auth.OIDC, OIDCRequestURL: "/request", OIDCRequestToken: auth.NewSecret("job"), ServiceConnection: "conn"}, "client_assertion=assertion-of-ado"},
		"chain":             {auth.Config{Method: auth.Chain, Chain: []auth.Method{auth.ClientSecret}, ClientSecret: auth.NewSecret("pw")}, "client_secret=pw"},
	} {
		e := newEntra(t)
		if strings.HasPrefix(c.config.OIDCRequestURL, "/") {
			c.config.OIDCRequestURL = e.URL + c.config.OIDCRequestURL
		}
		got, err := token(t, e.config(c.config))
		if err != nil || got != "token-of-entra" {
			t.Errorf("%s: %q, %v", name, got, err)
			continue
		}
		field, value, _ := strings.Cut(c.shows, "=")
		form := e.last()
		if shown := form[field]; len(shown) != 1 || !strings.HasPrefix(shown[0], value) || form["client_id"][0] != "client-1" || !strings.Contains(form["scope"][0], scope) {
			t.Errorf("%s: it was shown %v", name, form)
		}
		if c.config.OIDCRequestURL != "" && (len(e.bearer) != 1 || e.bearer[0] != "Bearer job") {
			t.Errorf("%s: the CI system was shown %q", name, e.bearer)
		}
	}
}

func certificatePEM(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "x"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})) + string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestAFailureNamesTheMethodWhyItWasChosenAndNoSecret(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "not", "there")
	for name, c := range map[string]struct {
		config auth.Config
		says   string
	}{
		"refused":            {auth.Config{Method: auth.ClientSecret, ClientSecret: auth.NewSecret(sentinel)}, "AADSTS7000215"},
		"no such file":       {auth.Config{Method: auth.ClientSecret, ClientSecretFile: missing}, "cannot be read"},
		"no such token file": {auth.Config{Method: auth.OIDC, OIDCTokenFile: missing}, "cannot be read"},
		"no certificate":     {auth.Config{Method: auth.ClientCertificate, Certificate: auth.NewSecret(base64.StdEncoding.EncodeToString([]byte(sentinel)))}, "neither PEM nor PKCS #12"},
		"no base64":          {auth.Config{Method: auth.ClientCertificate, Certificate: auth.NewSecret(sentinel + "!")}, "not base64"},
		"no such page":       {auth.Config{Method: auth.OIDC, OIDCRequestURL: "/none?key=" + sentinel, OIDCRequestToken: auth.NewSecret(sentinel)}, "answered 404"},
		"a redirect":         {auth.Config{Method: auth.OIDC, OIDCRequestURL: "/moved", OIDCRequestToken: auth.NewSecret(sentinel)}, "answered 307"},
	} {
		e := newEntra(t)
		e.refuse = true
		if strings.HasPrefix(c.config.OIDCRequestURL, "/") {
			c.config.OIDCRequestURL = e.URL + c.config.OIDCRequestURL
		}
		_, err := token(t, e.config(c.config))
		if !errors.Is(err, sandbox.CodeCredentialFailed) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, part := range []string{string(c.config.Method), "this test says so", c.says, scope} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not say %q", name, err, part)
			}
		}
		if text := fmt.Sprintf("%v %+v %#v", err, err, sandbox.RefusalOf(err)); strings.Contains(text, sentinel) || strings.Contains(text, missing) || strings.ContainsAny(text, "\n\u202e") {
			t.Errorf("%s: %s", name, text)
		}
		if len(e.bearer) > 0 {
			t.Errorf("%s: the request's token went along with a redirect", name)
		}
	}
}

func TestNobodyIsAskedBeforeTheFirstToken(t *testing.T) {
	t.Parallel()
	e := newEntra(t)
	missing := filepath.Join(t.TempDir(), "not there")
	for _, c := range []auth.Config{
		{Method: auth.ClientSecret, ClientSecretFile: missing},
		{Method: auth.ClientCertificate, CertificateFile: missing},
		{Method: auth.OIDC, OIDCTokenFile: missing},
		{Method: auth.WorkloadIdentity, OIDCTokenFile: missing},
		{Method: auth.ManagedIdentity},
		{Method: auth.CLI},
	} {
		credential, err := auth.New(e.config(c))
		if err != nil {
			t.Errorf("%s: %v", c.Method, err)
			continue
		}
		if m, why := credential.Method(); m != c.Method || why == "" {
			t.Errorf("%s because %s", m, why)
		}
	}
	if len(e.paths) > 0 {
		t.Errorf("asked %q", e.paths)
	}
}

func TestOneMethodIsTriedAndNoOther(t *testing.T) {
	t.Parallel()
	e := newEntra(t)
	e.refuse = true
	c := e.config(auth.Config{Method: auth.OIDC, OIDCToken: auth.NewSecret("given"), ClientSecret: auth.NewSecret("pw")})
	if _, err := token(t, c); !errors.Is(err, sandbox.CodeCredentialFailed) {
		t.Error(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.forms {
		if len(f["client_secret"]) > 0 {
			t.Errorf("the secret was tried: %v", f)
		}
	}
}

func TestTheCallersEndIsNotAFailedSignIn(t *testing.T) {
	t.Parallel()
	e := newEntra(t)
	credential, err := auth.New(e.config(auth.Config{Method: auth.ClientSecret, ClientSecret: auth.NewSecret("pw")}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{scope}}); !errors.Is(err, context.Canceled) || errors.Is(err, sandbox.CodeCredentialFailed) {
		t.Error(err)
	}
}

func TestSettingsThatAMethodNeedsAreNamed(t *testing.T) {
	t.Parallel()
	for missing, c := range map[string]auth.Config{
		"tenant_id":               {Method: auth.ClientSecret, ClientID: "c", ClientSecret: auth.NewSecret("s")},
		"client_id":               {Method: auth.ClientSecret, Tenant: "t", ClientSecret: auth.NewSecret("s")},
		"client_secret":           {Method: auth.ClientSecret, Tenant: "t", ClientID: "c"},
		"client_certificate_path": {Method: auth.ClientCertificate, Tenant: "t", ClientID: "c"},
		"oidc_token_file_path":    {Method: auth.WorkloadIdentity, Tenant: "t", ClientID: "c"},
		"oidc_request_token":      {Method: auth.OIDC, Tenant: "t", ClientID: "c", OIDCRequestURL: "https://h"},
		"https":                   {Method: auth.OIDC, Tenant: "t", ClientID: "c", OIDCRequestURL: "http://h", OIDCRequestToken: auth.NewSecret("s")},
		"authority_host":          {Method: auth.CLI, AuthorityHost: "http://login.example"},
		"one of them":             {Method: auth.ManagedIdentity, ClientID: "c", ManagedIdentityResource: "/r"},
		"client_secret, ":         {},
	} {
		if _, err := auth.New(c); !errors.Is(err, sandbox.CodeCredentialInvalid) || !strings.Contains(err.Error(), missing) {
			t.Errorf("%s: %v", missing, err)
		}
	}
}
