package conformance_test

import (
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// differences is the one table of where we answer otherwise on purpose. Its
// sources are lines of the design and security notes, of the behaviour
// specification, or the package whose rule it is.
var differences = []difference{
	// policy

	{
		"Python types", "policy", policyDiffers(shapeOfBackend, nil),
		"fields are typed, so a backend cannot declare a list for a set or keep an attribute of another release",
		"DESIGN 4, ladders and sets; behaviour B7, B8: not applicable in Go",
	},
	{
		"unknown word of a workload", "policy", policyDiffers(unknownWord, nil),
		"an unknown rung, OS family or capability is refused where it is read, and not by a failed look-up while deciding",
		"behaviour A4, A27",
	},
	{
		"unknown rung of a backend", "policy", answers("construct ValueError", "construct SandboxBackendNotPermitted"),
		"declarations hold rungs and not words: the word is refused where the facts are read",
		"behaviour A4, A5",
	},
	{
		"authority channels", "policy", policyDiffers(authorityChannels, nil, channelsStep),
		"a rule carries no credential for its host; what a backend attaches is bounded by its scope and retention",
		"DESIGN 4, egress: a host, and optionally ports, methods, paths",
	},
	{
		"host tools without a program", "policy", policyDiffers(hostToolsWithoutProgram, nil, programStep),
		"host_tools says that a backend's exec detaches; a program channel is asked for by program_profile alone",
		"behaviour A11",
	},

	// policy, releases before the newest

	{
		"empty allowlist", "policy", policyDiffers(emptyAllowlist, openEgress, limitsStep),
		"an allowlist with nothing on it is spelt closed; it was legal before 0.36",
		"DESIGN 4, egress: under allowlist at least one rule",
	},
	{
		"identities without host tools", "policy", policyDiffers(looseIdentities, dropIdentities, identityStep),
		"identities are what host tools act under, and stood alone in the first release",
		"behaviour A32",
	},
	{
		"egress level", "policy", policyDiffers(silentLevel, func(*policyIn) {}),
		"an undeclared level was read, and named, as unrestricted; silence claims nothing and names nothing",
		"behaviour A14, A15",
	},
	{
		"network", "policy", policyDiffers(namesNetwork, dropNetwork, networkStep, deniedStep),
		"network was a capability that nothing required; it is none any more",
		"behaviour A8",
	},

	// selection

	{
		"Python types of backends", "selection", misshapenBackends,
		"declarations and answers to a disposal are typed; a backend cannot give anything else",
		"DESIGN 4, ladders and sets; behaviour B7, B8, B34",
	},
	{
		"unknown rung of a backend, several", "selection", unknownRungOfOne,
		"declarations hold rungs and not words: the word is refused where the facts are read",
		"behaviour A4, A5",
	},
	{
		"selection", "selection", unknownSelection,
		"there is nothing to select: the manifest names each workload's backend",
		"DESIGN 5, backend (required); DESIGN 1, refuse, never degrade",
	},
	{
		"no backend", "selection", withoutBackends,
		"a router without a backend is refused when it is opened, not quiet until it is used",
		"DESIGN 1, silence refuses",
	},
	{
		"disposal that says nothing", "selection", silentDisposal,
		"the first release counted what was disposed and did not say what was not",
		"behaviour B33",
	},

	// spec

	{
		"Python types of records", "spec", either(dynamic, nullField("egress", "isolation_scope", "min_cleanup", "egress_allow"),
			zeroField("max_identity_retention_seconds", "auto_delete_seconds")),
		"records are typed: no other type, no field that does not exist, no null in place of a word",
		"DESIGN 4, ladders; behaviour A27",
	},
	{
		"field order", "spec", hasOp("field_order"),
		"records name their fields and documents are canonical; no order means anything",
		"DESIGN 4, documents",
	},
	{
		"capabilities of rules", "spec", func(v *vector, a answer) bool {
			return v.op == "enum" && strings.Contains(a.ours, "egress_ports") && strings.Contains(a.theirs, "run_code")
		},
		"rules also name ports and addresses, which are capabilities of their own",
		"DESIGN 4, egress: derived capabilities",
	},
	{
		"methods", "spec", ofType("HttpMethod"),
		"methods are tokens of an open set; no list of them is closed",
		"DESIGN 4, egress",
	},
	{
		"selection words", "spec", ofType("Selection"),
		"there is nothing to select: the manifest names each workload's backend",
		"DESIGN 5, backend (required)",
	},
	{
		"configured identity", "spec", ofType("ConfiguredIdentity"),
		"it reports and decides nothing; declarations carry what decisions rest on",
		"DESIGN 4, the decision",
	},
	{
		"file refusals", "spec", ofType("FileRefusal"),
		"a refused file operation is a refusal with a code of the file or path family",
		"DESIGN 4, refusals",
	},
	{
		"normalisation words", "spec", ofType("NameNormalization"),
		"names are normalised unless a collection asks to keep them: an option, not a word",
		"sandbox/output, KeepNames; behaviour A23",
	},
	{
		"results as text", "spec", ofType("ExecResult"),
		"an exec's output is bytes with a text view; there is no second field that could disagree",
		"DESIGN 4, bytes first",
	},
	{
		"execution contract", "spec", withField("execution_contract"),
		"a sandbox carries the digest of the whole spec, and reuse compares that",
		"DESIGN 4, every sandbox carries",
	},
	{
		"words of a spec", "spec", stricter(sandbox.CodeUnknownWord),
		"a word that is none is refused where it is read, not when it is first compared",
		"behaviour A4, A27",
	},
	{
		"kinds and labels", "spec", stricter(sandbox.CodeMissing, sandbox.CodeInvalidText),
		"a kind and a label are parts of names on the engine, so they are short words",
		"DESIGN 1, nothing crosses half-way",
	},
	{
		"limits of documents", "spec", stricter(sandbox.CodeOutOfRange),
		"limits are numbers that a canonical document can carry, from 0 to 2^53-1",
		"DESIGN 4, documents",
	},
	{
		"work directory", "spec", stricter(sandbox.CodePathInvalid, sandbox.CodePathOutside),
		"the base of every confined path is absolute and in its one spelling",
		"behaviour D1; sandbox/guestpath, ValidateBase",
	},
	{
		"image references", "spec", stricter(sandbox.CodeImageInvalid),
		"a reference that no registry can serve is refused at plan",
		"DESIGN 5, image is an object",
	},
	{
		"outputs", "spec", stricter(sandbox.CodeOutputsNeedFilesOut, sandbox.CodeOutputInvalid, sandbox.CodeArtifactNameInvalid),
		"what collecting would refuse after the program has run is refused before it starts",
		"DESIGN 1, nothing crosses half-way",
	},
	{
		"keys", "spec", stricter(sandbox.CodeKeyInvalid),
		"an empty part of a key would let two callers share a sandbox",
		"behaviour A30",
	},
	{
		"rules of the newest release", "spec", older(stricter(sandbox.CodeHostToolsNotRequired, sandbox.CodeIdentityBounds,
			sandbox.CodeReclaimNotRequirable, sandbox.CodeEgressAllowlistEmpty)),
		"older releases did not refuse it yet; the newest semantics win",
		"behaviour A16, A32; DESIGN 4",
	},
	{
		"network as a word", "spec", older(answers("ValueError", "network")),
		"network was a capability that nothing required; it is none any more",
		"behaviour A8",
	},

	// declarations

	{
		"Python types of declarations", "declarations", misshapenDeclarations,
		"declarations are typed, and a backend's method cannot fail",
		"DESIGN 4, ladders and sets; behaviour B7, B8",
	},
	{
		"network, probed", "declarations", older(exceptProbe("capabilities/network")),
		"network was a capability that nothing required; it is none any more",
		"behaviour A8",
	},

	{
		"shipped backends", "declarations", isShipped,
		"a backend declares what its own engine was shown to do, each claim with its evidence",
		"DESIGN 6; SECURITY 15",
	},

	// egress

	{
		"Python types of entries", "egress", hasOp("allow_shape", "methods_shape"),
		"hosts and rules are typed: no other sequence, nothing else in it",
		"DESIGN 4, compile",
	},
	{
		"authority", "egress", entriesWhere(hasAuthority, weAccept),
		"a credential for a host is no part of where it may be reached",
		"DESIGN 4, egress: a host, and optionally ports, methods, paths",
	},
	{
		"same host twice", "egress", sameHostTwice,
		"rules are a union, and two rules of one host say different things of it on purpose",
		"DESIGN 4, egress; rules have names of their own",
	},
	{
		"trailing dot", "egress", entriesWhere(hasTrailingDot, weAccept),
		"one trailing dot is dropped on both sides, so that a rule and a request cannot miss each other",
		"sandbox/egress, host grammar",
	},
	{
		"names in any script", "egress", entriesWhere(isUnicode, weAccept),
		"names are turned into A-labels (UTS 46), so that people can write them in their script",
		"DESIGN 7, names; sandbox/egress, host grammar",
	},
	{
		"addresses", "egress", entriesWhere(isAddress, weAccept),
		"addresses and ranges are a kind of rule of their own",
		"DESIGN 4, egress: addresses are their own kind of rule",
	},
	{
		"any path", "egress", entriesWhere(hasAnyPath, weAccept),
		"[\"*\"] is how any path is said, as for ports and methods: an absent list is refused",
		"DESIGN 5, a rule object must state host, ports, methods and paths",
	},
	{
		"any method", "egress", entriesWhere(hasAnyMethod, weNeedNot(sandbox.CapabilityEgressMethods)),
		"[\"*\"] is any method and restricts nothing, so nobody has to tell methods apart",
		"DESIGN 5, a rule object must state host, ports, methods and paths",
	},
	{
		"the root as a path", "egress", entriesWhere(hasRootPath, weNeedNot(sandbox.CapabilityEgressPaths)),
		"/ is every path and restricts nothing, so nobody has to tell paths apart",
		"sandbox/egress, path prefixes",
	},
	{
		"paths with two readings", "egress", entriesWhere(hasTwoReadings, weRefuse(sandbox.CodeEgressPathInvalid)),
		"//, ; and escaped dots or separators are refused in rules as in requests",
		"SECURITY 10; sandbox/egress, path grammar",
	},
	{
		"never reachable", "egress", entriesWhere(anyHost, weRefuse(sandbox.CodeEgressAlwaysBlocked)),
		"a rule that can never take effect is refused when it is written",
		"SECURITY 11",
	},
	{
		"hosts of older releases", "egress", older(entriesWhere(anyHost, weRefuse(sandbox.CodeEgressHostInvalid, sandbox.CodeEgressAddressInvalid))),
		"they had no grammar for hosts: anything was one",
		"behaviour A17",
	},
	{
		"allowlist without hosts", "egress", older(func(_ *vector, a answer) bool {
			return a.refusal != nil && a.refusal.Code == sandbox.CodeEgressAllowlistEmpty
		}),
		"an allowlist with nothing on it is spelt closed; it was legal before 0.36",
		"DESIGN 4, egress: under allowlist at least one rule",
	},
	{
		"third-party proxy", "egress", hasOp("proxy_policy", "read_decisions"),
		"our proxy is our own and matches with the rules themselves; there is no policy to write and no log to read",
		"DESIGN 6, egress",
	},
	{
		"container networks", "egress", hasOp("gateways", "ipv4_subnets"),
		"a sandbox has no network at all, so there are no gateways and subnets to find out",
		"DESIGN 6, egress: no bridge, no gateway",
	},

	// acas_names

	{
		"digits of other scripts", "acas_names", otherDigits,
		"a uid is told in ASCII digits; an answer in others is none, and leaves the user undecided",
		"behaviour H30, H32; sandbox.UserRule",
	},
	{
		"dead sandbox, remembered image", "acas_names", deadThenRemembered,
		"an engine looks for a sandbox and makes it in one step, so the one that takes a dead one's place is asked itself",
		"behaviour H31; sandbox/backend, Acquire",
	},

	// paths

	{
		"relative base", "paths", refusedWhere("confine", relativeBase),
		"a relative base confines to wherever a process happens to stand",
		"behaviour D1; sandbox/guestpath, Resolve",
	},
	{
		"control characters", "paths", refusedWhere("confine", controlCharacter),
		"NUL ends a path in every system call; the others forge lines in logs and listings",
		"SECURITY 26; sandbox/guestpath, grammar",
	},
	{
		"invalid UTF-8", "paths", refusedWhere("confine", notUTF8),
		"a guest path is UTF-8; the reference carries lone surrogates as text",
		"sandbox/guestpath, grammar",
	},
	{
		"long names", "paths", refusedWhere("confine", longName),
		"no Linux file system takes a name of more than 255 bytes; it is refused before anything starts",
		"DESIGN 1, nothing crosses half-way; sandbox/guestpath, MaxSegment",
	},
	{
		"two leading slashes", "paths", pathWhere("confine", twoSlashes),
		"guests are Linux, where two slashes are one",
		"sandbox/guestpath, Clean",
	},
	{
		"working directory elsewhere", "paths", refusedWhere("resolve_working_directory", elsewhere),
		"a call's working directory stays at or below the storage base, absolute or not",
		"DESIGN 4, sessions; sandbox/guestpath, WorkDir",
	},
	{
		"work directory in another spelling", "paths", refusedWhere("work_dir_ancestors", unclean),
		"the base of every confined path is stated in its one spelling",
		"behaviour D1; sandbox/guestpath, ValidateBase",
	},
	{
		"relative root", "paths", older(pathWhere("relative_to", relativeRoot)),
		"a relative root has what is relative below it, as in the newest release",
		"behaviour D3",
	},
	{
		"relative chain", "paths", older(pathWhere("chain", relativeBase)),
		"a relative path is walked from the root it is given, as in the newest release",
		"behaviour D4",
	},
	{
		"owned by the host", "paths", hasOp("host_owned"),
		"whose a directory is says nothing here: guests' files are reached as the guest, or beneath a checked parent",
		"DESIGN 3, as and links",
	},

	// artifact_names

	{
		"normal after lower case", "artifact_names", namesWhere(decomposesInLowerCase),
		"some letters in lower case are two characters, which a normalising file system takes for one",
		"sandbox/guestpath, CollisionKey",
	},
	{
		"device and space", "artifact_names", portableWhere(spacedDevice),
		"Windows opens the device for a name with white space before its extension as well",
		"sandbox/guestpath, PortableName",
	},
	{
		"backslashes", "artifact_names", portableWhere(hasBackslash),
		"a backslash separates on Windows, so a portable name has none",
		"sandbox/guestpath, PortableName",
	},
	{
		"console devices", "artifact_names", portableWhere(console),
		"CONIN$ and CONOUT$ open the console from any folder",
		"sandbox/guestpath, PortableName",
	},
	{
		"names in a sink", "artifact_names", landingWhere(nameJudged),
		"a sink judges names itself, before it looks at its folder: one spelling of a place, none outside",
		"sandbox/guestpath, artifact names; SECURITY 24",
	},
	{
		"links in a sink", "artifact_names", landingWhere(linkRefused),
		"links in a sink are refused wherever they lead",
		"SECURITY 24; behaviour C20",
	},
	{
		"the host's path", "artifact_names", landingWhere(hostPathKept),
		"what stands in the way is refused with a code, and no text names the host's path",
		"behaviour C20, C21",
	},
	{
		"overwriting", "artifact_names", landingWhere(keptInPlace),
		"the first releases overwrote in silence",
		"behaviour C20",
	},
	{
		"long names shown", "artifact_names", landingWhere(shownShort),
		"what a model is shown of a name is bounded",
		"SECURITY 26",
	},

	// outputs

	{
		"sinks per call", "outputs", outputsWhere(perCallSink),
		"sinks keep calls apart by themselves, by the session's key, and need no call id to be told",
		"SECURITY 24",
	},
	{
		"errors that no guest answers", "outputs", fileWhere(neverAnswered),
		"a guest call answers refusals of a closed list of codes, so nothing else has to be passed through",
		"DESIGN 4, refusals",
	},
	{
		"not found, raised", "outputs", fileWhere(notFoundRaised),
		"a guest call has one way to say that nothing is there, and then the output is missing",
		"behaviour A53",
	},
	{
		"negative sizes", "outputs", fileWhere(negativeSize),
		"a size below zero never passes the confinement layer, and is no room for other files",
		"DESIGN 3, byte-exact results",
	},
	{
		"files that grew", "outputs", fileWhere(grown),
		"a file that is longer than when it was looked at is refused, within the caps too",
		"DESIGN 1, no truncated file passed off as whole",
	},
	{
		"sinks that fail", "outputs", outputsWhere(sinkFailed),
		"outputs are read and staged one by one, and land together or not at all",
		"DESIGN 1, nothing crosses half-way",
	},
}
