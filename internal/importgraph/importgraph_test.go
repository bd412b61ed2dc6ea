package importgraph_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/importgraph"
)

// Each system has files of its own, so each has arrows of its own. The last is
// what the guest programs are built for.
var targets = []importgraph.Target{
	{OS: "linux", Arch: "amd64"},
	{OS: "darwin", Arch: "arm64"},
	{OS: "windows", Arch: "amd64"},
	{OS: "wasip1", Arch: "wasm"},
}

func TestEveryImportFollowsAnArrow(t *testing.T) {
	t.Parallel()
	for _, target := range targets {
		t.Run(target.OS, func(t *testing.T) {
			t.Parallel()
			g := load(t, target)
			if len(g.Own()) < 3 {
				t.Fatalf("only %v were listed: the test looks at the wrong folder", g.Own())
			}
			for _, v := range g.CheckArrows(importgraph.Arrows()) {
				t.Errorf("%s", v)
			}
			for _, v := range g.CheckBans(importgraph.Bans()) {
				t.Errorf("%s", v)
			}
		})
	}
}

func TestArrowsOnlyPointAtTreesThatHaveOne(t *testing.T) {
	t.Parallel()
	arrows := importgraph.Arrows()
	trees := make([]string, 0, len(arrows))
	for _, a := range arrows {
		if slices.Contains(trees, a.Tree) {
			t.Errorf("%s has two arrows", a.Tree)
		}
		trees = append(trees, a.Tree)
	}
	for _, a := range arrows {
		for _, to := range a.Own {
			if !slices.Contains(trees, to) {
				t.Errorf("%s may import %s, which has no arrow", a.Tree, to)
			}
		}
	}
}

// The rules are tried on imports that must be refused, each with a neighbour
// that must not.
func TestBrokenArrowsAreNamed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		from, refused, allowed string
	}{
		"vocabulary takes no library":        {"sandbox", "golang.org/x/net/idna", "strings"},
		"vocabulary knows nobody":            {"sandbox", "m/sandbox/egress", "errors"},
		"egress takes one library":           {"sandbox/egress", "golang.org/x/text/unicode/norm", "golang.org/x/net/idna"},
		"decision reads no file":             {"internal/policy", "os", "net/netip"},
		"decision logs nothing":              {"internal/policy", "log/slog", "fmt"},
		"decision knows no document":         {"internal/policy", "m/sandbox/manifest", "m/sandbox/egress"},
		"decision knows no Terraform":        {"internal/policy", "github.com/hashicorp/terraform-plugin-framework/types", "m/sandbox"},
		"router knows no backend":            {"sandbox/router", "m/sandbox/backend", "m/internal/policy"},
		"router knows no engine":             {"sandbox/router", "m/sandbox/engine", "m/sandbox/manifest"},
		"backend knows no router":            {"sandbox/backend", "m/sandbox/router", "m/sandbox/engine"},
		"kind knows no backend":              {"sandbox/kind/codeact", "m/sandbox/backend/wasm", "m/sandbox/tool"},
		"one backend, one runtime":           {"sandbox/backend/process", "github.com/tetratelabs/wazero", "golang.org/x/sys/unix"},
		"one backend, one guest":             {"sandbox/backend/docker", "m/internal/backend/wasmguest", "m/internal/backend/guestagent"},
		"emulator takes engines by contract": {"internal/backend/acasemu", "m/sandbox/backend", "m/sandbox/engine"},
		"flawed proxies are for tests":       {"sandbox/backend/process", "m/internal/backend/egressproxy/egressflaws", "m/internal/backend/egressproxy"},
		"nobody alters a proxy":              {"sandbox/backend/process", "m/internal/backend/egressproxy/parts", "m/internal/backend/egressproxy"},
		"a proxy has no flaws":               {"internal/backend/egressproxy", "m/internal/backend/egressproxy/egressflaws", "m/internal/backend/egressproxy/parts"},
		"facts are data":                     {"internal/backend/facts", "m/sandbox/backend/wasm", "m/sandbox"},
		"provider runs no guest":             {"internal/provider", "m/sandbox/backend/wasm", "m/internal/backend/facts"},
		"command line is no plugin":          {"cmd/sandboxctl", "m/internal/provider", "m/sandbox/router"},
		"Terraform stays in its place":       {"sandbox/manifest", "github.com/hashicorp/terraform-plugin-go/tfprotov6", "github.com/go-json-experiment/json"},
		"testing is for tests":               {"sandbox/backend", "testing/fstest", "io/fs"},
		"a like name is not the library":     {"sandbox/egress", "golang.org/x/net/idnaplus", "golang.org/x/net/idna"},
		"a new tree has no place yet":        {"sandbox", "m/internal/utils", "errors"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := graphOf(map[string][]string{tc.from: {tc.refused}}).CheckArrows(importgraph.Arrows())
			want := []string{"m/" + tc.from, tc.refused}
			if !slices.ContainsFunc(broken, func(v importgraph.Violation) bool { return slices.Equal(v.Chain, want) }) {
				t.Errorf("%s imported %s, and that passed: %v", tc.from, tc.refused, broken)
			}
			if broken := graphOf(map[string][]string{tc.from: {tc.allowed}}).CheckArrows(importgraph.Arrows()); len(broken) != 0 {
				t.Errorf("%s may import %s: %v", tc.from, tc.allowed, broken)
			}
		})
	}
}

func TestWhatIsLinkedIsFollowedThroughOthers(t *testing.T) {
	t.Parallel()
	g := graphOf(map[string][]string{
		"":                           {"m/internal/provider"},
		"internal/provider":          {"m/internal/backend/acasemu"},
		"internal/backend/acasemu":   {"m/internal/backend/wasmguest"},
		"internal/backend/wasmguest": {"github.com/tetratelabs/wazero"},
	})
	broken := g.CheckBans(importgraph.Bans())
	if len(broken) != 1 {
		t.Fatalf("want the one chain from the provider to the guest, got %v", broken)
	}
	want := `Guests and agents are never linked into the provider; what it knows of a backend is data.
    m
    -> m/internal/provider
    -> m/internal/backend/acasemu
    -> m/internal/backend/wasmguest`
	if got := broken[0].String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNothingThatIsBuiltLinksAFlawedProxy(t *testing.T) {
	t.Parallel()
	g := graphOf(map[string][]string{
		"cmd/sandboxctl":                           {"m/internal/backend/egressproxy", "m/internal/conformance"},
		"internal/conformance":                     {"m/internal/backend/egressproxy/egressflaws"},
		"internal/backend/egressproxy":             nil,
		"internal/backend/egressproxy/egressflaws": nil,
	})
	var from []string
	for _, v := range g.CheckBans(importgraph.Bans()) {
		if strings.Contains(v.Rule, "something wrong with it") {
			from = append(from, v.Chain[0])
		}
	}
	slices.Sort(from)
	if want := []string{"m/cmd/sandboxctl", "m/internal/conformance"}; !slices.Equal(from, want) {
		t.Errorf("flawed proxies were found in %v, want %v", from, want)
	}
}

func TestPureDecisionMayReachOnlyNamesAndText(t *testing.T) {
	t.Parallel()
	with := func(library string) []importgraph.Violation {
		return graphOf(map[string][]string{
			"internal/policy": {"m/sandbox/egress"},
			"sandbox/egress":  {library},
		}).CheckBans(importgraph.Bans())
	}
	if broken := with("golang.org/x/text/unicode/bidi"); len(broken) != 0 {
		t.Errorf("names need text tables: %v", broken)
	}
	if broken := with("example.org/telemetry"); len(broken) != 1 {
		t.Errorf("telemetry below the decision passed: %v", broken)
	}
}

func TestTestsMayUseTestLibrariesAndBuiltCodeMayNot(t *testing.T) {
	t.Parallel()
	g := graphOf(map[string][]string{"sandbox": nil})
	g.Packages["m/sandbox"].XTestImports = []string{"pgregory.net/rapid", "m/sandbox/router"}
	if broken := g.CheckArrows(importgraph.Arrows()); len(broken) != 0 {
		t.Errorf("tests were held to the arrows of built code: %v", broken)
	}
	g.Packages["m/sandbox"].XTestImports = []string{"m/internal/provider", "example.org/mocks"}
	if broken := g.CheckArrows(importgraph.Arrows()); len(broken) != 2 {
		t.Errorf("want the provider and the unknown library refused, got %v", broken)
	}
	g = graphOf(map[string][]string{"sandbox": {"pgregory.net/rapid"}})
	if broken := g.CheckArrows(importgraph.Arrows()); len(broken) != 1 {
		t.Errorf("a test library was linked: %v", broken)
	}
}

func load(t *testing.T, target importgraph.Target) *importgraph.Graph {
	t.Helper()
	touchModule(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	g, err := importgraph.Load(ctx, "../..", target)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// graphOf is a module "m" with these imports, by tree. Whatever is imported is
// in the graph too; a first element without a dot is the standard library.
func graphOf(imports map[string][]string) *importgraph.Graph {
	g := &importgraph.Graph{Module: "m", Packages: map[string]*importgraph.Package{}}
	for tree, to := range imports {
		path := strings.TrimSuffix("m/"+tree, "/")
		g.Packages[path] = &importgraph.Package{ImportPath: path, Imports: to}
	}
	return g
}

// touchModule looks at every folder of the module from this process: go test
// cannot see what the go command below it reads, and would repeat a cached
// answer after an import was added elsewhere.
func touchModule(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if name := d.Name(); err == nil && d.IsDir() && len(name) > 2 && (name[0] == '.' || name == "bin" || name == "dist") {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
