package importgraph

// Arrow says what one tree of packages may import. A package belongs to the
// arrow with the longest tree that contains it, and may import within that tree.
type Arrow struct {
	// Tree is a folder below the module's root; "." is the root package alone.
	Tree string
	// Own are the other trees of this module that may be imported: naming
	// "sandbox" admits the vocabulary, not sandbox/router, which has an arrow of
	// its own.
	Own []string
	// Libraries are the import paths outside this module and the standard
	// library that may be imported, each with what lies below it.
	Libraries []string
	// TestLibraries are those that only the tree's tests may import, beside the
	// TestLibraries of all.
	TestLibraries []string
	// Std narrows the standard packages that may be imported; nil is all.
	Std []string
	// Testing lets what is built import package testing, for trees that are
	// there for other packages' tests.
	Testing bool
}

// Ban says what packages never reach, through however many others: it is about
// what gets linked, where an arrow is about who knows whom. Patterns are those
// of the go command below the module's root: ".", "sandbox", "sandbox/...".
type Ban struct {
	Why    string
	From   []string
	Except []string // patterns taken out of From

	Never          []string // patterns of this module's packages
	NeverLibraries []string // import paths, each with what lies below it

	// OnlyOwn and OnlyLibraries, where one is not nil, name all that may be
	// reached outside the standard library.
	OnlyOwn       []string
	OnlyLibraries []string
}

// Arrows is the module's layout. A package without an arrow fails the test: a
// new tree is given its place here before it is written.
func Arrows() []Arrow {
	vocabulary := []string{"sandbox", "sandbox/egress", "sandbox/guestpath"}
	decision := join(vocabulary, []string{"internal/policy"})
	host := join(decision, []string{"sandbox/manifest", "sandbox/router", "sandbox/output", "sandbox/hosttool"})
	layers := join(vocabulary, []string{"sandbox/engine", "sandbox/backend", "internal/backend", "internal/backend/facts"})
	backends := []string{"sandbox/backend/wasm", "sandbox/backend/process", "sandbox/backend/docker", "sandbox/backend/acas"}

	return []Arrow{
		// The binaries.
		{Tree: ".", Own: []string{"internal/provider"}, Libraries: terraformSDK},
		{
			Tree: "cmd/sandboxctl",
			Own: join(host, layers, backends, []string{
				"sandbox/tool", "sandbox/kind", "sandbox/sandboxtest", "internal/conformance", "internal/backend/acasemu", "internal/backend/acasguests",
				"internal/backend/wasmguest", "internal/cli",
			}),
			Libraries: join(commands, terraformSource, terminals),
		},

		// The command line. What reads other people's text knows no backend; what
		// operates a group on Azure knows the client of the service.
		{
			Tree: "internal/cli",
			Own: join(host, []string{
				"internal/backend/facts", "internal/backend/acasapi", "internal/backend/acasegress", "internal/backend/acasemu", "internal/backend/acasemu/listener",
				"internal/plaintext", "internal/show",
				"internal/planjson", "internal/hclsource", "internal/tfplan", "internal/translate", "internal/adopt", "internal/explain", "internal/learn",
				"internal/conformance", "sandbox/egress/eventlog",
			}),
			Libraries: join(commands, documents, findings),
		},
		{Tree: "internal/plaintext"},
		{Tree: "internal/show", Own: join(decision, []string{"sandbox/manifest", "internal/plaintext"})},
		{
			Tree: "internal/explain", Own: join(decision, []string{"sandbox/manifest", "internal/plaintext", "internal/show"}),
			TestLibraries: terraformSource,
		},
		{
			Tree: "internal/learn",
			Own: join(decision, []string{
				"sandbox/egress/eventlog", "sandbox/manifest", "internal/plaintext", "internal/show", "internal/explain",
			}),
			Libraries: join(hostNames, nameSuffixes, terraformSource),
		},
		{Tree: "internal/planjson", Own: []string{"sandbox"}, Libraries: documents},
		{Tree: "internal/hclsource", Own: []string{"sandbox", "internal/backend/facts"}, Libraries: terraformSource},
		{Tree: "internal/hcltext", Own: []string{"internal/plaintext"}, Libraries: terraformSource},
		{
			// What exists already, as configuration.
			Tree: "internal/adopt",
			Own: join(vocabulary, []string{
				"internal/backend/acasapi", "internal/backend/acasegress", "internal/hcltext", "internal/translate",
			}),
			Libraries: terraformSource,
		},
		{Tree: "internal/translate", Own: join(decision, []string{"internal/hcltext"}), Libraries: join(terraformSource, otherTools)},
		{Tree: "internal/tfplan", Own: []string{"sandbox", "internal/planjson", "internal/hclsource"}},

		// The vocabulary, the documents and the decision.
		{Tree: "sandbox"},
		{Tree: "sandbox/egress", Own: []string{"sandbox"}, Libraries: hostNames},
		{Tree: "sandbox/egress/eventlog", Own: []string{"sandbox", "sandbox/egress"}, Libraries: documents},
		{Tree: "sandbox/guestpath", Own: []string{"sandbox"}, Libraries: textForms},
		{Tree: "sandbox/manifest", Own: decision, Libraries: documents},
		{Tree: "internal/policy", Own: vocabulary, Std: pure},

		// What a host runs.
		{Tree: "internal/filelock", Libraries: fileLocks},
		{Tree: "sandbox/router", Own: join(decision, []string{"sandbox/manifest"}), Libraries: waiting},
		{Tree: "sandbox/output", Own: []string{"sandbox", "sandbox/guestpath", "internal/filelock"}, Libraries: textForms},
		{Tree: "sandbox/output/objectsink", Own: []string{"sandbox", "sandbox/guestpath", "sandbox/output"}},
		{Tree: "sandbox/output/azblobsink", Own: []string{"sandbox", "sandbox/output", "sandbox/output/objectsink"}, Libraries: azure},
		{Tree: "sandbox/hosttool", Own: []string{"sandbox", "sandbox/guestpath"}, Libraries: waiting},
		{Tree: "sandbox/tool", Own: host, Libraries: toolCalls},
		{Tree: "sandbox/kind", Own: join(host, []string{"sandbox/tool"})},

		// What a backend is made of. Each names only its own internals.
		{Tree: "sandbox/engine", Own: []string{"sandbox"}},
		{Tree: "sandbox/backend", Own: []string{"sandbox", "sandbox/engine", "sandbox/guestpath"}, Libraries: waiting},
		{Tree: "sandbox/backend/wasm", Own: join(layers, []string{"internal/backend/wasmguest"}), Libraries: join(wasm, waiting)},
		{
			Tree: "sandbox/backend/process",
			Own: join(layers, []string{
				"internal/backend/guestagent", "internal/backend/processguest", "internal/backend/processguest/guestroot",
				"internal/backend/egressproxy", "internal/backend/egressproxy/egressworld",
			}),
			Libraries: join(kernel, waiting), TestLibraries: join(containers, trustStores),
		},
		{Tree: "sandbox/backend/docker", Own: join(layers, []string{"internal/backend/guestagent"}), Libraries: join(docker, waiting)},
		{Tree: "sandbox/backend/acas", Own: join(layers, []string{"internal/backend/acasapi", "internal/backend/acasegress"}), Libraries: join(azure, waiting)},
		{
			Tree:      "internal/backend",
			Own:       join(vocabulary, []string{"sandbox/engine", "internal/backend/facts"}),
			Libraries: join(kernel, hostNames, waiting),
		},
		{Tree: "internal/backend/egressproxy/leafca"},      // what a listener's certificate comes from
		{Tree: "internal/backend/egressproxy/egressworld"}, // for tests, and for attacks on backends
		{
			Tree:      "internal/backend/egressproxy",
			Own:       join(vocabulary, []string{"internal/backend/egressproxy/egressworld", "internal/backend/egressproxy/parts", "internal/backend/egressproxy/leafca"}),
			Libraries: join(nameServers, trustStores, waiting), TestLibraries: []string{"golang.org/x/net/http2", "golang.org/x/net/http2/hpack"},
		},
		// What a proxy is put together from, and how tests put one together wrongly.
		{Tree: "internal/backend/egressproxy/parts", Own: join(vocabulary, []string{"internal/backend/egressproxy", "internal/backend/egressproxy/leafca"})},
		{Tree: "internal/backend/egressproxy/egressflaws", Own: join(vocabulary, []string{"internal/backend/egressproxy", "internal/backend/egressproxy/parts", "internal/backend/egressproxy/leafca"})},
		{Tree: "internal/backend/processguest", Own: []string{"sandbox"}, Libraries: join(kernel, containers)},
		{Tree: "internal/backend/processguest/guestroot", Libraries: []string{"github.com/moby/sys/user"}},
		{Tree: "internal/backend/facts", Own: []string{"sandbox"}},
		{Tree: "internal/backend/prebuilt", Own: []string{"sandbox", "internal/backend/facts"}},
		{
			Tree: "internal/backend/guestagent", Own: []string{
				"sandbox", "sandbox/engine", "internal/backend/guestagent/wire", "internal/backend/guestagent/flow",
			},
			Libraries: []string{"golang.org/x/sys/unix", "github.com/klauspost/compress/zstd"},
		},
		// What is inside the guest is small, and links none of the host.
		{Tree: "internal/backend/guestagent/wire"},
		{Tree: "internal/backend/guestagent/flow"},
		{Tree: "internal/backend/guestagent/serve", Own: []string{"internal/backend/guestagent/wire", "internal/backend/guestagent/flow"}},
		{
			Tree: "internal/backend/guestagent/agent", Own: []string{"internal/backend/guestagent/wire", "internal/backend/guestagent/serve"},
			Libraries: []string{"golang.org/x/sys/unix"},
		},
		{Tree: "internal/backend/guestagent/program", Own: []string{"internal/backend/guestagent/agent"}},
		{Tree: "internal/backend/wasmguest", Own: []string{"sandbox"}, Libraries: join(wasm, wasmGuest)},
		{Tree: "internal/backend/acasapi", Own: vocabulary, Libraries: join(azure, documents, waiting)},
		{Tree: "internal/backend/acasegress", Own: join(vocabulary, []string{"internal/backend/acasapi", "internal/backend/facts"}), TestLibraries: documents},
		{
			Tree: "internal/backend/acasguests",
			Own: join(vocabulary, []string{
				"sandbox/engine", "sandbox/backend/process", "internal/backend/acasemu", "internal/backend/acasapi", "internal/backend/egressproxy",
			}),
			Libraries: join(documents, images),
		},
		{
			Tree:      "internal/backend/acasemu",
			Own:       join(vocabulary, []string{"sandbox/engine", "internal/backend/acasapi", "internal/backend/prebuilt"}),
			Libraries: join(azure, stateFile, documents, waiting),
		},
		{Tree: "internal/backend/acasemu/listener", Own: []string{"internal/backend/acasemu", "internal/backend/acasemu/authority"}},
		{Tree: "internal/backend/acasemu/authority", Own: []string{"internal/backend/egressproxy/leafca"}},
		{Tree: "internal/backend/acasemu/broken", Own: []string{"internal/backend/acasemu/authority"}}, // a command for tests

		// What tests, measures, installs and documents it.
		{
			Tree: "sandbox/sandboxtest",
			Own: join(vocabulary, []string{
				"sandbox/engine", "sandbox/backend", "sandbox/manifest", "sandbox/router", "sandbox/output",
				"internal/conformance", "internal/backend/acasapi", "internal/backend/acasemu", "internal/backend/acasemu/listener",
			}),
			Libraries: azure, Testing: true,
		},
		{
			Tree: "internal/conformance",
			Own:  join(host, []string{"sandbox/engine", "sandbox/backend", "internal/backend/facts", "internal/backend/egressproxy/egressworld", "internal/conformance/prober"}),
			Libraries: join(nameServers, []string{
				"golang.org/x/net/http2", // what clients say and servers answer, as frames
				"golang.org/x/sys/unix",
			}),
			Testing: true,
		},
		{Tree: "internal/conformance/prober", Libraries: []string{"github.com/klauspost/compress/zstd", "golang.org/x/sys"}},
		{Tree: "internal/conformance/hostengine", Own: []string{"sandbox", "sandbox/engine"}, Libraries: []string{"golang.org/x/sys"}},
		{
			// What keeps the suites honest: tests alone.
			Tree: "internal/conformance/mutants",
			Own: join(layers, []string{
				"internal/conformance", "internal/conformance/prober", "internal/conformance/hostengine", "internal/backend/egressproxy", "internal/backend/egressproxy/egressworld", "sandbox/sandboxtest", "sandbox/backend/wasm", "sandbox/backend/process",
			}),
			TestLibraries: []string{"golang.org/x/sys"},
		},
		{
			// A world, data, and the test that runs them.
			Tree: "internal/conformance/clients",
			Own:  []string{"sandbox", "sandbox/engine", "sandbox/backend/process", "internal/backend/egressproxy", "internal/backend/egressproxy/egressworld"},
		},
		{Tree: "internal/golden", Testing: true},
		{Tree: "internal/importgraph"},
		{Tree: "internal/localmirror"},
		{Tree: "internal/docsgen", Own: []string{"sandbox", "internal/policy"}},
		{
			Tree:          "internal/startup",
			TestLibraries: []string{"github.com/hashicorp/go-plugin", "github.com/hashicorp/go-hclog", "google.golang.org/grpc"},
		},
		{Tree: "internal/startup/bare", Libraries: terraformSDK}, // the provider that ours is measured beside
		{
			Tree: "internal/planbench", Own: []string{"internal/provider", "internal/terraformtest", "internal/backend/acasemu", "internal/backend/acasemu/listener"},
			TestLibraries: join(terraformSDK, []string{"github.com/hashicorp/go-plugin", "github.com/hashicorp/go-hclog"}),
		},
		{Tree: "internal/planbench/bare", Own: []string{"internal/provider"}, Libraries: terraformSDK},

		{Tree: "internal/terraformtest", Libraries: terraformSDK, Testing: true},
		{
			Tree: "internal/killapply", Own: []string{"internal/terraformtest", "internal/backend/acasapi", "internal/backend/acasemu"},
		},

		// Registries of images, for plans.
		{Tree: "internal/imageregistry", Own: vocabulary, Libraries: images},

		// Terraform.
		{Tree: "internal/unfinished", Own: []string{"internal/filelock"}},
		{
			Tree: "internal/provider",
			Own: join(decision, []string{
				"sandbox/manifest", "internal/backend/acasapi", "internal/backend/acasegress", "internal/backend/acasemu", "internal/backend/facts",
				"internal/backend/prebuilt", "internal/imageregistry", "internal/unfinished",
			}),
			Libraries: join(terraformSDK, terraformSource, azure, images, waiting),
			TestLibraries: []string{
				"github.com/hashicorp/terraform-plugin-testing",
				// What serving a provider to a command line in the test's own process takes.
				"github.com/hashicorp/go-plugin", "github.com/hashicorp/go-hclog",
			},
		},

		// Programs that readers copy. They see what a host sees.
		{
			Tree: "examples",
			Own: join(backends, []string{
				"sandbox", "sandbox/manifest", "sandbox/router", "sandbox/output", "sandbox/hosttool", "sandbox/tool", "sandbox/kind",
				"sandbox/sandboxtest",
			}),
			Libraries: azure, // to sign in
		},
	}
}

// Bans is what the binaries and the layers never link.
func Bans() []Ban {
	return []Ban{
		{
			Why:  "the vocabulary is for everybody, so it needs the standard library and nothing else",
			From: []string{"sandbox"}, OnlyOwn: []string{},
		},
		{
			Why:  "plan, router and command line get the same answer from the same bytes, so the decision is pure",
			From: []string{"internal/policy/..."}, OnlyOwn: []string{"sandbox", "sandbox/egress/...", "sandbox/guestpath/...", "internal/policy/..."},
			OnlyLibraries: []string{"golang.org/x/net/idna", "golang.org/x/text"},
		},
		{
			Why:  "guests and agents are never linked into the provider; what it knows of a backend is data",
			From: []string{"."},
			Never: []string{
				"sandbox/backend/...", "sandbox/router/...", "sandbox/sandboxtest/...", "internal/conformance/...",
				"internal/backend/wasmguest/...", "internal/backend/guestagent/...",
			},
			NeverLibraries: join(wasm, wasmInterpreter, dockerEngine, kernelFilters, commands),
		},
		{
			Why:   "the embedded service answers within the provider's process, which links no server; it is a megabyte to download",
			From:  []string{"."},
			Never: []string{"internal/backend/acasemu/listener/..."}, NeverLibraries: []string{"net/http/httptest", "net/http/pprof"},
		},
		{
			Why:  "a host does not link package testing and its flags",
			From: []string{"sandbox/..."}, Except: []string{"sandbox/sandboxtest/..."},
			NeverLibraries: []string{"testing"},
		},
		{
			Why:   "neither a host nor the command line is a Terraform plugin",
			From:  []string{"sandbox/...", "cmd/...", "internal/cli/..."},
			Never: []string{"internal/provider/..."}, NeverLibraries: terraformSDK,
		},
		{
			Why:   "the router states the interface it calls; whoever opens it brings the backends",
			From:  []string{"sandbox/router/..."},
			Never: []string{"sandbox/backend/...", "internal/backend/..."},
		},
		{
			Why:  "a host that lands outputs elsewhere links no cloud's library",
			From: []string{"sandbox/output/..."}, Except: []string{"sandbox/output/azblobsink/..."},
			NeverLibraries: azure,
		},
		{
			Why:   "a kind is written against a session and runs on any backend",
			From:  []string{"sandbox/kind/..."},
			Never: []string{"sandbox/backend/...", "internal/backend/..."},
		},
		{
			Why:   "an engine that holds nothing is for the tests of the suites alone",
			From:  []string{".", "cmd/...", "sandbox/...", "internal/cli/..."},
			Never: []string{"internal/conformance/hostengine/...", "internal/conformance/clients/..."},
		},
		{
			Why:  "a proxy with something wrong with it is for tests alone",
			From: []string{".", "cmd/...", "sandbox/...", "internal/...", "examples/..."}, Except: []string{"internal/backend/egressproxy/egressflaws/..."},
			Never: []string{"internal/backend/egressproxy/egressflaws/..."},
		},
		{
			Why:   "a backend is used and tested without a router",
			From:  []string{"sandbox/backend/...", "internal/backend/..."},
			Never: []string{"sandbox/router/..."},
		},
	}
}

// The libraries by what they are for, so that an arrow says why it has one.
var (
	terraformSDK = []string{
		"github.com/hashicorp/terraform-plugin-framework",
		"github.com/hashicorp/terraform-plugin-framework-timeouts",
		"github.com/hashicorp/terraform-plugin-framework-validators",
		"github.com/hashicorp/terraform-plugin-go",
		"github.com/hashicorp/terraform-plugin-log",
		"github.com/hashicorp/terraform-registry-address",
	}
	terraformSource = []string{
		"github.com/hashicorp/hcl/v2",
		"github.com/hashicorp/terraform-json",
		"github.com/zclconf/go-cty",
	}
	azure           = []string{"github.com/Azure/azure-sdk-for-go/sdk"}
	docker          = []string{"github.com/moby/moby", "github.com/docker", "github.com/containerd/errdefs"}
	dockerEngine    = []string{"github.com/moby", "github.com/docker/docker", "github.com/docker/go-connections"} // its configuration file is not it
	images          = []string{"github.com/google/go-containerregistry"}
	wasm            = []string{"github.com/tetratelabs/wazero"}
	wasmInterpreter = []string{"github.com/dop251/goja"}
	wasmGuest       = join(wasmInterpreter, []string{"github.com/klauspost/compress/zstd"})
	kernelFilters   = []string{"github.com/elastic/go-seccomp-bpf", "github.com/landlock-lsm/go-landlock"}
	kernel          = join(kernelFilters, []string{"golang.org/x/sys", "golang.org/x/net/bpf"})
	containers      = []string{"github.com/opencontainers/runtime-spec"} // gVisor's notation
	stateFile       = []string{"go.etcd.io/bbolt"}
	toolCalls       = []string{"github.com/modelcontextprotocol/go-sdk"}
	commands        = []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}
	terminals       = []string{"github.com/mattn/go-isatty"}
	hostNames       = []string{"golang.org/x/net/idna"}
	nameSuffixes    = []string{"golang.org/x/net/publicsuffix"}
	nameServers     = []string{"golang.org/x/net/dns/dnsmessage"}
	trustStores     = []string{"software.sslmate.com/src/go-pkcs12"} // for Java
	textForms       = []string{"golang.org/x/text"}                  // normal forms and case folding
	documents       = []string{"github.com/go-json-experiment/json"}
	otherTools      = []string{"go.yaml.in/yaml/v3"}             // their rules are YAML
	findings        = []string{"github.com/owenrumney/go-sarif"} // for code hosts
	fileLocks       = []string{"golang.org/x/sys/windows"}
	waiting         = []string{"golang.org/x/sync", "golang.org/x/time/rate"}
)

// TestLibraries may be imported by the tests of any package and by nothing that
// is built.
var TestLibraries = []string{
	"pgregory.net/rapid",
	"go.uber.org/goleak",
	"go.yaml.in/yaml/v3",
	"github.com/google/go-cmp",
	"github.com/santhosh-tekuri/jsonschema",
	"github.com/cedar-policy/cedar-go",
	"github.com/open-policy-agent/opa",
}

// pure is what a package without input, output and clock needs of the standard
// library. The clock is held by the linter: package time also has durations.
var pure = []string{
	"bytes", "cmp", "container/heap", "crypto/sha256", "encoding/binary", "encoding/hex", "errors", "fmt", "hash", "iter", "maps", "math",
	"math/bits", "net/netip", "slices", "sort", "strconv", "strings", "sync", "time", "unicode", "unicode/utf8",
}

func join(lists ...[]string) []string {
	var all []string
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
