package provider

import (
	"net/url"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/imageregistry"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// credentialsDocker is the one place that credentials for registries come from.
const credentialsDocker = "docker"

// registriesAttribute is the provider block's list of registries that may be asked.
func registriesAttribute() schema.MapNestedAttribute {
	flag := func(description string) schema.BoolAttribute {
		return schema.BoolAttribute{Optional: true, MarkdownDescription: description}
	}
	return schema.MapNestedAttribute{
		Optional: true,
		MarkdownDescription: "The registries that `sandbox_image` may ask, by the host that references name them with, in lower case and with a port if it has one, such as `{ \"registry.example.com\" = {} }`. " +
			"A plan asks no other registry, and each at its own host alone, over TLS, at public addresses and as nobody, unless its object says otherwise.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"plain_http":        flag("Whether the registry is asked without TLS. `false` when unset."),
			"private_addresses": flag("Whether the registry may be at an address of this machine or of a private network. `false` when unset. Addresses of cloud metadata are never asked."),
			"credentials": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Where the registry's credentials come from: `" + credentialsDocker + "` for what `docker login` stored on the machine that plans, its credential helpers included. " +
					"None are looked for when unset.",
			},
			"token_host": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Another host that issues the registry's tokens, with a port if it has one, such as `auth.docker.io`. Credentials are sent to it. " +
					"Any other host that the registry names for tokens is asked nothing.",
			},
			"blob_hosts": schema.ListAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Other hosts that the registry may redirect to for its content: DNS names or `*.suffix`. They are sent neither credentials nor tokens. " +
					"A redirect to any other host is refused, with that host in the message.",
			},
		}},
	}
}

// registriesFrom reads the attribute from the provider block. What is not known yet
// is open.
func registriesFrom(block tftypes.Value) (access map[string]imageregistry.Access, open bool, findings []sandbox.Finding) {
	r := &reading{}
	root, ok := r.open(block, nil)
	if !ok {
		return nil, !block.IsKnown(), nil
	}
	access = map[string]imageregistry.Access{}
	root.eachObject("registries", func(host string, o *object) {
		access[host] = registryFrom(host, o)
	})
	return access, !r.known.Everything() && len(r.findings) == 0, r.findings
}

func registryFrom(host string, o *object) imageregistry.Access {
	o.reading.checkRegistry(host, o.path)
	a := imageregistry.Access{
		PlainHTTP:        o.flag("plain_http", false),
		PrivateAddresses: o.flag("private_addresses", false),
		TokenHost:        o.text("token_host"),
	}
	switch credentials := o.text("credentials"); credentials {
	case "":
	case credentialsDocker:
		a.Credentials = true
	default:
		o.reading.bad(sandbox.CodeUnknownWord, o.path.Append(sandbox.Attr("credentials")), sandbox.Echo(credentials),
			sandbox.Echo(credentialsDocker), "write credentials = "+sandbox.Echo(credentialsDocker)+", or leave it out")
	}
	if a.Credentials && a.PlainHTTP {
		o.reading.bad(sandbox.CodeContradiction, o.path.Append(sandbox.Attr("credentials")), "credentials and plain_http",
			"TLS wherever credentials are sent", "remove one of the two")
	}
	if a.TokenHost != "" {
		o.reading.checkRegistry(strings.ToLower(a.TokenHost), o.path.Append(sandbox.Attr("token_host")))
	}
	for i, text := range o.texts("blob_hosts") {
		at := o.path.Append(sandbox.Attr("blob_hosts"), sandbox.Index(i))
		if !o.reading.known.Has(at) {
			continue
		}
		h, err := egress.ParseHost(text)
		if err != nil {
			o.reading.reject(at, sandbox.FindingsAt(err, at)...)
			continue
		}
		a.BlobHosts = append(a.BlobHosts, h)
	}
	return a
}

// checkRegistry refuses what references do not name a registry with.
func (r *reading) checkRegistry(host string, at sandbox.FieldPath) {
	u, err := url.Parse("//" + host)
	if err == nil && host == u.Host && (sandbox.Image{Reference: host + "/x"}).Registry() == host {
		if _, _, err := egress.ParseRequestHost(u.Hostname()); err == nil {
			return
		}
	}
	r.bad(sandbox.CodeInvalidText, at, sandbox.Echo(host), "a registry's host in lower case, with its port if it has one, and no path",
		`write it as in a reference, such as "registry.example.com"`)
}

func (r *reading) bad(code sandbox.Code, at sandbox.FieldPath, found, required, remedy string) {
	r.reject(at, sandbox.Finding{Code: code, Path: at, Found: found, Required: required, Remedy: remedy})
}
