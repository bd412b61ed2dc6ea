package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
)

// acasSetting is one attribute of the acas block that is text, and the variables
// that are read where it is not set.
type acasSetting struct {
	name string
	// variable is what the setting stands in for while somebody signs in.
	variable  string
	about     string
	sensitive bool
}

// acasSettings are named as the providers for Azure name theirs.
func acasSettings() []acasSetting {
	return []acasSetting{
		{name: "subscription_id", variable: "ARM_SUBSCRIPTION_ID", about: "The subscription of groups that name none. `ARM_SUBSCRIPTION_ID` or `AZURE_SUBSCRIPTION_ID` when unset."},
		{name: "resource_group", variable: "AZURE_RESOURCE_GROUP", about: "The resource group of groups that name none. `AZURE_RESOURCE_GROUP` when unset."},
		{name: "location", variable: "AZURE_LOCATION", about: "The region of groups that name none. `AZURE_LOCATION` when unset."},
		{name: "endpoint", about: "The data plane, in place of the region's own: `https://HOST` or `https://HOST:PORT`. A host outside the service's domains is accepted with `emulator = true` only, and gets no token."},
		{name: "arm_endpoint", about: "The ARM plane, in place of the cloud's own; `endpoint` when `emulator` is set and this is not."},
		{name: "ca_file", about: "The certificate authority of an emulator, a PEM file."},
		{name: "emulator_token", about: "The token that an emulator wants, where it wants a certain one.", sensitive: true},
		{name: "tenant_id", variable: "ARM_TENANT_ID", about: "The tenant to sign in to. `ARM_TENANT_ID` or `AZURE_TENANT_ID` when unset."},
		{name: "client_id", variable: "ARM_CLIENT_ID", about: "The application, or the user-assigned identity, to sign in as. `ARM_CLIENT_ID` or `AZURE_CLIENT_ID` when unset."},
		{name: "client_secret", variable: "ARM_CLIENT_SECRET", about: "The application's password. `ARM_CLIENT_SECRET` or `AZURE_CLIENT_SECRET` when unset.", sensitive: true},
		{name: "client_secret_file_path", variable: "ARM_CLIENT_SECRET_FILE_PATH", about: "A file with the application's password. `ARM_CLIENT_SECRET_FILE_PATH` when unset."},
		{name: "client_certificate_path", variable: "ARM_CLIENT_CERTIFICATE_PATH", about: "The application's certificate, a PKCS #12 or PEM file. `ARM_CLIENT_CERTIFICATE_PATH` or `AZURE_CLIENT_CERTIFICATE_PATH` when unset."},
		{name: "client_certificate_password", variable: "ARM_CLIENT_CERTIFICATE_PASSWORD", about: "The password of the certificate's file. `ARM_CLIENT_CERTIFICATE_PASSWORD` or `AZURE_CLIENT_CERTIFICATE_PASSWORD` when unset.", sensitive: true},
		{name: "oidc_token", variable: "ARM_OIDC_TOKEN", about: "The token of a CI system to exchange. `ARM_OIDC_TOKEN` when unset.", sensitive: true},
		{name: "oidc_token_file_path", variable: "ARM_OIDC_TOKEN_FILE_PATH", about: "A file with the token to exchange. `ARM_OIDC_TOKEN_FILE_PATH` or `AZURE_FEDERATED_TOKEN_FILE` when unset."},
		{name: "oidc_request_url", variable: "ARM_OIDC_REQUEST_URL", about: "Where a CI system gives tokens. `ARM_OIDC_REQUEST_URL`, `ACTIONS_ID_TOKEN_REQUEST_URL` or `SYSTEM_OIDCREQUESTURI` when unset. Set it together with `oidc_request_token`: the token of the environment is shown to the address of the environment alone."},
		{name: "oidc_request_token", variable: "ARM_OIDC_REQUEST_TOKEN", about: "What the CI system wants to be shown for one. `ARM_OIDC_REQUEST_TOKEN`, `ACTIONS_ID_TOKEN_REQUEST_TOKEN` or `SYSTEM_ACCESSTOKEN` when unset.", sensitive: true},
	}
}

// credentialSettings are those that by themselves say how to sign in.
func credentialSettings() map[string]auth.Method {
	return map[string]auth.Method{
		"client_secret": auth.ClientSecret, "client_secret_file_path": auth.ClientSecret,
		"client_certificate_path": auth.ClientCertificate,
		"oidc_token":              auth.OIDC, "oidc_token_file_path": auth.OIDC, "oidc_request_url": auth.OIDC,
	}
}

// embeddedBlock is where objects live in a local file.
func embeddedBlock() schema.Block {
	return schema.SingleNestedBlock{
		MarkdownDescription: "Objects live in a local file instead of a cloud, served by an emulator inside the provider: for development and CI without an account. " +
			"Sandboxes there run nothing. Exactly one of `embedded` and `acas` is stated where there are groups or what they hold; policies, workloads and manifests need neither. " +
			"A group lies in subscription `" + embeddedSubscription + "`, resource group `" + embeddedResourceGroup + "` and location `" + embeddedLocation + "` where it says nothing else.",
		Attributes: map[string]schema.Attribute{
			"path": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "The file, which counts from the directory that Terraform runs in. `" + defaultStatePath + "` when unset. Values of secrets are sealed in it with the key in the file beside it, whose name ends in `.key`: copy both together, and keep both out of version control. Keep them where the Terraform state is kept: each knows nothing without the other.",
			},
			"faults": schema.ListAttribute{
				Optional: true, ElementType: types.StringType,
				MarkdownDescription: "Misbehaviour to rehearse, in the notation of `sandboxctl emulate`, such as `stuck-build` or `throttle,op=image.create,times=2`.",
			},
		},
	}
}

// acasBlock is where objects live on Azure.
func acasBlock() schema.Block {
	methods := auth.Methods()
	words := make([]methodWord, len(methods))
	for i, m := range methods {
		words[i] = methodWord(m)
	}
	attributes := map[string]schema.Attribute{
		"auth": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "How to sign in, one of " + anyOf(words) + ". Unset, it is the one that the other settings or the variables of Terraform's Azure providers and of the Azure SDKs point at, and without any of them the Azure CLI. " +
				"No other method is tried when it fails, unless it is `chain`.",
		},
		"emulator": schema.BoolAttribute{
			Optional:            true,
			MarkdownDescription: "Whether `endpoint` is an emulator's, as `sandboxctl emulate` starts one. It gets no token of yours. `false` when unset.",
		},
	}
	for _, s := range acasSettings() {
		attributes[s.name] = schema.StringAttribute{Optional: true, Sensitive: s.sensitive, MarkdownDescription: s.about}
	}
	return schema.SingleNestedBlock{
		MarkdownDescription: "Objects live in Azure Container Apps Sandboxes. Nothing is read and nobody signs in before the first object is looked at. " +
			"A token goes to the service's own hosts only.",
		Attributes: attributes,
	}
}

// methodWord is a method as a word for descriptions.
type methodWord auth.Method

func (m methodWord) String() string { return string(m) }
