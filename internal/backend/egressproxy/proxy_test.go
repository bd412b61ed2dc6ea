package egressproxy

import (
	"net/http"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestAllowedHostsAreReachedAndOthersAreNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site(t, w, "api.example.com")
	site(t, w, "www.example.net")
	s := newScene(t, w, setting{rules: map[string]sandbox.EgressRule{
		"api":   rule("api.example.com", "443 80", "*", "*"),
		"gated": rule("www.example.net", "443 80", "GET", "/v1"),
	}})
	through, opened := s.client(t, false), s.client(t, true)
	for _, c := range []struct {
		client  *http.Client
		address string
		status  int
	}{
		{through, "http://api.example.com/", 200},
		{through, "https://api.example.com/x?y", 200},
		{through, "http://www.example.org/", 403},
		{through, "http://www.example.net/v1/x", 200},
		{through, "http://www.example.net/v2", 403},
		{opened, "https://www.example.net/v1/x?q", 200},
		{opened, "https://www.example.net/v2", 403},
	} {
		r, err := get(c.client, c.address)
		if err != nil || r.status != c.status {
			t.Errorf("%s: %+v, %v", c.address, r, err)
		}
	}
}
