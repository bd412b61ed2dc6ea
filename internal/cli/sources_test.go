package cli_test

import (
	"strconv"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hclsource"
)

func quote(text string) string { return strconv.Quote(text) }

// unknownNames are the names that sources refuse.
func unknownNames(t *testing.T, root string) []string {
	t.Helper()
	config, err := hclsource.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range config.Dropped() {
		last := d.Finding.Path[len(d.Finding.Path)-1]
		name, _ := last.Attr()
		names = append(names, name)
	}
	return names
}
