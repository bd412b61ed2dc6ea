package tfplan

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hclsource"
)

const (
	maxFiles = 20_000
	maxBytes = 256 << 20
)

// copier copies the modules of a configuration, each at its place relative to the
// others. It follows no link out of a module.
type copier struct {
	config   *hclsource.Config
	base, to string
	files    int
	bytes    int64
	made     map[string]bool
}

// copyConfig copies a configuration below to and returns the copy's root module.
func copyConfig(config *hclsource.Config, to string) (root string, err error) {
	c := &copier{config: config, base: common(config.Dirs), to: to, made: map[string]bool{}}
	dirs := slices.Clone(config.Dirs)
	slices.Sort(dirs)
	for _, dir := range dirs {
		if err := c.tree(dir); err != nil {
			return "", fmt.Errorf("copy the configuration: %w", err)
		}
	}
	return c.place(config.Root)
}

// common is the deepest directory above all of dirs.
func common(dirs []string) string {
	base := dirs[0]
	for _, dir := range dirs[1:] {
		for base != dir && !strings.HasPrefix(dir, strings.TrimSuffix(base, string(filepath.Separator))+string(filepath.Separator)) {
			up := filepath.Dir(base)
			if up == base {
				break
			}
			base = up
		}
	}
	return base
}

func (c *copier) place(path string) (string, error) {
	rel, err := filepath.Rel(c.base, path)
	if err != nil {
		return "", err
	}
	return filepath.Join(c.to, rel), nil
}

// skipped are the directories that belong to tools and not to the configuration.
var skipped = []string{".terraform", ".git", ".sandbox", ".terragrunt-cache", "node_modules"}

// tree copies one module's directory with everything below it.
func (c *copier) tree(dir string) error {
	in, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer in.Close()
	return fs.WalkDir(in.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to, err := c.place(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if c.made[to] {
			if entry.IsDir() && name != "." {
				return fs.SkipDir // a module inside a module, copied already
			}
			return nil
		}
		c.made[to] = true
		switch {
		case entry.IsDir() && name != "." && (slices.Contains(skipped, entry.Name()) || isState(entry.Name())):
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(to, 0o700)
		case isState(entry.Name()):
			return nil
		default:
			return c.file(in, name, dir, to)
		}
	})
}

// isState reports whether a file is Terraform's own record of another run.
func isState(name string) bool {
	return name == ".terraform.lock.hcl" || strings.HasSuffix(name, ".tfstate") || strings.Contains(name, ".tfstate.")
}

// file copies a regular file, or what a link inside the module leads to. Anything
// else is left out.
func (c *copier) file(in *os.Root, name, dir, to string) error {
	info, err := in.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil // a link that leads nowhere, or out of the module
	}
	c.files++
	c.bytes += info.Size()
	if c.files > maxFiles || c.bytes > maxBytes {
		return fmt.Errorf("more than %d files or %d bytes below it; check a smaller directory", maxFiles, maxBytes)
	}
	f, err := in.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, info.Size()))
	if err != nil {
		return err
	}
	if c.config.Root == dir && !strings.Contains(name, "/") && (strings.HasSuffix(name, ".tf") || strings.HasSuffix(name, ".tf.json")) {
		if b, err = hclsource.WithoutBackend(b, name); err != nil {
			return err
		}
	}
	return os.WriteFile(to, b, 0o600)
}
