package egressproxy

import (
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressflaws"
)

// noticed is which probes have to notice each flaw.
var noticed = map[string][]string{
	"a host in capitals is no host":                             {"a host that no rule names"},
	"an address is as good as the name that leads there":        {"an address where rules name hosts"},
	"an address is as good as the one before it":                {"an address beside those of a rule"},
	"the port is not compared":                                  {"another port"},
	"a host is compared by its end":                             {"a host that no rule names"},
	"a host is compared by its beginning":                       {"a host that no rule names"},
	"names are looked up before they are decided":               {"names that no rule admits are never looked up"},
	"names are not rooted":                                      {"names that no rule admits are never looked up", "a name that changes its address"},
	"names are looked up twice, once to judge and once to dial": {"a name that changes its address"},
	"only the first answer is judged":                           {"a name that leads to a special address"},
	"only private and loopback answers are refused":             {"a name that leads to a special address"},
	"answers are not judged":                                    {"a name that leads to a special address", "a name that changes its address"},
	"the host's own addresses are not known":                    {"the host's own public address"},
	"rules open metadata and loopback":                          {"an address that no rule opens, by a rule for all addresses"},
	"the server name is not compared":                           {"TLS for another host than the tunnel's", "TLS without a server name", "a tunnel to an address has no server name"},
	"a missing server name is good":                             {"TLS without a server name"},
	"the server name is held against the rules, not the tunnel": {"TLS for another host than the tunnel's"},
	"the second hello is not compared with the first":           {"a second hello for another host than the first"},
	"a tunnel is passed through where rules restrict requests":  {"a tunnel that hides what rules restrict"},
	"servers of opened connections are not verified":            {"a server that nobody vouches for"},
	"the authority may speak for everybody":                     {"the sandbox's authority speaks for its hosts only"},
	"new rules are for new proxies":                             {"rules that are narrowed end what they no longer admit"},
	"heads are not judged":                                      {"requests that two readers take for two"},
	"line ends are not judged":                                  {"requests that two readers take for two"},
	"the Host header is not compared":                           {"a Host header that is not the target's", "requests inside an opened tunnel", "streams of HTTP/2 inside an opened tunnel"},
	"the Host header is compared without its port":              {"a Host header that is not the target's", "requests inside an opened tunnel"},
	"only the first request is judged":                          {"a second request on a kept connection", "a second request inside an opened tunnel"},
	"paths are decoded before they are compared":                {"a path that readers take for another"},
	"paths are cleaned before they are compared":                {"a path that readers take for another"},
	"methods are compared without case":                         {"another method than the rule's"},
	"methods are not compared":                                  {"another method than the rule's", "TRACE where a rule names it"},
	"paths are not compared":                                    {"a path that readers take for another", "requests inside an opened tunnel"},
	"upgrades go through":                                       {"what leaves HTTP as it is judged", "requests inside an opened tunnel"},
	"overriding headers go through":                             {"a header that overrides method or path"},
	"overriding headers are known by one name":                  {"a header that overrides method or path"},
}

// TestEachBrokenProxyIsNoticed shows that the probes see what they are for. A
// probe that a broken proxy still passes proves nothing.
func TestEachBrokenProxyIsNoticed(t *testing.T) {
	t.Parallel()
	byName := map[string]probe{}
	for _, p := range probes() {
		byName[p.name] = p
	}
	for _, flaw := range egressflaws.Flaws() {
		if len(noticed[flaw.Name]) == 0 {
			t.Errorf("nobody has to notice that %s", flaw.Name)
		}
		for _, name := range noticed[flaw.Name] {
			t.Run(flaw.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				p, ok := byName[name]
				if !ok {
					t.Fatal("there is no such probe")
				}
				if p.try(t, flaw.Alter) == nil {
					t.Error("the probe does not notice")
				}
			})
		}
	}
}
