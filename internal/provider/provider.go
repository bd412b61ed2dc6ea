package provider

import (
	"context"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/imageregistry"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/unfinished"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// TypeName is the provider's name, with which the names of all its types begin.
const TypeName = "sandbox"

// New returns a factory of providers of the given version, as servers want it.
func New(version string) func() provider.Provider {
	return func() provider.Provider {
		return &sandboxProvider{
			version: version, getenv: os.Getenv, readFile: readPolicyFile,
			registries: imageregistry.Config{
				Keychain: authn.DefaultKeychain, Proxy: http.ProxyFromEnvironment, UserAgent: "terraform-provider-sandbox/" + version,
			},
		}
	}
}

var (
	_ provider.Provider                   = (*sandboxProvider)(nil)
	_ provider.ProviderWithValidateConfig = (*sandboxProvider)(nil)
	_ provider.ProviderWithFunctions      = (*sandboxProvider)(nil)

	_ provider.ProviderWithEphemeralResources = (*sandboxProvider)(nil)
)

// sandboxProvider does nothing until it is configured, and then reads at most
// the imposed policy files.
type sandboxProvider struct {
	version  string
	getenv   func(string) string
	readFile func(string) ([]byte, error)
	// registries is how registries are asked; which ones is the block's to say.
	registries imageregistry.Config
	// clock is what waits for the service go by; nil is the system's.
	clock acasapi.Clock
	// journal is where creations are written down, nil for nowhere.
	journal *unfinished.Journal
}

// providerModel is the provider block.
type providerModel struct {
	PolicyFile   types.String `tfsdk:"policy_file"`
	PolicyDigest types.String `tfsdk:"policy_digest"`
	Embedded     types.Object `tfsdk:"embedded"`
	ACAS         types.Object `tfsdk:"acas"`
	Registries   types.Map    `tfsdk:"registries"`
}

// findings refuse two homes for the same objects.
func (m providerModel) findings() []sandbox.Finding {
	if m.Embedded.IsNull() || m.ACAS.IsNull() {
		return nil
	}
	return []sandbox.Finding{{
		Code: sandbox.CodeContradiction, Path: sandbox.Path("embedded"), Found: "embedded and acas",
		Required: "at most one of the two, since objects live in one place",
		Remedy:   "remove one of the two blocks; a second provider block with an alias can hold it",
	}}
}

func (p *sandboxProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = TypeName
	resp.Version = p.version
}

func (p *sandboxProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Decides at plan what sandboxes for agents may do, and hands hosts a document that they enforce at run time. " +
			"Policies, workloads and manifests are pure: they need no provider block, no cloud and no credentials.",
		Attributes: map[string]schema.Attribute{
			"policy_file": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "Path of a policy document that bounds every workload, besides the policy that each is given; it counts from the directory that Terraform runs in. " +
					"The environment variable `" + envPolicyFile + "` names another one, and both hold: the strictest of each rule. " +
					"Manifests carry it as the host's policy. Plan and apply must see the same file, otherwise Terraform stops with nothing applied.",
			},
			"policy_digest": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "SHA-256 that the file must have, `sha256:` and 64 hex digits. " +
					"The environment variable `" + envPolicyDigest + "` is the same for `" + envPolicyFile + "`.",
			},
			"registries": registriesAttribute(),
		},
		Blocks: map[string]schema.Block{
			"embedded": embeddedBlock(),
			"acas":     acasBlock(),
		},
	}
}

// ValidateConfig refuses two homes for remote objects.
func (p *sandboxProvider) ValidateConfig(ctx context.Context, req provider.ValidateConfigRequest, resp *provider.ValidateConfigResponse) {
	var block providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &block)...)
	if resp.Diagnostics.HasError() {
		return
	}
	_, _, findings := registriesFrom(req.Config.Raw)
	resp.Diagnostics.Append(refusals(append(block.findings(), findings...))...)
}

// Configure reads what is imposed on every object. It is the one place where the
// provider reads a file, and it never fails: what is wrong is kept and shown at
// each object's plan, where Terraform says which object it is.
func (p *sandboxProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var block providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &block)...)
	if resp.Diagnostics.HasError() {
		return
	}
	registries, open := p.registryClient(req.Config.Raw)
	c := &configured{guard: p.platformPolicy(block), home: p.home(block), registries: registries, registriesOpen: open}
	resp.ResourceData = c
	resp.DataSourceData = c
	resp.EphemeralResourceData = c
}

// registryClient may ask the registries that the block names, as far as they are
// known. What is wrong with them was refused when the block was validated.
func (p *sandboxProvider) registryClient(block tftypes.Value) (client *imageregistry.Client, open bool) {
	access, open, _ := registriesFrom(block)
	cfg := p.registries
	cfg.Registries = access
	return imageregistry.New(cfg), open
}

// home is where remote objects live. Nothing is read and nobody is asked.
func (p *sandboxProvider) home(block providerModel) *home {
	h := p.place(block)
	h.journal, h.clock = p.journal, p.clock
	if h.clock == nil {
		h.clock = acasapi.SystemClock()
	}
	return h
}

func (p *sandboxProvider) place(block providerModel) *home {
	switch {
	case !block.Embedded.IsNull():
		attributes := block.Embedded.Attributes()
		path, _ := attributes["path"].(types.String)
		list, _ := attributes["faults"].(types.List)
		var faults []string
		for _, e := range list.Elements() {
			if text, ok := e.(types.String); ok {
				faults = append(faults, text.ValueString())
			}
		}
		h := newEmbedded(path.ValueString(), faults, p.clock)
		if path.IsUnknown() {
			h.waits = []string{"embedded.path"}
		}
		return h
	case !block.ACAS.IsNull():
		return p.newACAS(block.ACAS)
	default:
		return &home{findings: []sandbox.Finding{noBlock()}}
	}
}

// noBlock shows both blocks to who has written neither.
func noBlock() sandbox.Finding {
	return sandbox.Finding{
		Code: sandbox.CodeNoRemoteBlock, Found: "a provider block without acas and without embedded",
		Required: "one of the two, since the object has to live somewhere",
		Remedy: `write provider "sandbox" { acas { resource_group = "…" } } for Azure, ` +
			`or provider "sandbox" { embedded {} } for a local file`,
	}
}

func (p *sandboxProvider) platformPolicy(block providerModel) *platformPolicy {
	sources := []policySource{
		{
			file: p.getenv(envPolicyFile), digest: p.getenv(envPolicyDigest),
			fileName: envPolicyFile, digestName: envPolicyDigest,
		},
		{
			file: block.PolicyFile.ValueString(), digest: block.PolicyDigest.ValueString(),
			fileName: "policy_file", digestName: "policy_digest",
		},
	}
	open := block.PolicyFile.IsUnknown() || block.PolicyDigest.IsUnknown()
	if open {
		sources = sources[:1]
	}
	guard := readPlatformPolicy(sources, p.readFile)
	guard.open = open
	return guard
}

// Resources lists the resources.
func (p *sandboxProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		newPolicyResource, newWorkloadResource, newManifestResource,
		newGroupResource, newDiskImageResource, newSecretResource, newVolumeResource, newSnapshotResource, newVNetConnectionResource,
	}
}

// DataSources lists the data sources.
func (p *sandboxProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		newBackendData, newCapabilityCheckData, newPostureDiffData, newGroupData, newSandboxesData,
		newImageData, newPrebuiltImageData, newPrebuiltImagesData,
	}
}

// EphemeralResources lists what exists while Terraform runs.
func (p *sandboxProvider) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{newAccessToken}
}

// Functions lists the functions.
func (p *sandboxProvider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{
		newPolicyFunction, newCheckFunction, newManifestFunction(p.getenv), newMeetsFloorFunction,
		newStrongestFunction, newEgressAllowsFunction, newEgressContainsFunction, newPostureDiffFunction,
		newNormalizeHostFunction, newDigestFunction,
	}
}
