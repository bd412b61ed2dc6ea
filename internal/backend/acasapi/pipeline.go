package acasapi

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const (
	module  = "sandbox-acasapi"
	version = "v1"
)

// newPipeline is azcore's pipeline for one plane. Its own retry is off: it cannot
// tell a request that may be repeated from one that may not, waits by the system's
// clock, and gives up by count rather than by deadline; see call.go. Logging names
// methods and statuses, never bodies.
func (c *Client) newPipeline(base *url.URL, scope string) runtime.Pipeline {
	return runtime.NewPipeline(module, version,
		runtime.PipelineOptions{PerRetry: []policy.Policy{
			guard{base},
			runtime.NewBearerTokenPolicy(signIn{c.cfg.Credential}, []string{scope}, nil),
		}},
		&policy.ClientOptions{
			Retry:     policy.RetryOptions{MaxRetries: -1},
			Telemetry: policy.TelemetryOptions{ApplicationID: c.cfg.UserAgent},
			Transport: bounded{c.wire},
		})
}

// newHTTPClient follows no redirect: azcore's own would take the token along. There
// is no overall timeout, since an exec may run for minutes; each request has its
// own, see timeouts in call.go.
func newHTTPClient(roots *x509.CertPool) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
			TLSHandshakeTimeout:   15 * time.Second,
			IdleConnTimeout:       90 * time.Second,
			MaxIdleConnsPerHost:   16,
			ExpectContinueTimeout: time.Second,
			ForceAttemptHTTP2:     true,
		},
	}
}

// guard stands in front of the policy that adds the token: no request to another
// origin than the plane's own gets that far, whatever made it.
type guard struct{ base *url.URL }

// Do refuses a request that is not for the plane's origin.
func (g guard) Do(req *policy.Request) (*http.Response, error) {
	u := req.Raw().URL
	if !sameOrigin(g.base, u) {
		return nil, refusal(sandbox.CodeEndpointNotAllowed, "request", sandbox.Echo(u.Scheme+"://"+u.Host), g.base.String(), "")
	}
	return req.Next()
}

// maxErrorBody is as much of an error document as is read.
const maxErrorBody = 64 << 10

// bounded keeps azcore from reading an error document of any length: it downloads
// them whole, before anybody can look.
type bounded struct{ next policy.Transporter }

// Do sends the request and bounds the body of an error.
func (b bounded) Do(req *http.Request) (*http.Response, error) {
	req, err := ownBody(req)
	if err != nil {
		return nil, err
	}
	resp, err := b.next.Do(req)
	if err != nil || resp.StatusCode < http.StatusMultipleChoices {
		return resp, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxErrorBody), resp.Body}
	return resp, nil
}

// ownBody gives one try a body of its own, where it is a document. A server may
// answer before it has read all of it, and then the transport still reads while
// azcore starts the body over for the next try.
func ownBody(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.GetBody == nil { // uploads can be started over by their owner alone
		return req, nil
	}
	document, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, fmt.Errorf("read the request's own document: %w", err)
	}
	own := req.WithContext(req.Context())
	own.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(document)), nil }
	own.Body = io.NopCloser(bytes.NewReader(document))
	return own, nil
}
