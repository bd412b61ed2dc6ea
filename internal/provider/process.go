package provider

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/provider"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/unfinished"
)

// Process is [New] for the process that Terraform starts. It writes down what it sets
// out to make, so that an apply that is killed is taken up again by the next one. end
// has to be called once Terraform has let the provider go, and not otherwise.
func Process(version string) (serve func() provider.Provider, end func() error) {
	journal := unfinished.New(creationsDir(os.Getenv, os.ReadFile), keysDir(os.Getenv, os.UserConfigDir, os.Getwd), os.Getppid(), time.Now)
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

// keysDir lies in the user's own folder, for the key that creations are signed with.
// It is empty, and nothing is written down, where that folder lies in the work tree:
// whoever puts files there could put a key there.
func keysDir(getenv func(string) string, configDir, workDir func() (string, error)) string {
	base := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) {
		var err error
		if base, err = configDir(); err != nil {
			return ""
		}
	}
	wd, err := workDir()
	if err != nil {
		return ""
	}
	dir := filepath.Join(resolved(base), "terraform-provider-sandbox")
	if inside, err := filepath.Rel(workTree(resolved(wd)), dir); err != nil || filepath.IsLocal(inside) {
		return ""
	}
	return dir
}

// workTree is the nearest repository that the directory lies in, or itself.
func workTree(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// resolved follows the links in as much of the path as there is.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return path
}
