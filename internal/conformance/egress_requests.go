package conformance

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/conformance/prober/visit"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// egressRequests are what is asked of an allowed host without TLS.
func egressRequests() Suite {
	methods, paths := shows(sandbox.GuaranteeMethodConfined), shows(sandbox.GuaranteePathConfined)
	return Suite{Name: "EGRESS_REQUESTS", Gate: sandbox.CapabilityExec, Probes: confined([]Probe{
		{Name: "requests-that-two-readers-take-for-two-are-refused", Run: func(ctx context.Context, s *Scene) error {
			if err := s.twoSites(ctx); err != nil {
				return err
			}
			var calls []call
			for _, row := range smuggled() {
				bad, good := denied(row.bad, sandbox.CodeEgressRequestMalformed), answered(row.good)
				bad.what, good.what = row.name, "beside "+row.name
				calls = append(calls, bad, good)
			}
			return s.calls(ctx, calls...)
		}},
		{Name: "a-host-header-other-than-the-targets-is-refused", Rules: rules{
			"api": rule(goodHost, "80 443", "*", "*"), "evil": rule(evilHost, "80", "*", "*"),
		}, Run: hostHeaders},
		{Name: "the-second-request-of-a-connection-is-judged", Run: secondRequests},
		{Name: "websockets-h2c-and-nested-tunnels-are-refused", Run: leavingHTTP},
		{Name: "other-methods-are-refused", Shows: methods, Rules: openedRules(), Run: otherMethods},
		{Name: "other-paths-are-refused-however-they-are-written", Shows: paths, Rules: openedRules(), Run: otherPaths},
		{Name: "headers-that-override-are-refused", Shows: append(methods, paths...), Rules: rules{
			"api": rule(goodHost, "80", "GET POST", "/v1"), "evil": rule(evilHost, "80", "*", "*"),
		}, Run: overridingHeaders},
	})}
}

func hostHeaders(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	const get, differs = "GET http://" + goodHost + "/ HTTP/1.1", sandbox.CodeEgressAuthorityMismatch
	const tunnel = "CONNECT " + goodHost + ":443 HTTP/1.1"
	return s.calls(ctx,
		answered(head(get, toGood)), answered(head(get, toGood+":80")), answered(head(get, "host: API.EXAMPLE.COM.")),
		denied(head(get, "Host: "+evilHost), differs), denied(head(get, toGood+":8080"), differs),
		denied(head(get, "Host: user@"+goodHost), differs), denied(head(get, "Host:"), differs),
		denied(head(tunnel, "Host: "+evilHost+":443"), differs), denied(head(tunnel, toGood+":80"), differs),
	)
}

func secondRequests(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	ok := absolute(goodHost, "/")
	calls := []call{{what: "three good ones", visit: said(ok + ok + ok), asks: 3, judge: func(o visit.Outcome) error {
		if n := bytes.Count(o.Heard, []byte(reached)); n != 3 {
			return fmt.Errorf("%d of 3 were answered: %s", n, heard(o))
		}
		return nil
	}}}
	for _, second := range []string{absolute(evilHost, "/"), absolute(goodHost+":8080", "/"), head("CONNECT "+evilHost+":443 HTTP/1.1", "Host: "+evilHost+":443")} {
		calls = append(calls, call{what: "a good one and " + quote(second), visit: said(ok + second + ok), asks: 1, judge: func(o visit.Outcome) error {
			if n := bytes.Count(o.Heard, []byte(reached)); n != 1 || bytes.Count(o.Heard, []byte("HTTP/1.1 200")) != 1 {
				return fmt.Errorf("%d were answered, and the first alone should be: %s", n, heard(o))
			}
			return nil
		}})
	}
	return s.calls(ctx, calls...)
}

func leavingHTTP(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	const settings, leaves = "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", sandbox.CodeEgressProtocolRefused
	return s.calls(ctx,
		answered(absolute(goodHost, "/", "Connection: keep-alive")),
		denied(absolute(goodHost, "/", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="), leaves),
		denied(absolute(goodHost, "/", "Upgrade: websocket"), leaves),
		denied(absolute(goodHost, "/", "Connection: keep-alive, upgrade"), leaves),
		denied(absolute(goodHost, "/", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", settings), leaves),
		denied(absolute(goodHost, "/", settings), leaves),
		denied("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", sandbox.CodeEgressRequestMalformed),
		call{what: "a tunnel in a tunnel", judge: unspoken, visit: visit.Visit{Steps: []visit.Step{
			{Tunnel: goodHost + ":443"}, {Say: []byte(head("CONNECT "+evilHost+":443 HTTP/1.1", "Host: "+evilHost+":443"))}, {End: true}, {Hear: visit.ToTheEnd},
		}}},
	)
}

func otherMethods(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	line := func(method string) string { return head(method+" http://"+goodHost+"/v1 HTTP/1.1", toGood) }
	calls := []call{answered(line("GET")), answered(line("POST"))}
	for _, method := range []string{"DELETE", "PUT", "PATCH", "HEAD", "get", "Get", "OPTIONS", "TRACE", "GETX", "PROPFIND"} {
		calls = append(calls, denied(line(method), sandbox.CodeEgressDenied))
	}
	return s.calls(ctx, calls...)
}

func otherPaths(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	var calls []call
	for _, path := range []string{"/v1", "/v1/", "/v1/x", "/v1/x%20y", "/v1/.x", "/v1/...", "/v1?x=/../", "/v1/x?a;b"} {
		calls = append(calls, answered(absolute(goodHost, path)))
	}
	for _, path := range []string{
		"/", "/v2", "/v10", "/V1", "/v1/../v2", "/v1/./x", "/v1/..", "/v1/%2e%2e/v2", "/v1/.%2E/v2", "/v1/%2E", "/v1/a%2fb", "/v1/a%2Fb",
		"/v1/a%5cb", "/v1/a\\b", "/v1//x", "//v1", "/v1;x", "/v1/a;b/c", "/v1/a%3bb", "/v1/%252e%252e/v2", "/%76%31", "/v%31", "/v1/%00", "/v1/%c0%ae%c0%ae/v2",
		"", "?/v1", "/v1#x",
	} {
		calls = append(calls, denied(absolute(goodHost, path), sandbox.CodeEgressDenied))
	}
	return s.calls(ctx, calls...)
}

func overridingHeaders(ctx context.Context, s *Scene) error {
	if err := s.twoSites(ctx); err != nil {
		return err
	}
	calls := []call{answered(absolute(goodHost, "/v1", "X-Http: DELETE"))}
	for _, name := range []string{"X-HTTP-Method-Override", "x-http-method", "X-Method-Override", "X_HTTP_Method_Override", "X-Original-URL", "X-Rewrite-URL"} {
		calls = append(calls, denied(absolute(goodHost, "/v1", name+": DELETE"), sandbox.CodeEgressHeaderRefused),
			answered(absolute(evilHost, "/v1", name+": DELETE"))) // where nothing is restricted, nothing is overridden
	}
	return s.calls(ctx, calls...)
}

const (
	firstLine = "POST http://" + goodHost + "/ HTTP/1.1"
	toGood    = "Host: " + goodHost
)

// smuggling is a request that two readers take for two different ones, with a
// neighbour that all take for one.
type smuggling struct{ name, bad, good string }

// one makes a row of two heads, or of two heads with the same body.
func one(name, bad, good string, body ...string) smuggling {
	b := strings.Join(body, "")
	return smuggling{name, bad + b, good + b}
}
