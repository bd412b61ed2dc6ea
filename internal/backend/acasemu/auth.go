package acasemu

import (
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// admit asks who is asking. Nobody can sign a token for an emulator, so a token is
// read and not verified; where tokens are configured, only those count.
func (e *Emulator) admit(c *call) error {
	unauthorized := func(why string) error { return refuse(http.StatusUnauthorized, "Unauthorized", "%s", why) }
	if fromWebPage(c.request.Header) {
		return refuseWebPage()
	}
	token, present := bearer(c.request.Header)
	switch {
	case c.fault.Token == "reject" || !present:
		return unauthorized("a bearer token is required")
	case e.HasTokens():
		if !e.knows(token) {
			return unauthorized("the token is not one of this emulator's")
		}
	default:
		if err := e.judgeClaims(c, token); err != "" {
			return unauthorized(err)
		}
	}
	if c.fault.Token == "forbidden" {
		return e.forbidden(c, "the identity has no role on the data plane")
	}
	return nil
}

// fromWebPage reports a request of a web browser. Clients of the service send none of
// its headers; a web page that reaches this machine cannot leave them out, and the
// browser gives it Origin for what changes something and the other for all else.
func fromWebPage(h http.Header) bool {
	return h.Get("Origin") != "" || h.Get("Sec-Fetch-Site") != ""
}

func refuseWebPage() error {
	return refuse(http.StatusForbidden, "Forbidden", "requests of web pages are not served")
}

// misdirected reports a request that reached this listener by another's name: a name
// that leads to this machine today, and that TLS was not spoken for. Clients that go
// by an address may name the service's own host; the paths that are the emulator's
// own have no such clients.
func misdirected(r *http.Request) bool {
	if r.TLS == nil {
		return false // in this process
	}
	host := strings.TrimSuffix(strings.ToLower((&url.URL{Host: r.Host}).Hostname()), ".")
	return host != "localhost" && host != r.TLS.ServerName && net.ParseIP(host) == nil
}

func (e *Emulator) judgeClaims(c *call, token string) string {
	claims, readable := claimsOf(token)
	if !readable {
		return ""
	}
	if aud := strings.TrimSuffix(claims.Audience, "/"); aud != "" && !e.cfg.Behaviour.AnyAudience && !slices.Contains(audiences(c.plane), aud) {
		return "the token is for another audience"
	}
	if claims.Expires > 0 && c.now.After(time.Unix(int64(min(claims.Expires, 1e11)), 0)) {
		return "the token has expired"
	}
	return ""
}

// forbidden is a 403, which the service gives without a body where a role is
// missing.
func (e *Emulator) forbidden(c *call, why string) error {
	if c.plane == wire.Data && !e.cfg.Behaviour.ForbiddenSays {
		why = ""
	}
	return refuse(http.StatusForbidden, "Forbidden", "%s", why)
}

// HasTokens reports that only tokens that the emulator was given are accepted.
func (e *Emulator) HasTokens() bool { return len(e.cfg.Tokens) > 0 }

func (e *Emulator) knows(token string) bool {
	found := 0
	for _, t := range e.cfg.Tokens {
		found |= subtle.ConstantTimeCompare([]byte(t), []byte(token))
	}
	return found == 1
}

func bearer(h http.Header) (token string, ok bool) {
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// claims are what the emulator reads in a token.
type claims struct {
	Audience string  `json:"aud"`
	Expires  float64 `json:"exp"`
}

// claimsOf reads a token of the usual three parts; any other is opaque.
func claimsOf(token string) (c claims, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || wire.DecodeText(raw, &c) != nil {
		return claims{}, false
	}
	return c, true
}
