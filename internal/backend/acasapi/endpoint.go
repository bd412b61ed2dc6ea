package acasapi

import (
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Cloud is where the service lives, as data. The contract knows one.
type Cloud struct {
	Name string
	// ARMHost is the host of the ARM plane.
	ARMHost string
	// DataDomain is the domain below which the data plane lives, as
	// management.REGION.DOMAIN; management.DOMAIN is the same service for all
	// regions.
	DataDomain string
	// ARMAudience and DataAudience are whom a token is for.
	ARMAudience  string
	DataAudience string
	// OtherDataAudiences are accepted by the data plane too.
	OtherDataAudiences []string
}

// Public is the public cloud.
func Public() Cloud {
	return Cloud{
		Name:               "public",
		ARMHost:            "management.azure.com",
		DataDomain:         "azuredevcompute.io",
		ARMAudience:        "https://management.azure.com",
		DataAudience:       "https://dynamicsessions.io",
		OtherDataAudiences: []string{"https://management.azuredevcompute.io"},
	}
}

var region = regexp.MustCompile(`^[a-z0-9]{1,40}$`)

// Region is the form of an ARM location that stands in host names: lower case,
// without spaces.
func Region(location string) (string, error) {
	r := strings.ToLower(strings.ReplaceAll(location, " ", ""))
	if !region.MatchString(r) {
		return "", refusal(sandbox.CodeInvalidText, "location", sandbox.Echo(location), "letters and digits, as in swedencentral", "")
	}
	return r, nil
}

// DataEndpoint is the data plane of a location.
func (c Cloud) DataEndpoint(location string) (string, error) {
	r, err := Region(location)
	if err != nil {
		return "", err
	}
	return "https://management." + r + "." + c.DataDomain, nil
}

// admit parses an endpoint and says whether a token may go there: to a host of the
// cloud, compared label by label, or to an endpoint that the host's configuration
// names exactly.
func (c Cloud) admit(plane wire.Plane, endpoint string, exact []string) (*url.URL, error) {
	u, err := origin(endpoint)
	if err != nil {
		return nil, err
	}
	for _, e := range exact {
		if named, err := origin(e); err == nil && *named == *u {
			return u, nil
		}
	}
	if u.Port() == "" && c.owns(plane, strings.Split(u.Host, ".")) {
		return u, nil
	}
	return nil, &sandbox.Refusal{Finding: sandbox.Finding{
		Code: sandbox.CodeEndpointNotAllowed, Subject: plane.String() + " plane", Found: sandbox.Echo(u.String()),
		Required: c.hosts(plane), Remedy: "an emulator's endpoint is named in full in the host's own configuration",
	}}
}

func (c Cloud) owns(plane wire.Plane, labels []string) bool {
	if plane == wire.ARM {
		return strings.Join(labels, ".") == c.ARMHost
	}
	domain := strings.Split(c.DataDomain, ".")
	rest := len(labels) - len(domain)
	if rest < 1 || rest > 2 || strings.Join(labels[rest:], ".") != c.DataDomain || labels[0] != "management" {
		return false
	}
	return rest == 1 || region.MatchString(labels[1])
}

func (c Cloud) hosts(plane wire.Plane) string {
	if plane == wire.ARM {
		return "https://" + c.ARMHost
	}
	return "https://management.REGION." + c.DataDomain
}

// origin reads an endpoint of the one form that is accepted: https, a host in
// lower case, perhaps a port, and nothing else. What would be read differently by
// somebody else, user names, trailing dots, escapes, is refused.
func origin(endpoint string) (*url.URL, error) {
	bad := refusal(sandbox.CodeEndpointNotAllowed, "endpoint", sandbox.Echo(endpoint), "https://HOST or https://HOST:PORT, in lower case", "")
	u, err := url.Parse(strings.TrimSuffix(endpoint, "/"))
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Opaque != "" {
		return nil, bad
	}
	host := u.Hostname()
	plain := func(r rune) bool {
		return r == '-' || r == '.' || r == ':' || ('a' <= r && r <= 'z') || ('0' <= r && r <= '9')
	}
	if host == "" || strings.HasSuffix(host, ".") || strings.HasPrefix(host, ".") || strings.ContainsFunc(host, func(r rune) bool { return !plain(r) }) {
		return nil, bad
	}
	if strings.Contains(host, ":") && net.ParseIP(host) == nil {
		return nil, bad
	}
	if strings.HasSuffix(u.Host, ":") || u.Port() == "443" {
		return nil, bad
	}
	return &url.URL{Scheme: "https", Host: u.Host}, nil
}

// CheckEndpoint holds text against the form of an endpoint. It says nothing about
// whether a token may go there.
func CheckEndpoint(endpoint string) error {
	_, err := origin(endpoint)
	return err
}

// sameOrigin reports whether a URL that an answer gave lies on base's own scheme,
// host and port.
func sameOrigin(base, u *url.URL) bool {
	return u.Scheme == base.Scheme && u.Host == base.Host && u.User == nil
}
