package backend_test

import (
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func TestDeclarationsMustBeBorneOutByTheEngine(t *testing.T) {
	t.Parallel()
	with := func(more ...sandbox.Capability) func(*sandbox.Declarations) {
		return func(d *sandbox.Declarations) {
			set := d.Capabilities.Union(sandbox.SetOf(more...))
			d.Capabilities = &set
		}
	}
	for name, test := range map[string]struct {
		change func(*sandbox.Declarations)
		path   string
	}{
		"exec that the engine cannot":      {with(sandbox.CapabilityExec), "capabilities"},
		"snapshot that nobody can":         {with(sandbox.CapabilitySnapshot), "capabilities"},
		"capabilities left to the default": {func(d *sandbox.Declarations) { d.Capabilities = nil }, "capabilities"},
		"run_code hidden": {func(d *sandbox.Declarations) {
			set := d.Capabilities.Minus(sandbox.SetOf(sandbox.CapabilityRunCode))
			d.Capabilities = &set
		}, "capabilities"},
		"files as root over a guest's plane": {func(d *sandbox.Declarations) { d.WriteAuthority = sandbox.WriteAuthorityRoot }, "write_authority"},
		"no rung":                            {func(d *sandbox.Declarations) { d.Isolation = 0 }, "isolation"},
		"a rung outside the ladder":          {func(d *sandbox.Declarations) { d.Isolation = 99 }, "isolation"},
		"no evidence":                        {func(d *sandbox.Declarations) { d.IsolationEvidence = sandbox.Evidence{} }, "isolation_evidence"},
		"no name":                            {func(d *sandbox.Declarations) { d.Backend = "" }, "backend"},
		"a name that breaks lines":           {func(d *sandbox.Declarations) { d.Backend = "a\nb" }, "backend"},
		"a guarantee without evidence": {func(d *sandbox.Declarations) {
			d.Guarantees = map[sandbox.Guarantee]sandbox.Evidence{sandbox.GuaranteeUDPDenied: {}}
		}, `guarantees["udp_denied"]`},
		"an identity without its capability": {func(d *sandbox.Declarations) {
			d.AttachedIdentity.Scope = sandbox.IdentityScopeShared
		}, "attached_identity"},
		"a capability without its identity": {with(sandbox.CapabilityAttachedIdentity), "attached_identity"},
		"negative limits": {func(d *sandbox.Declarations) {
			d.FilesOut = &sandbox.TransferLimits{MaxFiles: -1}
		}, "files_out_limits"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := sandboxtest.NewEngine(sandboxtest.Options{RunCode: sandboxtest.Script})
			d := sandboxtest.Declarations(e)
			if _, err := backend.New(e, d); err != nil {
				t.Fatalf("the neighbour that is allowed: %v", err)
			}
			test.change(&d)
			_, err := backend.New(e, d)
			wantCode(t, err, sandbox.CodeBackendNotPermitted)
			if got := sandbox.RefusalOf(err).Path.String(); got != test.path {
				t.Errorf("refused at %q, want %q", got, test.path)
			}
		})
	}
}

func TestEveryDisagreementIsListed(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	d := sandboxtest.Declarations(e)
	all := sandbox.SetOf(sandbox.CapabilityExec, sandbox.CapabilityRunCode, sandbox.CapabilityFilesIn)
	d.Capabilities, d.Isolation, d.WriteAuthority = &all, 0, sandbox.WriteAuthorityRoot
	_, err := backend.New(e, d)
	if got := len(sandbox.RefusalsOf(err)); got != 4 {
		t.Errorf("%d refusals, want isolation, exec, run_code and write_authority: %v", got, err)
	}
}

func TestSettingsThatCannotHoldAreRefused(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{})
	for name, option := range map[string]backend.Option{
		"no output":       backend.WithOutputLimit(0),
		"no listing":      backend.WithListLimit(-1),
		"no time":         backend.WithCleanupTimeout(-time.Second),
		"a guessable key": backend.WithLabelKey([]byte("short")),
	} {
		_, err := backend.New(e, sandboxtest.Declarations(e), option)
		if err == nil {
			t.Errorf("%s was let through", name)
		}
	}
	_, err := backend.New(nil, sandbox.Declarations{})
	wantCode(t, err, sandbox.CodeBackendNotPermitted)
	_, err = backend.New(e, sandboxtest.Declarations(e), backend.WithLabelKey(make([]byte, 16)))
	must(t, err)
}

// Over an engine that follows links as root nothing holds a path between the look
// and the removal; one that can freeze its guests is the neighbour.
func TestReclaimAndConfinedRootNeedAnEngineThatHoldsThePath(t *testing.T) {
	t.Parallel()
	root := []engine.Access{{As: sandbox.PrincipalRoot, Links: engine.Follow}}
	for name, test := range map[string]struct {
		change func(*sandbox.Declarations)
		path   string
	}{
		"reclaim": {func(d *sandbox.Declarations) {
			set := d.Capabilities.With(sandbox.CapabilityReclaim)
			d.Capabilities = &set
		}, "capabilities"},
		"confined root": {func(d *sandbox.Declarations) {
			d.WriteAuthority = sandbox.WriteAuthorityRootConfined
		}, "write_authority"},
	} {
		plain := sandboxtest.NewEngine(sandboxtest.Options{Access: root})
		d := sandboxtest.Declarations(plain)
		_, err := backend.New(plain, d)
		must(t, err)
		test.change(&d)
		_, err = backend.New(plain, d)
		wantCode(t, err, sandbox.CodeBackendNotPermitted)
		if got := sandbox.RefusalOf(err).Path.String(); got != test.path {
			t.Errorf("%s refused at %q, want %q", name, got, test.path)
		}
		freezing := sandboxtest.NewEngine(sandboxtest.Options{Access: root, Freeze: true})
		d = sandboxtest.Declarations(freezing)
		test.change(&d)
		if _, err := backend.New(freezing, d); err != nil {
			t.Errorf("%s over an engine that freezes: %v", name, err)
		}
	}
}
