package conformance

import (
	"maps"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// open is a world in which one place is not known yet, and what is waited for
// because of it. Nothing is where the place cannot change the answer.
type open struct {
	place  []any
	change change // beside it; the place itself is left empty
	waits  []string
}

// unknownRows leave every place unknown once where it decides, and some where it
// cannot. A plan goes on past all of them.
func unknownRows() []DecisionRow {
	var rows []DecisionRow
	for _, group := range [][]open{unknownPolicy(), unknownPolicyParts(), unknownWorkload(), unknownWorkloadParts(), unknownBackend()} {
		for _, o := range group {
			step, name := then(o.change, unknown(o.place...)), sandbox.Path(o.place...).String()
			if fields := slices.Sorted(maps.Keys(changed(o.change))); len(fields) > 0 {
				name += ", beside another " + strings.Join(fields, ", ")
			}
			if len(o.waits) == 0 {
				rows = append(rows, allowedRow("unknown", name+", which changes nothing", step))
			} else {
				rows = append(rows, undecidedRow("unknown", name, step, o.waits...))
			}
		}
	}
	return rows
}

// waiting is for a value that is judged at each path.
func waiting(paths ...string) []string {
	locators := make([]string, len(paths))
	for i, path := range paths {
		locators[i] = string(sandbox.CodeUndecided) + " at " + path
	}
	return locators
}

func policyPlace(steps ...any) []any { return append([]any{atPolicy}, steps...) }

func at(steps ...any) []any { return steps }

func unknownPolicy() []open {
	plain := then()
	noFloor := func(w *World) { w.Policy.MinimumIsolation = sandbox.IsolationUnspecified }
	documented := func(w *World) { w.Backend.IsolationEvidence.Kind = sandbox.EvidenceDocumented }
	gone := func(w *World) {
		delete(w.Backend.Guarantees, sandbox.GuaranteeUDPDenied)
		w.Policy.MissingGuarantees = sandbox.MissingGuaranteesUnspecified
	}
	onlyClosed := func(w *World) { w.Backend.EgressModes = sandbox.SetOf(sandbox.EgressClosed) }
	noMode := func(w *World) { w.Policy.Egress.Mode = sandbox.EgressUnspecified }
	noHosts := func(w *World) { w.Policy.Egress.Hosts = nil }
	noRules := func(w *World) { w.Policy.Egress.Rules = nil }
	image := imaged(sandbox.Image{Reference: "registry.example.com/a:1"})
	return []open{
		{at(atPolicy), func(w *World) { w.Policy = sandbox.Policy{} }, waiting("requires", "backend", "files_in_limits", "files_out_limits", "egress_mode", "egress_hosts", "isolation_scope", "image.user")},
		{policyPlace("name"), func(w *World) { w.Policy.Name = "" }, nil},
		{policyPlace("minimum_isolation"), noFloor, waiting("backend")},
		{policyPlace("minimum_isolation"), then(noFloor, func(w *World) { w.Backend.Isolation = sandbox.IsolationVM }), nil},
		{policyPlace("minimum_evidence"), documented, waiting("backend")},
		{policyPlace("minimum_evidence"), plain, nil},
		{policyPlace("minimum_isolation_scope"), plain, waiting("isolation_scope")},
		{policyPlace("minimum_cleanup"), plain, nil},
		{policyPlace("denied_capabilities"), plain, waiting("requires")},
		{policyPlace("denied_capabilities"), then(requiringOnly(), func(w *World) { w.Workload.Egress = sandbox.Egress{} }), nil},
		{policyPlace("denied_identities"), acting(sandbox.IdentityUser), waiting("identities")},
		{policyPlace("denied_identities"), plain, nil},
		{policyPlace("maximum_identity_scope"), then(attached, func(w *World) { w.Policy.MaximumIdentityScope = 0 }), waiting("backend")},
		{policyPlace("maximum_identity_scope"), plain, nil},
		{policyPlace("egress_mode"), noMode, waiting("egress_mode")},
		{policyPlace("egress_mode"), then(noMode, func(w *World) { w.Workload.Egress = sandbox.Egress{} }), nil},
		{policyPlace("egress_hosts"), noHosts, waiting("egress_hosts[0]")},
		{policyPlace("egress_rules"), then(noRules, asking(api())), waiting(`egress_rules["ask"]`)},
		{policyPlace("egress_rules"), noRules, nil},
		{policyPlace("egress_guarantees"), func(w *World) { delete(w.Backend.Guarantees, sandbox.GuaranteePathConfined) }, waiting("egress_guarantees")},
		{policyPlace("egress_guarantees"), plain, nil},
		{policyPlace("egress_match"), onlyClosed, waiting("egress_mode")},
		{policyPlace("egress_match"), plain, nil},
		{policyPlace("missing_guarantees"), gone, waiting("egress_mode")},
		{policyPlace("missing_guarantees"), func(w *World) { w.Policy.MissingGuarantees = 0 }, nil},
		{policyPlace("never_reaches"), plain, waiting("egress_hosts")},
		{policyPlace("never_reaches"), func(w *World) { w.Workload.Egress = sandbox.Egress{} }, nil},
		{policyPlace("files_in_limits"), plain, waiting("files_in_limits")},
		{policyPlace("files_out_limits"), plain, waiting("files_out_limits")},
		{policyPlace("image_registries"), image, waiting("image.reference")},
		{policyPlace("image_registries"), plain, nil},
		{policyPlace("image_require_digest"), image, waiting("image.digest")},
		{policyPlace("image_require_digest"), imaged(sandbox.Image{Prebuilt: "python"}), nil},
		{policyPlace("image_prebuilt"), imaged(sandbox.Image{Prebuilt: "python"}), waiting("image.prebuilt")},
		{policyPlace("image_prebuilt"), image, nil},
		{policyPlace("image_user"), image, waiting("image.user")},
	}
}

func unknownPolicyParts() []open {
	otherHost := func(w *World) {
		w.Policy.Egress.Hosts = []string{"packages.example.org", ""}
		w.Workload.Egress.Hosts = []string{"packages.example.org", "new.example.org"}
	}
	rule := func(w *World) {
		w.Policy.Egress.Rules = map[string]sandbox.EgressRule{"api": {Ports: []string{"443"}, Methods: []string{"GET"}, Paths: []string{"/v1"}}}
	}
	return []open{
		{policyPlace("denied_capabilities", 1), denying(sandbox.CapabilityHostTools), waiting("requires")},
		{policyPlace("denied_identities", 0), acting(sandbox.IdentityUser), waiting("identities")},
		{policyPlace("egress_hosts", 1), otherHost, waiting("egress_hosts[1]")},
		{policyPlace("egress_hosts", 1), func(w *World) { w.Policy.Egress.Hosts[1] = "" }, nil},
		{policyPlace("egress_rules", sandbox.MapKey("api")), then(rule, asking(api())), waiting(`egress_rules["ask"]`)},
		{policyPlace("egress_rules", sandbox.MapKey("api"), "host"), then(rule, asking(api())), waiting(`egress_rules["ask"]`)},
		{policyPlace("egress_rules", sandbox.MapKey("api"), "host"), rule, nil},
		{policyPlace("egress_guarantees", 0), func(w *World) { delete(w.Backend.Guarantees, sandbox.GuaranteePathConfined) }, waiting("egress_guarantees")},
		{policyPlace("never_reaches", 0), func(w *World) { w.Policy.NeverReaches = []string{"", "*.evil.example"} }, waiting("egress_hosts")},
		{policyPlace("files_in_limits", "max_files"), func(w *World) { w.Policy.FilesIn = limitsOf(0) }, waiting("files_in_limits")},
		{policyPlace("image_registries", 0), then(imaged(sandbox.Image{Reference: "registry.example.com/a:1"}), func(w *World) {
			w.Policy.Images.Registries = []string{"", "other.example.com"}
		}), waiting("image.reference")},
		{policyPlace("image_registries", 1), then(imaged(sandbox.Image{Reference: "registry.example.com/a:1"}), func(w *World) {
			w.Policy.Images.Registries = []string{"registry.example.com", ""}
		}), nil},
		{policyPlace("egress_rules", sandbox.MapKey("api"), "ports", 0), func(w *World) {
			w.Policy.Egress.Rules["api"] = sandbox.EgressRule{Host: "api.example.com", Ports: []string{""}, Methods: []string{"*"}, Paths: []string{"*"}}
		}, nil},
	}
}

func unknownWorkload() []open {
	plain := then()
	noMode := func(w *World) { w.Workload.Egress.Mode = sandbox.EgressUnspecified }
	noHosts := func(w *World) { w.Workload.Egress.Hosts = nil }
	nothing := func(w *World) { w.Workload.Requires = nil }
	gone := func(w *World) { delete(w.Backend.Guarantees, sandbox.GuaranteePathConfined) }
	everyFamily := func(w *World) { w.Backend.OSFamilies = sandbox.SetOf(sandbox.OSFamilies()...) }
	unbound := then(attached, func(w *World) {
		w.Workload.MaximumIdentityScope, w.Workload.IdentityRetentionSeconds = 0, 0
	})
	return []open{
		{at("kind"), func(w *World) { w.Workload.Kind = "" }, nil},
		{at("minimum_isolation"), plain, waiting("backend")},
		{at("minimum_isolation"), func(w *World) { w.Backend.Isolation = sandbox.IsolationVM }, nil},
		{at("isolation_scope"), plain, waiting("isolation_scope")},
		{at("minimum_cleanup"), plain, nil},
		{at("os_family"), plain, waiting("os_family")},
		{at("os_family"), everyFamily, nil},
		{at("work_dir"), plain, nil},
		{at("labels"), plain, nil},
		{at("requires"), nothing, waiting("requires")},
		{at("requires"), then(nothing, denying(sandbox.CapabilitySnapshot)), waiting("requires", "requires")},
		{at("identities"), requiring(sandbox.CapabilityHostTools), nil},
		{at("identities"), then(requiring(sandbox.CapabilityHostTools), func(w *World) {
			w.Policy.DeniedIdentities = sandbox.SetOf(sandbox.IdentityApp)
		}), waiting("identities")},
		{at("maximum_identity_scope"), unbound, waiting("maximum_identity_scope")},
		{at("identity_retention_seconds"), unbound, waiting("maximum_identity_scope")},
		{at("egress_mode"), noMode, waiting("egress_mode", "egress_mode")},
		{at("egress_hosts"), noHosts, waiting("egress_hosts")},
		{at("egress_hosts"), then(noHosts, func(w *World) { w.Policy.Egress = unrestricted() }), nil},
		{at("egress_rules"), plain, waiting("egress_rules")},
		{at("egress_rules"), then(denying(sandbox.CapabilityEgressMethods), lacking(sandbox.CapabilityEgressMethods), gone), waiting("requires", "requires", "egress_rules", "egress_mode")},
		{at("egress_guarantees"), gone, waiting("egress_guarantees")},
		{at("egress_guarantees"), plain, nil},
		{at("files_in_limits"), plain, waiting("files_in_limits")},
		{at("files_out_limits"), plain, waiting("files_out_limits")},
		{at("outputs"), plain, nil},
		{at("program_profile"), plain, waiting("program_profile")},
		{at("image"), plain, nil},
		{at("image"), filesAsRoot, waiting("image")},
		{at("image"), func(w *World) { w.Backend.ImageSources = sandbox.SetOf(sandbox.ImageSourcePrebuilt) }, waiting("image")},
		{at("image"), func(w *World) { w.Policy.Images.RequireDigest = true }, waiting("image")},
	}
}

func unknownWorkloadParts() []open {
	rule := asking(sandbox.EgressRule{Host: "api.example.com", Ports: []string{"443"}, Paths: []string{"/v1"}})
	listed := func(w *World) { w.Policy.Images.Registries = []string{"registry.example.com"} }
	pinned := func(w *World) { w.Policy.Images.RequireDigest = true }
	nonRoot := func(w *World) { w.Policy.Images.User = sandbox.ImageUserNonRoot }
	platform := sandbox.Image{Platform: "linux/amd64"}
	reference := sandbox.Image{Reference: "registry.example.com/a:1"}
	return []open{
		{at("requires", 3), then(), waiting("requires")},
		{at("identities", 0), then(requiring(sandbox.CapabilityHostTools), func(w *World) {
			w.Policy.DeniedIdentities = sandbox.SetOf(sandbox.IdentityUser)
		}), waiting("identities")},
		{at("egress_hosts", 1), func(w *World) { w.Workload.Egress.Hosts = append(w.Workload.Egress.Hosts, "") }, waiting("egress_hosts[1]")},
		{at("egress_rules", sandbox.MapKey("ask")), rule, waiting(`egress_rules["ask"]`)},
		{at("egress_rules", sandbox.MapKey("ask"), "methods"), rule, waiting(`egress_rules["ask"]`)},
		{at("files_out_limits", "max_total_bytes"), func(w *World) { w.Workload.FilesOut = limitsOf(1) }, waiting("files_out_limits")},
		{at("labels", sandbox.MapKey("team")), func(w *World) { w.Workload.Labels = map[string]string{"team": ""} }, nil},
		{at("outputs", sandbox.MapKey("chart"), "path"), func(w *World) {
			w.Workload.Outputs = map[string]sandbox.Output{"chart": {MediaType: "image/png"}}
		}, nil},
		{at("image", "prebuilt"), then(imaged(platform), func(w *World) { w.Policy.Images.Prebuilt = sandbox.PrebuiltDeny }), waiting("image.prebuilt")},
		{at("image", "reference"), then(imaged(platform), listed), waiting("image.reference")},
		{at("image", "digest"), then(imaged(reference), pinned), waiting("image.digest")},
		{at("image", "reference"), then(imaged(platform), func(w *World) { w.Backend.ImageSources = sandbox.ImageSourceSet{} }), waiting("image.reference")},
		{at("image", "digest"), imaged(reference), nil},
		{at("image", "user"), then(imaged(reference), nonRoot), waiting("image.user")},
		{at("image", "user"), then(imaged(reference), filesAsRoot), waiting("image.user")},
		{at("image", "user"), imaged(reference), nil},
	}
}

// unknownBackend leaves it unknown which declarations hold: only what every
// backend would be denied for is said.
func unknownBackend() []open {
	const backend = "backend"
	return []open{
		{at(backend), then(), waiting(backend)},
		{at(atFacts), then(), waiting(backend)},
		{at(atFacts), func(w *World) { w.Backend.Isolation = sandbox.IsolationRuntime }, waiting(backend)},
	}
}

// deniedAnyway asks every first refusal again while something else is not known,
// which would leave the decision open: a deny outranks it.
func deniedAnyway() []DecisionRow {
	rows := []DecisionRow{
		deniedRow("unknown", "on any backend: a denied capability", then(denying(sandbox.CapabilityExec), unknown(atFacts)), "capability.denied at requires"),
		deniedRow("unknown", "on any backend: a malformed kind", then(func(w *World) { w.Workload.Kind = "?" }, unknown("backend")), "value.invalid_text at kind"),
		deniedRow("unknown", "under any policy: an enforced mode", then(
			func(w *World) { w.Policy, w.Backend.EgressModes = sandbox.Policy{}, sandbox.EgressModeSet{} }, unknown(atPolicy),
		), "egress.not_enforced at egress_mode"),
	}
	for _, q := range questions() {
		r := q.refusals[0]
		rows = append(rows, deniedRow("unknown", q.check+" while isolation_scope is not known: "+r.name,
			then(r.change, unknown("isolation_scope")), r.denied...))
	}
	return rows
}
