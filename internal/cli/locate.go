package cli

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hclsource"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// locate says of every finding where it is written, where that is known: what
// Terraform's diagnostics said, else what is found in the sources.
func (r *report) locate(target, source string) error {
	dir := source
	if source != "" {
		if !isDirectory(source) {
			return badInput("--source %s: no such directory", sandbox.Echo(source))
		}
		config, err := hclsource.Load(source)
		if err != nil {
			return &exit{ExitBadInput, err}
		}
		r.place = finder(config)
	} else if target != "-" && isDirectory(target) {
		dir = target
	}
	for n := range r.Findings {
		i := &r.Findings[n]
		if i.File == "" && r.place != nil {
			if p, ok := r.place(*i); ok {
				i.File, i.Line, i.span = p.File, p.Line, p
			}
		}
		if i.File != "" {
			i.span.File = sourcePath(dir, i.File)
		}
	}
	return nil
}

// finder looks for findings in a configuration: at the block that another names, by
// the address of a block, else by the name of a workload or a policy that one block
// has.
func finder(config *hclsource.Config) func(item) (hclsource.Place, bool) {
	return func(i item) (hclsource.Place, bool) {
		referred, _ := config.Referred(i.Address, i.within)
		for _, address := range []string{referred, i.Address, i.Subject} {
			if p, ok := config.Locate(address, i.Path); ok {
				return p, true
			}
		}
		kind, quoted, _ := strings.Cut(i.Subject, " ")
		name, err := strconv.Unquote(quoted)
		if err != nil {
			return hclsource.Place{}, false
		}
		address, ok := config.Named("sandbox_"+kind, name)
		if !ok {
			return hclsource.Place{}, false
		}
		return config.Locate(address, i.Path)
	}
}

// sourcePath is a file of a configuration as code hosts know it: below the
// directory as it was given, with slashes. Outside the working directory it is
// named from the configuration's root.
func sourcePath(dir, file string) string {
	if dir == "" || filepath.IsAbs(dir) || !filepath.IsLocal(dir) {
		return file
	}
	return path.Join(filepath.ToSlash(dir), file)
}
