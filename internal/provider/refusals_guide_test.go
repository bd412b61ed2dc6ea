package provider

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// refusalsGuide is the page of recorded refusals. Each configuration on it says
// whether it is refused or allowed; what is printed of a refused one follows it.
var (
	refusalsGuide = filepath.Join("..", "..", "templates", "guides", "refusals.md")
	guideSession  = regexp.MustCompile("(?s)```terraform (refused|allowed)\n(.*?)```\n(?:\n```text\n(.*?)```\n)?")
)

// With -update the page is written; `make docs` then brings it into docs.
func TestAccRecordedRefusalsAreWhatTerraformPrints(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(refusalsGuide)
	if err != nil {
		t.Fatal(err)
	}
	sessions := guideSession.FindAllStringSubmatchIndex(string(page), -1)
	if len(sessions) != 6 {
		t.Fatalf("the page has %d configurations, want three that are refused and their neighbours", len(sessions))
	}
	var written strings.Builder
	end := 0
	for _, at := range sessions {
		kind, config := string(page[at[2]:at[3]]), string(page[at[4]:at[5]])
		c := newCLI(t, offline(), map[string]string{"main.tf": config})
		if out, code := c.run(t, "fmt", "-check", "-diff"); code != 0 {
			t.Errorf("not formatted:\n%s", out)
		}
		out, code := c.plan(t)
		if kind == "allowed" {
			if code != 2 {
				t.Errorf("exit %d of what is said to pass\n%s", code, out)
			}
			continue
		}
		_, after, found := strings.Cut(out, "Error: ")
		if code != 1 || !found || at[6] < 0 {
			t.Fatalf("exit %d of what is said to be refused, with its recording: %v\n%s", code, at[6] >= 0, out)
		}
		printed := "Error: " + strings.TrimSpace(after) + "\n"
		if recorded := string(page[at[6]:at[7]]); recorded != printed {
			if !*update {
				t.Errorf("the page has\n%s\nand Terraform prints\n%s\ngo test -run %s -update writes it", recorded, printed, t.Name())
			}
			written.Write(page[end:at[6]])
			written.WriteString(printed)
			end = at[7]
		}
	}
	if *update && end > 0 {
		written.Write(page[end:])
		if err := os.WriteFile(refusalsGuide, []byte(written.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
