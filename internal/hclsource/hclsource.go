// Package hclsource reads a Terraform configuration as it is written, for what a
// plan cannot show: names inside objects that Terraform drops without a word, and
// objects that would need a cloud. It evaluates nothing and runs nothing.
//
// [Load] reads a root module and the local modules it calls; [Config.Dropped]
// and [Config.Remote] are the two questions. blank.go says how a root is copied
// without its backend.
package hclsource

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Config is a root module with the local modules below it.
type Config struct {
	// Root is the directory that was loaded, and Dirs every module's, the root's
	// first; absolute and clean.
	Root string
	Dirs []string

	modules map[string]*module
	// calls are the module calls of the whole tree, in order.
	calls []*call
}

// module is one directory of configuration.
type module struct {
	dir       string
	blocks    []*block
	locals    map[string]hcl.Expression
	variables map[string]*variable
	outputs   map[string]hcl.Expression
	calls     map[string]*call
	// providers maps a local name to the provider that is required under it.
	providers map[string]requirement
}

// requirement is one entry of required_providers. A source that is not written
// out is empty.
type requirement struct {
	source string
	at     hcl.Range
}

// block is one resource, data or ephemeral block.
type block struct {
	mode, kind, name string
	attributes       map[string]hcl.Expression
	at               hcl.Range
}

// variable is one input variable: its type as written, and its default.
type variable struct {
	constraint, fallback hcl.Expression
}

// call is one module block.
type call struct {
	name   string
	source string
	// target is nil where the source is not local.
	target    *module
	arguments map[string]hcl.Expression
	forEach   hcl.Expression
	at        hcl.Range
}

const (
	// maxModules and maxFileBytes keep a hostile tree from exhausting the reader.
	maxModules   = 500
	maxFileBytes = 4 << 20
)

// Load reads the configuration in dir. The error says which file cannot be read
// and why; its text repeats the configuration's own words.
func Load(dir string) (*Config, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", dir, err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, fmt.Errorf("find %s: %w", dir, err)
	}
	c := &Config{Root: root, modules: map[string]*module{}}
	if files, err := sources(root); err == nil && len(files) == 0 {
		return nil, fmt.Errorf("%s has no .tf file", sandbox.Echo(dir))
	}
	if _, err := c.load(root, hclparse.NewParser()); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Config) load(dir string, parser *hclparse.Parser) (*module, error) {
	if m, ok := c.modules[dir]; ok {
		return m, nil
	}
	if len(c.Dirs) >= maxModules {
		return nil, fmt.Errorf("more than %d local modules", maxModules)
	}
	m := &module{
		dir: dir, locals: map[string]hcl.Expression{}, variables: map[string]*variable{},
		outputs: map[string]hcl.Expression{}, calls: map[string]*call{}, providers: map[string]requirement{},
	}
	c.modules[dir] = m
	c.Dirs = append(c.Dirs, dir)
	files, err := sources(dir)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no .tf file", sandbox.Echo(c.relative(dir)))
	}
	for _, file := range files {
		body, err := c.parse(parser, file)
		if err != nil {
			return nil, err
		}
		m.read(body)
	}
	for _, name := range sortedKeys(m.calls) {
		call := m.calls[name]
		c.calls = append(c.calls, call)
		if !local(call.source) {
			continue
		}
		target, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(call.source)))
		if err != nil {
			return nil, fmt.Errorf("%s: module %q: no directory %s", c.place(call.at), name, call.source)
		}
		if call.target, err = c.load(target, parser); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func local(source string) bool {
	return strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../") || source == "." || source == ".."
}

// sources lists the configuration files of a directory, sorted, override files
// last, as Terraform reads them.
func sources(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the directory: %w", err)
	}
	var files, overrides []string
	for _, entry := range entries {
		name := entry.Name()
		base, ok := strings.CutSuffix(name, ".tf")
		if !ok {
			base, ok = strings.CutSuffix(name, ".tf.json")
		}
		if !ok || entry.IsDir() || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") || strings.HasSuffix(name, "~") {
			continue
		}
		if base == "override" || strings.HasSuffix(base, "_override") {
			overrides = append(overrides, filepath.Join(dir, name))
			continue
		}
		files = append(files, filepath.Join(dir, name))
	}
	return append(files, overrides...), nil
}

func (c *Config) parse(parser *hclparse.Parser, file string) (hcl.Body, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.relative(file), err)
	}
	if info.Size() > maxFileBytes || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file of at most %d bytes", c.relative(file), maxFileBytes)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.relative(file), err)
	}
	parse := parser.ParseHCL
	if strings.HasSuffix(file, ".json") {
		parse = parser.ParseJSON
	}
	f, diags := parse(b, file)
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		at := c.relative(file)
		if d.Subject != nil {
			at = c.place(*d.Subject)
		}
		return nil, fmt.Errorf("%s: %s; %s", at, d.Summary, d.Detail)
	}
	return f.Body, nil
}

// The parts of a file that are read. Everything else is left to Terraform.
var fileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "terraform"},
	{Type: "locals"},
	{Type: "resource", LabelNames: []string{"type", "name"}},
	{Type: "data", LabelNames: []string{"type", "name"}},
	{Type: "ephemeral", LabelNames: []string{"type", "name"}},
	{Type: "variable", LabelNames: []string{"name"}},
	{Type: "output", LabelNames: []string{"name"}},
	{Type: "module", LabelNames: []string{"name"}},
	{Type: "check", LabelNames: []string{"name"}},
}}

var terraformSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "required_providers"}}}

var checkSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "data", LabelNames: []string{"type", "name"}}}}

func (m *module) read(body hcl.Body) {
	content, _, _ := body.PartialContent(fileSchema)
	for _, b := range content.Blocks {
		switch b.Type {
		case "terraform":
			m.readProviders(b.Body)
		case "locals":
			for name, e := range attributes(b.Body) {
				m.locals[name] = native(e)
			}
		case "variable":
			attrs := attributes(b.Body)
			m.variables[b.Labels[0]] = &variable{constraint: native(attrs["type"]), fallback: native(attrs["default"])}
		case "output":
			m.outputs[b.Labels[0]] = native(attributes(b.Body)["value"])
		case "module":
			m.readCall(b)
		case "check":
			inner, _, _ := b.Body.PartialContent(checkSchema)
			for _, data := range inner.Blocks {
				m.add(data)
			}
		default:
			m.add(b)
		}
	}
}

// add takes a resource, data or ephemeral block. An override file's block adds
// to the one it overrides, whose other attributes stay.
func (m *module) add(b *hcl.Block) {
	found := &block{mode: b.Type, kind: b.Labels[0], name: b.Labels[1], attributes: attributes(b.Body), at: b.DefRange}
	for name, e := range found.attributes {
		found.attributes[name] = native(e)
	}
	m.blocks = append(m.blocks, found)
}

func (m *module) readProviders(body hcl.Body) {
	content, _, _ := body.PartialContent(terraformSchema)
	for _, required := range content.Blocks {
		for name, e := range attributes(required.Body) {
			r := requirement{at: e.Range()}
			for _, pair := range pairs(native(e)) {
				if key, ok := literal(pair.Key); ok && key == "source" {
					r.source, _ = literal(pair.Value)
				}
			}
			m.providers[name] = r
		}
	}
}

func (m *module) readCall(b *hcl.Block) {
	c := &call{name: b.Labels[0], arguments: map[string]hcl.Expression{}, at: b.DefRange}
	for name, e := range attributes(b.Body) {
		switch name {
		case "source":
			c.source, _ = literal(native(e))
		case "for_each":
			c.forEach = native(e)
		case "version", "count", "providers", "depends_on":
		default:
			c.arguments[name] = native(e)
		}
	}
	m.calls[c.name] = c
}

// attributes are a body's own, by name; its blocks are passed over.
func attributes(body hcl.Body) map[string]hcl.Expression {
	all := map[string]hcl.Expression{}
	if body, ok := body.(*hclsyntax.Body); ok {
		for name, a := range body.Attributes {
			all[name] = a.Expr
		}
		return all
	}
	attrs, _ := body.JustAttributes()
	for name, a := range attrs {
		all[name] = a.Expr
	}
	return all
}

// place is where something stands, relative to the root: main.tf:12.
func (c *Config) place(r hcl.Range) string {
	return fmt.Sprintf("%s:%d", c.relative(r.Filename), r.Start.Line)
}

func (c *Config) relative(path string) string {
	rel, err := filepath.Rel(c.Root, path)
	if err != nil {
		return filepath.Base(path)
	}
	return filepath.ToSlash(rel)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
