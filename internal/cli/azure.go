package cli

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// azure is how a command reaches a sandbox group: the flags that all of them share.
type azure struct {
	group, subscription, resourceGroup, location string
	// groupFlag names the group, where that is not --group.
	groupFlag string
	// version is the service's, where the client's own is not meant.
	version wire.Version

	signIn string

	emulator                  bool
	armEndpoint, dataEndpoint string
	caFile, tokenFile         string
}

// azureHelp is what the help of each such command says of reaching the group.
const azureHelp = `The group is named by --group, --resource-group and --subscription, or by its whole
resource id in --group. The subscription is read from ARM_SUBSCRIPTION_ID or
AZURE_SUBSCRIPTION_ID, the resource group from AZURE_RESOURCE_GROUP, where no flag
names them. Without --location the group is asked where it is, which takes a role
that reads it.

One method of signing in is used, the one that --sign-in names or that the variables
of Terraform's Azure providers and of the Azure SDKs point at; without any it is the
Azure CLI. No other is tried when it fails, unless the method is chain.

An emulator is said to be one, with --emulator: it gets no token of yours, and what
is printed names it. Everywhere else a token goes to the service's own hosts only.`

func (o *azure) flags(flags *pflag.FlagSet) {
	flags.StringVar(&o.group, cmp.Or(o.groupFlag, "group"), "", "the sandbox group, by name or by resource id")
	flags.StringVar(&o.subscription, "subscription", "", "the group's subscription id")
	flags.StringVar(&o.resourceGroup, "resource-group", "", "the group's resource group")
	flags.StringVar(&o.location, "location", "", "where the group is (default: the group is asked)")
	flags.StringVar(&o.signIn, "sign-in", "", "how to sign in: "+strings.Join(methods(), ", "))
	flags.BoolVar(&o.emulator, "emulator", false, "the endpoints are an emulator's")
	flags.StringVar(&o.dataEndpoint, "endpoint-data", "", "the data plane, in place of the location's own")
	flags.StringVar(&o.armEndpoint, "endpoint-arm", "", "the ARM plane, in place of the cloud's own")
	flags.StringVar(&o.caFile, "ca-file", "", "the emulator's certificate authority, a PEM file")
	flags.StringVar(&o.tokenFile, "emulator-token-file", "", "a file whose first line is the token that the emulator wants")
}

func methods() []string {
	var words []string
	for _, m := range auth.Methods() {
		words = append(words, string(m))
	}
	return words
}

// reached is a group that can be asked.
type reached struct {
	*acasapi.Group

	client   *acasapi.Client
	config   acasapi.Config
	location string
	emulator bool
}

// place is the group and where it is, for people.
func (r *reached) place() string {
	id := r.ID()
	text := "group " + id.Name + " in " + id.ResourceGroup
	if endpoint, _ := r.client.Endpoint(wire.Data); r.emulator {
		return text + ", on the emulator at " + endpoint
	} else if r.location == "" {
		return text + ", at " + endpoint
	}
	return text + ", " + r.location
}

// target says in JSON what was asked.
type target struct {
	Group    string `json:"group"`
	Endpoint string `json:"endpoint"`
	Emulator bool   `json:"emulator"`
}

func (r *reached) target() target {
	endpoint, _ := r.client.Endpoint(wire.Data)
	return target{r.ID().String(), endpoint, r.emulator}
}

// reach finds the group's data plane. Nobody is asked for anything yet, except for
// the location of a group that has none here. close ends what was opened.
func (a *app) reach(ctx context.Context, o azure) (r *reached, closed func(), err error) {
	id, err := o.id(a.getenv)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := a.serviceConfig(o)
	if err != nil {
		return nil, nil, err
	}
	if o.location == "" && o.dataEndpoint == "" {
		if cfg.Location, err = a.locate(ctx, cfg, id); err != nil {
			return nil, nil, err
		}
	}
	client, err := a.openService(cfg)
	if err != nil {
		return nil, nil, err
	}
	if endpoint, own := client.Endpoint(wire.Data); o.emulator && own {
		client.Close()
		return nil, nil, badInput("--emulator: %s is the service itself", endpoint)
	}
	group, err := client.Group(id)
	if err != nil {
		client.Close()
		return nil, nil, err
	}
	return &reached{Group: group, client: client, config: cfg, location: cfg.Location, emulator: o.emulator}, client.Close, nil
}

// openService opens a client of the service, and says what to do about an endpoint that is
// not the service's.
func (a *app) openService(cfg acasapi.Config) (*acasapi.Client, error) {
	open := a.env.Service
	if open == nil {
		open = acasapi.New
	}
	client, err := open(cfg)
	return client, advise(err, sandbox.CodeEndpointNotAllowed, "use the service's own endpoint; if this is an emulator's, say so with --emulator, and it gets no token of yours")
}

// locate asks ARM where the group is.
func (a *app) locate(ctx context.Context, cfg acasapi.Config, id acasapi.GroupID) (string, error) {
	client, err := a.openService(cfg)
	if err != nil {
		return "", err
	}
	defer client.Close()
	group, err := client.GetGroup(ctx, id)
	err = advise(err, sandbox.CodeServiceForbidden, "give the identity a role that reads the group, or name the group's location with --location")
	return group.Location, advise(err, sandbox.CodeServiceNotFound, wrongGroup)
}

// wrongGroup is what to look at when a group is not found.
const wrongGroup = "look at --group, --resource-group, --subscription and --location: the group is known in its own location only"

// id is the group that the flags and variables name.
func (o *azure) id(getenv func(string) string) (acasapi.GroupID, error) {
	if o.group == "" {
		return acasapi.GroupID{}, badInput("name the sandbox group with --group")
	}
	if strings.HasPrefix(o.group, "/") {
		if o.subscription != "" || o.resourceGroup != "" {
			return acasapi.GroupID{}, badInput("--%s is a resource id, which names the subscription and the resource group: leave out --subscription and --resource-group",
				cmp.Or(o.groupFlag, "group"))
		}
		return acasapi.ParseGroupID(o.group)
	}
	id := acasapi.GroupID{
		Subscription:  cmp.Or(o.subscription, getenv("ARM_SUBSCRIPTION_ID"), getenv("AZURE_SUBSCRIPTION_ID")),
		ResourceGroup: cmp.Or(o.resourceGroup, getenv("AZURE_RESOURCE_GROUP")),
		Name:          o.group,
	}
	switch {
	case id.Subscription == "":
		return id, badInput("name the group's subscription with --subscription or ARM_SUBSCRIPTION_ID")
	case id.ResourceGroup == "":
		return id, badInput("name the group's resource group with --resource-group or AZURE_RESOURCE_GROUP")
	}
	return id, id.Check()
}

// serviceConfig is how the service is reached, and who signs in there.
func (a *app) serviceConfig(o azure) (acasapi.Config, error) {
	heard := &waits{app: a}
	cfg := acasapi.Config{
		Location: o.location, ARMEndpoint: o.armEndpoint, DataEndpoint: o.dataEndpoint, DataVersion: o.version,
		UserAgent: "sandboxctl", Observe: heard.hear,
	}
	if o.emulator {
		return a.emulatorConfig(o, cfg)
	}
	if o.caFile != "" || o.tokenFile != "" {
		return cfg, badInput("--ca-file and --emulator-token-file belong to --emulator: the service's own certificates are the system's to judge")
	}
	how, err := auth.FromEnvironment(a.getenv, auth.Method(o.signIn))
	if r := sandbox.RefusalOf(err); r != nil && r.Remedy == "" {
		return cfg, advise(err, r.Code, "name one method with --sign-in")
	} else if err != nil {
		return cfg, err
	}
	cfg.Credential, err = auth.New(how)
	return cfg, err
}

func (a *app) emulatorConfig(o azure, cfg acasapi.Config) (acasapi.Config, error) {
	switch {
	case o.dataEndpoint == "":
		return cfg, badInput("--emulator: say where it is, with --endpoint-data")
	case o.signIn != "":
		return cfg, badInput("--emulator and --sign-in: nobody signs in to an emulator")
	}
	cfg.ARMEndpoint = cmp.Or(cfg.ARMEndpoint, cfg.DataEndpoint)
	cfg.ExactEndpoints = []string{cfg.ARMEndpoint, cfg.DataEndpoint}
	var credential auth.Emulator
	if o.tokenFile != "" {
		b, err := a.readFile(o.tokenFile, maxToken)
		if err != nil {
			return cfg, err
		}
		first, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
		credential.Token = auth.NewSecret(strings.TrimSpace(first))
		if !credential.Token.Set() {
			return cfg, badInput("--emulator-token-file %s has no token", sandbox.Echo(o.tokenFile))
		}
	}
	cfg.Credential = credential
	if o.caFile == "" {
		return cfg, nil
	}
	b, err := a.readFile(o.caFile, maxToken)
	if err != nil {
		return cfg, err
	}
	if cfg.RootCAs = x509.NewCertPool(); !cfg.RootCAs.AppendCertsFromPEM(b) {
		return cfg, badInput("--ca-file %s: no certificate in PEM", sandbox.Echo(o.caFile))
	}
	return cfg, nil
}

// maxToken bounds a file with a token or a certificate.
const maxToken = 1 << 20

// getenv reads the environment that the command was given.
func (a *app) getenv(name string) string {
	value := ""
	for _, pair := range a.env.Environ {
		if n, v, ok := strings.Cut(pair, "="); ok && n == name {
			value = v
		}
	}
	return value
}

// advise gives a refusal of that code a remedy that can be typed.
func advise(err error, code sandbox.Code, remedy string) error {
	r := sandbox.RefusalOf(err)
	if r == nil || r.Code != code {
		return err
	}
	f := r.Finding
	f.Remedy = remedy
	return f.Refusal(r.Err)
}

// unheard is how long the command may wait for the service without a word.
const unheard = 2 * time.Second

// waits tells why the command waits before it asks the service again.
type waits struct {
	app *app
	mu  sync.Mutex
}

func (w *waits) hear(e acasapi.Event) {
	if e.Wait < unheard {
		return
	}
	what := fmt.Sprintf("the service answered %d", e.Status)
	switch e.Status {
	case 0:
		what = "the service did not answer"
	case 403:
		what += ", as it does until a new role has reached it"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	text := fmt.Sprintf("sandboxctl: %s; asking again in %s", what, e.Wait.Round(time.Second))
	_, _ = fmt.Fprintln(w.app.env.Stderr, plaintext.Value(text)) // nobody can be told
}
