package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// exchange is the audience of a token that is to be exchanged at Entra ID.
const exchange = "api://AzureADTokenExchange"

// maxAssertion is larger than any token a CI system gives.
const maxAssertion = 64 << 10

// assertion gives the token to exchange. It is asked for each time, since those of CI
// systems live for minutes.
func (c Config) assertion(ctx context.Context) (string, error) {
	switch {
	case c.OIDCToken.Set():
		return c.OIDCToken.Reveal(), nil
	case c.OIDCTokenFile != "":
		b, err := os.ReadFile(c.OIDCTokenFile)
		if err != nil {
			return "", unreadable("OIDC token", err)
		}
		return strings.TrimSpace(string(b)), nil
	default:
		return c.requestAssertion(ctx)
	}
}

// requestAssertion asks GitHub, or Azure DevOps where a service connection is named.
func (c Config) requestAssertion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	u, err := url.Parse(c.OIDCRequestURL)
	if err != nil {
		return "", errors.New("the address that tokens are requested from is no URL")
	}
	method, field, query := http.MethodGet, "value", u.Query()
	if c.ServiceConnection == "" {
		query.Set("audience", exchange)
	} else {
		method, field = http.MethodPost, "oidcToken"
		query.Set("api-version", "7.1")
		query.Set("serviceConnectionId", c.ServiceConnection)
	}
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return "", errors.New("a token cannot be requested from that address")
	}
	req.Header.Set("Authorization", "Bearer "+c.OIDCRequestToken.Reveal())
	req.Header.Set("Accept", "application/json")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-TFS-FedAuthRedirect", "Suppress") // a sign-in page is no token
	}
	resp, err := c.http().Do(req)
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // the outer one repeats the whole address
		}
		return "", fmt.Errorf("requesting a token from %s: %w", u.Host, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAssertion))
	if err != nil || resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("requesting a token from %s: it answered %d", u.Host, resp.StatusCode)
	}
	var answer map[string]json.RawMessage
	var token string
	if json.Unmarshal(body, &answer) != nil || json.Unmarshal(answer[field], &token) != nil || token == "" {
		return "", fmt.Errorf("requesting a token from %s: its answer has no %s", u.Host, field)
	}
	return token, nil
}

type doer interface {
	Do(*http.Request) (*http.Response, error)
}

// http follows no redirect: the request's token is for one host.
func (c Config) http() doer {
	if c.Transport != nil {
		return c.Transport
	}
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// withClientIDFile reads a client id that the environment keeps in a file. It is
// read at once: everything else about the configuration depends on it.
func (c Config) withClientIDFile(file string) (Config, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return Config{}, invalid(clientIDFile[0], unreadable("client id", err).Error(), "a file with a client id")
	}
	c.ClientID = strings.TrimSpace(string(b))
	return c, c.Check()
}
