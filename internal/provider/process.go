package provider

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/provider"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/unfinished"
)

// Process is [New] for the process that Terraform starts. It writes down what it sets
// out to make, so that an apply that is killed is taken up again by the next one. end
// has to be called once Terraform has let the provider go, and not otherwise.
func Process(version string) (serve func() provider.Provider, end func() error) {
	journal := unfinished.New(creationsDir(os.Getenv, os.ReadFile), os.Getppid(), acasapi.SystemClock())
	factory := New(version)
	return func() provider.Provider {
		p := factory()
		if ours, ok := p.(*sandboxProvider); ok {
			ours.journal = journal
		}
		return p
	}, journal.Close
}

// creationsDir lies in the folder where Terraform keeps what belongs to this working
// directory, by workspace: each has a state of its own.
func creationsDir(getenv func(string) string, readFile func(string) ([]byte, error)) string {
	data := cmp.Or(getenv("TF_DATA_DIR"), ".terraform")
	workspace := getenv("TF_WORKSPACE")
	if workspace == "" {
		chosen, _ := readFile(filepath.Join(data, "environment")) // there is none of the default
		workspace = cmp.Or(strings.TrimSpace(string(chosen)), "default")
	}
	return filepath.Join(data, "sandbox", "creations", "workspace-"+url.PathEscape(workspace))
}
