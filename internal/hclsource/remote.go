package hclsource

import (
	"fmt"
	"strings"
)

// pure are this provider's objects that need no cloud and no registry.
var pure = map[string]bool{
	"resource.sandbox_policy":       true,
	"resource.sandbox_workload":     true,
	"resource.sandbox_manifest":     true,
	"data.sandbox_capability_check": true,
	"data.sandbox_backend":          true,
	// Terraform's own, which is nothing but state.
	"resource.terraform_data": true,
}

const (
	ourSource = "sandbox-iac/sandbox"
	// builtin is the provider inside Terraform.
	builtin = "terraform.io/builtin/terraform"
)

// Remote names the first object that cannot be planned without a cloud, a
// registry or somebody's service, with the place and the reason; empty when
// there is none. Objects are taken in the order of modules, files and lines. After
// them come modules and providers that would have to be fetched: planning runs a
// provider's program even where it has no object.
func (c *Config) Remote() string {
	for _, dir := range c.Dirs {
		m := c.modules[dir]
		for _, b := range m.blocks {
			if why := m.remote(b); why != "" {
				return fmt.Sprintf("%s at %s %s", b.address(), c.place(b.at), why)
			}
		}
	}
	for _, call := range c.calls {
		if call.target == nil {
			return fmt.Sprintf("module.%s at %s comes from %q, which would have to be fetched; only modules in local directories are read",
				call.name, c.place(call.at), call.source)
		}
	}
	for _, dir := range c.Dirs {
		m := c.modules[dir]
		for _, name := range sortedKeys(m.providers) {
			if r := m.providers[name]; !ours(r.source) && r.source != builtin {
				return fmt.Sprintf("provider %q at %s would have to be fetched and run; a directory that is checked requires only %q",
					name, c.place(r.at), ourSource)
			}
		}
	}
	return ""
}

func ours(source string) bool { return source == ourSource || strings.HasSuffix(source, "/"+ourSource) }

func (m *module) remote(b *block) string {
	name, _, _ := strings.Cut(b.kind, "_")
	if provider, ok := traversal(b.attributes["provider"]); ok && len(provider) > 0 {
		name = provider[0].name
	} else if text, ok := literal(b.attributes["provider"]); ok {
		name, _, _ = strings.Cut(text, ".")
	}
	if name == "terraform" && pure[b.mode+"."+b.kind] {
		return ""
	}
	source := m.providers[name].source
	switch {
	case ours(source):
		if pure[b.mode+"."+b.kind] {
			return ""
		}
		return "is an object that lives in a cloud or a registry"
	case source == "" && strings.HasPrefix(b.kind, "sandbox_"):
		return fmt.Sprintf("has no provider: add %s = { source = %q } to required_providers of its module", name, ourSource)
	case source == "":
		return fmt.Sprintf("is an object of provider %q", name)
	default:
		return fmt.Sprintf("is an object of provider %q", source)
	}
}
