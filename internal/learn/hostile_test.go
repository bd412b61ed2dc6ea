package learn_test

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/learn"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress/eventlog"
)

func refused(program, host string, port uint16, request ...string) eventlog.Entry {
	e := eventlog.Entry{Program: program, Event: egress.Event{
		Time: noon, Code: sandbox.CodeEgressDenied, Layer: egress.LayerConnection, Host: host, Port: port, Count: 1,
	}}
	if len(request) == 2 {
		e.Layer, e.Method, e.Path = egress.LayerOpened, request[0], request[1]
	}
	return e
}

func proposal(t *testing.T, entries ...eventlog.Entry) learn.Proposal {
	t.Helper()
	var tally learn.Tally
	for _, e := range entries {
		tally.Add(e)
	}
	p, err := learn.Propose(&tally, nil)
	if err != nil {
		t.Fatal(err)
	}
	reads(t, p)
	return p
}

func ruleTexts(p learn.Proposal) string {
	var all []string
	for _, r := range proposed(p) {
		all = append(all, fmt.Sprint(r))
	}
	return strings.Join(all, "\n")
}

func TestWhatNoRuleOpensIsNeverOffered(t *testing.T) {
	t.Parallel()
	for host, why := range map[string]string{
		"169.254.169.254": "cloud metadata", "127.0.0.1": "loopback", "[::1]": "this host", "fd00:ec2::254": "cloud metadata",
		"64:ff9b::a9fe:a9fe": "cloud metadata", "2002:7f00:1::1": "loopback", "168.63.129.16": "cloud metadata",
		"localhost": "loopback", "a.localhost": "loopback", "metadata.google.internal": "no public address", "printer.local": "no public address",
		"db": "one label", "*.example.com": "no host", "10.0.0.0/8": "no host", "0177.0.0.1": "no host", "a..example.com": "no host",
		"exam\u200bple.com": "no host", "example.com/..": "no host", "\"${file(\"/etc/passwd\")}\"": "no host", "ex\nample.com": "no host",
		"\u212a.example.com": "no host", strings.Repeat("a.", 130) + "com": "no host",
	} {
		p := proposal(t, refused("sh", host, 443))
		if len(p.Groups) > 0 || len(p.NotOffered) != 1 || !strings.Contains(p.NotOffered[0].Why, why) {
			t.Errorf("%q: %+v, not %q", host, p.NotOffered, why)
		}
	}
	for _, host := range []string{"example.com", "EXAMPLE.com.", "192.0.32.10", "[2606:4700::1111]", "10.0.0.7", "internal.example.com", "bücher.example"} {
		if p := proposal(t, refused("sh", host, 443)); len(p.Groups) != 1 {
			t.Errorf("%q: %+v", host, p.NotOffered)
		}
	}
	if p := proposal(t, refused("sh", "example.com", 0)); len(p.Groups) > 0 {
		t.Errorf("%+v", p.Groups)
	}
}

func TestARequestThatNoRuleCanNameWidensNothing(t *testing.T) {
	t.Parallel()
	ordinary := refused("sh", "api.example.com", 443, "GET", "/v1")
	want := ruleTexts(proposal(t, ordinary))
	for _, request := range [][]string{
		{"GET", "/*"},
		{"GET", "/v1/*"},
		{"*", "/v1"},
		{"GET", "/../x"},
		{"GET", "/a//b"},
		{"GET", "/%2e%2e/x"},
		{"GET", "/a;b"},
		{"GET", "/%2f"},
		{"GET", "*"},
		{"get", "/v1"},
		{"G T", "/v1"},
		{"GET", `"/` + strings.Repeat("x", 120) + `"… (4000 bytes)`},
		{"GET", "/${x}"},
		{"GET", "/%C3"},
		{"GET", "/%c3%a9"},
		{"GET", ""},
	} {
		p := proposal(t, ordinary, refused("sh", "api.example.com", 443, request...))
		if got := ruleTexts(p); got != want || len(p.NotOffered) != 1 {
			t.Errorf("%q: %s, %+v", request, got, p.NotOffered)
		}
	}
	root := proposal(t, refused("sh", "api.example.com", 443, "GET", "/"))
	if got := ruleTexts(root); got != "{api.example.com [443] [GET] [*]}" {
		t.Errorf("the root is every path, for one method: %s", got)
	}
}

// A rule that names the root names every path.
func TestARuleLearntFromTheRootIsMarked(t *testing.T) {
	t.Parallel()
	through := refused("sh", "api.example.com", 443, "GET", "/v1/items")
	through.Allowed, through.Code = true, ""
	for path, marked := range map[string]bool{"/": true, "/v2": false} {
		p := proposal(t, refused("sh", "api.example.com", 443, "DELETE", path), refused("sh", "api.example.com", 443, "DELETE", path), through)
		checks := ""
		for _, g := range p.Groups {
			for _, r := range g.Rules {
				checks += strings.Join(r.Check, "\n")
			}
		}
		if strings.Contains(checks, "any path") != marked || strings.Contains(p.HCL, "CHECK") != marked {
			t.Errorf("%s: %q\n%s", path, checks, p.HCL)
		}
	}
}

func TestATunnelThatWasRefusedIsLearntAsNarrowlyAsWhatWasSeenInside(t *testing.T) {
	t.Parallel()
	tunnel, seen := refused("sh", "api.example.com", 443), refused("sh", "api.example.com", 443, "GET", "/v1")
	through := tunnel
	through.Allowed, through.Code = true, ""
	for want, entries := range map[string][]eventlog.Entry{
		"{api.example.com [443] [*] [*]}":                                       {tunnel},
		"{api.example.com [443] [GET] [/v1]}":                                   {tunnel, seen},
		"{api.example.com [443] [*] [*]} ":                                      {through, seen},
		"{api.example.com [8443] [*] [*]}\n{api.example.com [443] [GET] [/v1]}": {seen, refused("sh", "api.example.com", 8443)},
	} {
		if got := ruleTexts(proposal(t, entries...)); got != strings.TrimSpace(want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// Whoever fills the log with names gets no more of them offered than a person reads,
// and crowds out nothing that was let through.
func TestAFloodOfNamesIsBoundedAndCounted(t *testing.T) {
	t.Parallel()
	var tally learn.Tally
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const flood = 200_000
	for i := range flood {
		tally.Add(refused("p"+strconv.Itoa(i), "h"+strconv.Itoa(i)+".evil.example", 443))
		tally.Add(refused("", "api.example.com", 443, "GET", "/"+strconv.Itoa(i)))
	}
	for range 5 {
		tally.Add(refused("pip", "h7.evil.example", 443))
	}
	used := refused("pip", "packages.example.org", 443)
	used.Allowed, used.Code = true, ""
	tally.Add(used)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("%d bytes are held", grown)
	}
	p, err := learn.Propose(&tally, nil)
	if err != nil {
		t.Fatal(err)
	}
	reads(t, p)
	hosts := map[string]bool{}
	for _, r := range proposed(p) {
		hosts[r.Host] = true
	}
	if len(hosts) != 100 || !hosts["h7.evil.example"] || !hosts["api.example.com"] {
		t.Errorf("%d hosts", len(hosts))
	}
	if !hosts["packages.example.org"] {
		t.Error("what was let through is crowded out")
	}
	if p.NotListed == 0 || len(p.NotOffered) != 50 || p.Events.RefusedUndescribed == 0 || p.Events.Refused != 2*flood+5 {
		t.Errorf("%d listed, %d more, %+v", len(p.NotOffered), p.NotListed, p.Events)
	}
	if !strings.Contains(p.HCL, "rules about evil.example, whose names may carry data out") {
		t.Error("names without end are not marked")
	}
	if len(p.HCL) > 1<<20 || len(p.Notes()) > 1<<20 {
		t.Errorf("%d and %d bytes", len(p.HCL), len(p.Notes()))
	}
	for _, s := range p.Suggestions {
		if strings.HasSuffix(s.Rule.Host, "evil.example") {
			t.Errorf("a flood is rewarded with %+v", s.Rule)
		}
	}
}

func TestCountsDoNotGoRound(t *testing.T) {
	t.Parallel()
	e := refused("", "a.example.com", 443)
	e.Count = math.MaxInt64
	p := proposal(t, e, e, refused("", "b.example.com", 443))
	if first := p.Groups[0].Rules[0]; first.Rule.Host != "a.example.com" || first.Refused != math.MaxInt64 || p.Events.Refused != math.MaxInt64 {
		t.Errorf("%+v", p)
	}
}

// A program's name is the only free text in the HCL, and the host and path the only
// ones in its strings.
func TestNoTextOfAGuestLeavesItsComment(t *testing.T) {
	t.Parallel()
	for _, program := range []string{
		"x\negress_mode = \"unrestricted\"", "x\r\n}\n", "x\u2028y", "x */ y", "# ok", "\x1b[2J", "\u202ereversed", "::error::x", "##vso[task.complete]",
		strings.Repeat("long", 1000),
	} {
		p := proposal(t, refused(program, "a.example.com", 443, "GET", "/$%7Bx%7D/v1"), refused(program, "a.example.com", 80))
		if p.Mode != sandbox.EgressAllowlist || strings.Count(p.HCL, "egress_mode") != 1+strings.Count(p.HCL, `\negress_mode`) {
			t.Errorf("%q:\n%s", program, p.HCL)
		}
		for _, hostile := range []string{"\x1b", "\u202e", "\u2028", "\r", "##vso["} {
			if strings.Contains(p.HCL+p.Notes(), hostile) {
				t.Errorf("%q: %q got through", program, hostile)
			}
		}
	}
}

func TestNamesThatLookLikeOthersAreMarked(t *testing.T) {
	t.Parallel()
	trusted := refused("pip", "packages.example.org", 443)
	trusted.Allowed, trusted.Code = true, ""
	for host, marked := range map[string]bool{
		"packages.examp1e.org": true, "packages.exarnple.org": true, "packages.exmaple.org": true, "packages.exampel.org": true,
		"cdn.examples.org": true, "packages.example.com": false, "files.example.org": false, "packages.sample.org": false,
	} {
		e := refused("sh", host, 443)
		e.Count = 1000
		p := proposal(t, trusted, e)
		if got := strings.Contains(p.HCL, "much like example.org"); got != marked {
			t.Errorf("%s: marked %t\n%s", host, got, p.HCL)
		}
	}
}

func TestOfTwoNamesAlikeThatNobodyKnowsBothAreMarked(t *testing.T) {
	t.Parallel()
	for other, marked := range map[string]bool{"packages.examp1e.org": true, "packages.sample.org": false} {
		more := refused("sh", other, 443)
		more.Count = 1000
		p := proposal(t, refused("sh", "packages.example.org", 443), more)
		if got := strings.Count(p.HCL, "much like "); got != 2 && marked || got != 0 && !marked {
			t.Errorf("%s: %d marks\n%s", other, got, p.HCL)
		}
	}
}

// Whoever fills the log with requests to few hosts gets no more rules than can be
// read, no tunnel for what was seen inside one, and costs no more than they are.
func TestAFloodOfRequestsIsBoundedAndCounted(t *testing.T) {
	t.Parallel()
	used := refused("pip", "api7.example.com", 443, "GET", "/used")
	used.Allowed, used.Code = true, ""
	entries := []eventlog.Entry{}
	for i := range 9_000 {
		host, port := "api"+strconv.Itoa(i%20)+".example.com", uint16(1+i)
		path := "/" + strings.Repeat("x", i%900) + strconv.Itoa(i)
		entries = append(entries, refused("p"+strconv.Itoa(i%64), host, port, "M"+strconv.Itoa(i), path), refused("", host, port))
	}
	p := proposal(t, append(entries, used)...)
	rules := proposed(p)
	if len(rules) == 0 || len(rules) > 1000 || len(p.HCL) > 1<<20 || len(p.Notes()) > 1<<20 {
		t.Errorf("%d rules, %d and %d bytes", len(rules), len(p.HCL), len(p.Notes()))
	}
	through := false
	for _, r := range rules {
		through = through || r.Paths[0] == "/used"
		if r.Paths[0] == "*" {
			t.Errorf("%+v is a tunnel, and what was inside is known", r)
		}
	}
	if !through {
		t.Error("what was let through is crowded out")
	}
	if !strings.Contains(p.Notes(), "beyond the 1000 requests") {
		t.Error("nobody is told of the rest")
	}
}

func FuzzPropose(f *testing.F) {
	f.Add("api.example.com", "GET", "/v1", "curl", uint16(443), false)
	f.Add("*.example.com", "get", "/${x}", "a\nb", uint16(80), true)
	f.Add("xn--bcher-kva.example", "", "", "", uint16(0), false)
	f.Fuzz(func(t *testing.T, host, method, path, program string, port uint16, allowed bool) {
		e := refused(program, host, port)
		e.Method, e.Path, e.Allowed = method, path, allowed
		if allowed {
			e.Code = ""
		}
		p := proposal(t, e, refused("", "api.example.com", 443, "GET", "/v1"))
		for _, r := range proposed(p) {
			parsed, findings := egress.ParseRule("", r, nil)
			if len(findings) > 0 || parsed.Host().IsWildcard() {
				t.Fatalf("%+v: %v", r, findings)
			}
			if why, blocked := parsed.Host().AlwaysBlocked(); blocked {
				t.Fatalf("%+v: %s", r, why)
			}
		}
	})
}

func TestOneHostAskedInManyWaysLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	var tally learn.Tally
	for i := range 20_000 {
		tally.Add(refused("", "api.example.com", 443, "GET", "/"+strconv.Itoa(i)))
	}
	tally.Add(refused("", "late.example.org", 443))
	p, err := learn.Propose(&tally, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.HCL, "late.example.org") || p.Events.RefusedUndescribed == 0 {
		t.Errorf("%+v", p.Events)
	}
}

func TestTheEndOfATunnelIsNoDecision(t *testing.T) {
	t.Parallel()
	end := refused("", "api.example.com", 443)
	end.Allowed, end.Code, end.Count, end.End = true, "", 0, &egress.End{}
	p := proposal(t, refused("", "api.example.com", 443, "GET", "/v1"), end)
	if got := ruleTexts(p); got != "{api.example.com [443] [GET] [/v1]}" || p.Events.Read != 1 {
		t.Error(got)
	}
}

func TestTwoSpellingsOfAHostAreOne(t *testing.T) {
	t.Parallel()
	through := refused("", "api.example.com", 443)
	through.Allowed, through.Code = true, ""
	tunnel, seen := refused("", "API.example.com.", 443), refused("", "api.example.com", 443, "GET", "/v1")
	tunnel.Count = 9 // and so the first
	if got := ruleTexts(proposal(t, tunnel, through, seen)); got != "{api.example.com [443] [*] [*]}" {
		t.Error(got)
	}
}

func TestNoPatternIsSuggestedForNamesThatMayCarryData(t *testing.T) {
	t.Parallel()
	for label, suggested := range map[string]int{strings.Repeat("x", 29): 1, strings.Repeat("x", 30): 0} {
		var entries []eventlog.Entry
		for i := range 3 {
			entries = append(entries, refused("", strconv.Itoa(i)+label[1:]+".evil.example.net", 443))
		}
		if p := proposal(t, entries...); len(p.Suggestions) != suggested {
			t.Errorf("%d characters: %+v", len(label), p.Suggestions)
		}
	}
}
