package cli_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/golden"
)

// theService reaches the service itself, by flags alone.
func theService(more ...string) []string {
	return append(more, "--group", "agents", "--resource-group", "rg-agents", "--subscription", subscription, "--location", "swedencentral")
}

// Nothing that is no endpoint of the service is sent anything, unless it is said to be
// an emulator.
func TestAnEndpointOutsideTheServiceIsRefusedUnlessItIsSaidToBeAnEmulators(t *testing.T) {
	t.Parallel()
	w := populated(t)
	secret := []string{"ARM_TENANT_ID=t", "ARM_CLIENT_ID=c", "ARM_CLIENT_SECRET=" + sentinel}
	for name, args := range map[string][]string{
		"azure-endpoint-elsewhere":  {"--endpoint-data", w.url},
		"azure-endpoint-look-alike": {"--endpoint-data", "https://management.swedencentral.azuredevcompute.io.evil.example"},
		"azure-endpoint-arm":        {"--endpoint-arm", "https://management.azure.com.evil.example"},
		"azure-endpoint-plain":      {"--endpoint-data", "http://127.0.0.1:1"},
	} {
		got := w.as(t, invocation{environ: secret}, theService(append([]string{"ls"}, args...)...)...)
		golden.Check(t, *update, name, got.both())
		if got.code != cli.ExitRefused || len(w.seen) > 0 || strings.Contains(got.both(), sentinel) {
			t.Errorf("%s: exit code %d, %q was sent", name, got.code, w.seen)
		}
	}
	if got := w.as(t, invocation{environ: secret}, w.flags("ls")...); got.code != cli.ExitAllowed || !strings.Contains(got.stdout, "on the emulator at ") {
		t.Error(got.both())
	}
}

func TestFlagsOfAnEmulatorBelongTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	junk := write(t, "junk.pem", []byte("no certificate"))
	for name, args := range map[string][]string{
		"azure-emulator-nowhere":    theService("ls", "--emulator"),
		"azure-emulator-signed-in":  w.flags("ls", "--sign-in", "cli"),
		"azure-ca-without-emulator": theService("ls", "--ca-file", w.ca),
		"azure-emulator-service":    theService("ls", "--emulator", "--endpoint-data", "https://management.swedencentral.azuredevcompute.io"),
	} {
		got := w.as(t, invocation{}, args...)
		golden.Check(t, *update, name, got.both())
		if got.code != cli.ExitBadInput || len(w.seen) > 0 {
			t.Errorf("%s: exit code %d", name, got.code)
		}
	}
	if got := w.as(t, invocation{}, append(w.flags("ls"), "--ca-file", junk)...); got.code != cli.ExitBadInput || !strings.Contains(got.stderr, "certificate") {
		t.Error(got.both())
	}
	// Without its certificate authority an emulator is not believed.
	got := w.as(t, invocation{}, append(theService("ls"), "--emulator", "--endpoint-data", w.url)...)
	if got.code != cli.ExitBadInput || !strings.Contains(got.stderr, "service.unreachable") || len(w.seen) > 0 {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	// One that wants a token of its own gets that one.
	w.token = "let-me-in"
	if got := w.run(t, "ls"); got.code != cli.ExitRefused || !strings.Contains(got.stderr, "service.unauthenticated") {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	if got := w.run(t, "ls", "--emulator-token-file", write(t, "token", []byte("let-me-in\nanother\n"))); got.code != cli.ExitAllowed {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
	if got := w.run(t, "ls", "--emulator-token-file", write(t, "empty", []byte("\n"))); got.code != cli.ExitBadInput || !strings.Contains(got.stderr, "emulator-token-file") {
		t.Errorf("exit code %d\n%s", got.code, got.both())
	}
}

func TestAGroupIsNamedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := "/subscriptions/" + subscription + "/resourceGroups/rg-agents/providers/Microsoft.App/sandboxGroups/agents"
	for name, args := range map[string][]string{
		"azure-no-group":          {"ls"},
		"azure-no-subscription":   {"ls", "--group", "agents", "--resource-group", "rg-agents"},
		"azure-no-resource-group": {"ls", "--group", "agents", "--subscription", subscription},
		"azure-group-twice":       {"ls", "--group", id, "--resource-group", "rg-other"},
		"azure-group-bad-id":      {"ls", "--group", "/subscriptions/x"},
		"azure-group-bad-name":    append(theService("ls"), "--group", "a/../b"),
	} {
		got := w.as(t, invocation{environ: []string{"ARM_USE_CLI=true"}, service: w.asTheService}, args...)
		golden.Check(t, *update, name, got.both())
		if got.code != cli.ExitBadInput || len(w.seen) > 0 {
			t.Errorf("%s: exit code %d", name, got.code)
		}
	}
	for name, env := range map[string][]string{
		"of azurerm":  {"ARM_SUBSCRIPTION_ID=" + subscription, "AZURE_SUBSCRIPTION_ID=other"},
		"of the SDKs": {"AZURE_SUBSCRIPTION_ID=" + subscription},
	} {
		got := w.as(t, invocation{environ: append(env, "AZURE_RESOURCE_GROUP=rg-agents"), service: w.asTheService}, "ls", "--group", "agents")
		if got.code != cli.ExitAllowed {
			t.Errorf("variables %s: %s", name, got.both())
		}
	}
}

// One method signs in, and it is named when it fails.
func TestSigningInIsByOneMethodThatIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	principal := []string{"ARM_TENANT_ID=t", "ARM_CLIENT_ID=c"}
	with := func(more ...string) []string { return append(slices.Clone(principal), more...) }
	for name, c := range map[string]struct {
		env    []string
		flag   string
		method auth.Method
	}{
		"nothing":           {nil, "", auth.CLI},
		"a secret":          {with("ARM_CLIENT_SECRET=s"), "", auth.ClientSecret},
		"a certificate":     {with("AZURE_CLIENT_CERTIFICATE_PATH=f"), "", auth.ClientCertificate},
		"GitHub":            {with("ARM_USE_OIDC=true", "ACTIONS_ID_TOKEN_REQUEST_URL=https://h/x", "ACTIONS_ID_TOKEN_REQUEST_TOKEN=b"), "", auth.OIDC},
		"a machine":         {[]string{"ARM_USE_MSI=true"}, "", auth.ManagedIdentity},
		"a pod":             {[]string{"AZURE_TENANT_ID=t", "AZURE_CLIENT_ID=c", "AZURE_FEDERATED_TOKEN_FILE=f"}, "", auth.WorkloadIdentity},
		"a flag":            {with("ARM_CLIENT_SECRET=s"), "managed_identity", auth.ManagedIdentity},
		"a chain, by name":  {with("ARM_CLIENT_SECRET=s"), "chain", auth.Chain},
		"the last variable": {[]string{"ARM_USE_MSI=false", "ARM_USE_MSI=true"}, "", auth.ManagedIdentity},
	} {
		var chosen auth.Method
		args := theService("ls")
		if c.flag != "" {
			args = append(args, "--sign-in", c.flag)
		}
		got := w.as(t, invocation{environ: c.env, service: func(cfg acasapi.Config) (*acasapi.Client, error) {
			if credential, ok := cfg.Credential.(*auth.Credential); ok {
				chosen, _ = credential.Method()
			}
			return w.asTheService(cfg)
		}}, args...)
		if got.code != cli.ExitAllowed || chosen != c.method {
			t.Errorf("%s: signed in by %q\n%s", name, chosen, got.both())
		}
	}
	for name, c := range map[string]struct {
		env  []string
		args []string
		code int
	}{
		"azure-sign-in-two":     {with("ARM_CLIENT_SECRET="+sentinel, "ARM_OIDC_TOKEN="+sentinel), nil, cli.ExitBadInput},
		"azure-sign-in-unknown": {nil, []string{"--sign-in", "password"}, cli.ExitBadInput},
		"azure-sign-in-lacks":   {[]string{"ARM_CLIENT_SECRET=" + sentinel}, nil, cli.ExitBadInput},
		"azure-sign-in-fails":   {with("ARM_CLIENT_SECRET_FILE_PATH=" + os.DevNull + "/x"), nil, cli.ExitRefused},
	} {
		got := w.as(t, invocation{environ: c.env}, theService(append([]string{"ls"}, c.args...)...)...)
		golden.Check(t, *update, name, got.both())
		if got.code != c.code || strings.Contains(got.both(), sentinel) {
			t.Errorf("%s: exit code %d", name, got.code)
		}
	}
}

// A group's own location is asked of ARM, which some identities may not.
func TestAGroupWithoutALocationIsAskedForIt(t *testing.T) {
	t.Parallel()
	env := []string{"ARM_SUBSCRIPTION_ID=" + subscription, "AZURE_RESOURCE_GROUP=rg-agents"}
	for name, c := range map[string]struct {
		change func(*world)
		code   int
	}{
		"azure-locate-missing":   {func(w *world) { w.exists = false }, cli.ExitRefused},
		"azure-locate-forbidden": {func(w *world) { w.forbidARM = true }, cli.ExitRefused},
	} {
		w := newWorld(t)
		c.change(w)
		got := w.as(t, invocation{environ: env, service: w.asTheService}, "ls", "--group", "agents")
		golden.Check(t, *update, name, withoutWaits(got.both()))
		if got.code != c.code {
			t.Errorf("%s: exit code %d", name, got.code)
		}
	}
	w := newWorld(t)
	w.forbidARM = true
	if got := w.as(t, invocation{environ: env, service: w.asTheService}, "ls", "--group", "agents", "--location", "swedencentral"); got.code != cli.ExitAllowed {
		t.Error(got.both())
	}
}

// faulty are requests of the commands, one of each kind.
var faulty = []struct {
	name, method, path string
	args               []string
}{
	{"list", http.MethodGet, "/sandboxes", []string{"ls"}},
	{"look", http.MethodGet, "/sandboxes/*", []string{"show", "--sandbox", "sb-1"}},
	{"delete", http.MethodDelete, "/sandboxes/*", []string{"reap", "--older-than", "1h"}},
	{"look for it to be gone", http.MethodGet, "/sandboxes/*", []string{"reap", "--older-than", "1h"}},
	{"catalogue", http.MethodGet, "/diskimages/public", []string{"image", "catalogue"}},
	{"list images", http.MethodGet, "/diskimages", []string{"image", "ls"}},
	{"create an image", http.MethodPut, "/diskimages", []string{"image", "import", reference}},
	{"look at a build", http.MethodGet, "/diskimages/img-*", []string{"image", "import", reference}},
}

func newFaulty(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.hold("sb-1", 3*time.Hour, ours())
	return w
}

// What passes is waited for, and nothing is made twice or left behind by it.
func TestFaultsThatPassChangeNothing(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(*fault){
		"throttled":          func(f *fault) { f.answer = says(http.StatusTooManyRequests, "", "Retry-After", "7") },
		"500 once":           func(f *fault) { f.answer = says(http.StatusInternalServerError, "") },
		"503 with HTML":      func(f *fault) { f.answer = says(http.StatusServiceUnavailable, "<html>") },
		"an empty 403 twice": func(f *fault) { f.answer, f.times = says(http.StatusForbidden, ""), 2 },
		"lost before it ran": func(f *fault) { f.answer = lost },
		"lost after it ran":  func(f *fault) { f.answer, f.after = lost, true },
		"500 after it ran":   func(f *fault) { f.answer, f.after = says(http.StatusInternalServerError, ""), true },
		"cut in mid answer":  func(f *fault) { f.answer = says(http.StatusOK, `[{"id":`, "Content-Type", "application/json") },
	} {
		for _, op := range faulty {
			w := newFaulty(t)
			f(w.fail(op.method, op.path, 1, nil))
			got := w.run(t, op.args...)
			if got.code != cli.ExitAllowed {
				t.Errorf("%s, %s: exit code %d\n%s", op.name, name, got.code, got.both())
			}
			if len(w.images) > 1 || (op.args[0] == "reap" && len(w.ids()) > 0) {
				t.Errorf("%s, %s: %q and %q are left", op.name, name, w.imageIDs(), w.ids())
			}
			if name == "throttled" && !strings.Contains(got.stderr, "sandboxctl: the service answered 429; asking again in 7s") &&
				op.name != "create an image" {
				t.Errorf("%s, %s: nobody was told\n%s", op.name, name, got.both())
			}
		}
	}
}

// What does not pass is an error that says what to do, and never success.
func TestFaultsThatStayAreErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request) bool
		codes  []int
	}{
		"empty-403": {says(http.StatusForbidden, ""), []int{cli.ExitRefused}},
		"401":       {says(http.StatusUnauthorized, ""), []int{cli.ExitRefused}},
		"redirect":  {says(http.StatusTemporaryRedirect, "", "Location", "https://evil.example/"), []int{cli.ExitBadInput, cli.ExitUnfinished}},
		"429":       {says(http.StatusTooManyRequests, "", "Retry-After", "7200"), []int{cli.ExitBadInput, cli.ExitUnfinished}},
		"500":       {says(http.StatusInternalServerError, ""), []int{cli.ExitBadInput, cli.ExitUnfinished}},
		"html":      {says(http.StatusOK, "<html>sign in</html>"), []int{cli.ExitBadInput, cli.ExitUnfinished}},
		"lost":      {lost, []int{cli.ExitBadInput, cli.ExitUnfinished}},
	} {
		for _, op := range faulty {
			if op.name == "look for it to be gone" {
				continue // what it saw once is below
			}
			w := newFaulty(t)
			w.fail(op.method, op.path, 9999, c.answer)
			got := w.run(t, op.args...)
			if !slices.Contains(c.codes, got.code) {
				t.Errorf("%s, %s: exit code %d\n%s", op.name, name, got.code, got.both())
			}
			if op.name == "list" && name != "lost" { // whose words are the system's
				golden.Check(t, *update, "fault-"+name, withoutWaits(got.both()))
			}
			if op.name == "delete" && !strings.Contains(got.stdout, "sb-1") {
				t.Errorf("%s, %s: the sandbox is not named\n%s", op.name, name, got.both())
			}
		}
	}
}
