package hclsource

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
)

// WithoutBackend returns a file of a root module without the blocks that say
// where its state is, so that a copy of it starts from an empty state of its own.
// What is taken out becomes spaces: every other place in the file keeps its line
// and column. A file in JSON that has such a block is an error.
func WithoutBackend(source []byte, name string) ([]byte, error) {
	if strings.HasSuffix(name, ".json") {
		return source, jsonWithoutBackend(source, name)
	}
	f, diags := hclsyntax.ParseConfig(source, name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, fmt.Errorf("%s: %w", name, diags)
	}
	body, ok := f.Body.(*hclsyntax.Body)
	if !ok {
		return source, nil
	}
	out := []byte(string(source))
	for _, b := range body.Blocks {
		if b.Type != "terraform" {
			continue
		}
		for _, inner := range b.Body.Blocks {
			if inner.Type != "backend" && inner.Type != "cloud" {
				continue
			}
			for i := inner.TypeRange.Start.Byte; i < inner.CloseBraceRange.End.Byte; i++ {
				if out[i] != '\n' && out[i] != '\r' {
					out[i] = ' '
				}
			}
		}
	}
	return out, nil
}

func jsonWithoutBackend(source []byte, name string) error {
	f, diags := hcljson.Parse(source, name)
	if diags.HasErrors() {
		return fmt.Errorf("%s: %w", name, diags)
	}
	content, _, _ := f.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "terraform"}}})
	for _, b := range content.Blocks {
		inner, _, _ := b.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
			{Type: "backend", LabelNames: []string{"type"}}, {Type: "cloud"},
		}})
		if len(inner.Blocks) > 0 {
			return fmt.Errorf("%s configures where state is kept, in JSON syntax; write that block in a .tf file", name)
		}
	}
	return nil
}
