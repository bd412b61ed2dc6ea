package sandbox

// Code names one kind of refusal. It is stable across releases and is an error
// value, so that errors.Is(err, sandbox.CodeCapabilityMissing) works. Every code
// stands in this file, with its family, the summary people see first, and what
// it means; the docs page and `sandboxctl explain` are made from the same rows.
type Code string

// Error is the code itself.
func (c Code) Error() string { return string(c) }

// The codes.
const (

	// Words, ranges and shapes.

	CodeUnknownWord   Code = "value.unknown_word"
	CodeOutOfRange    Code = "value.out_of_range"
	CodeMissing       Code = "value.missing"
	CodeNullField     Code = "value.null"
	CodeUnknownName   Code = "value.unknown_name"
	CodeContradiction Code = "value.contradiction"
	CodeInvalidText   Code = "value.invalid_text"
	CodeWrongType     Code = "value.wrong_type"

	// Egress: grammar.

	CodeEgressHostInvalid           Code = "egress.host_invalid"
	CodeEgressAddressInvalid        Code = "egress.address_invalid"
	CodeEgressPortInvalid           Code = "egress.port_invalid"
	CodeEgressMethodInvalid         Code = "egress.method_invalid"
	CodeEgressPathInvalid           Code = "egress.path_invalid"
	CodeEgressRuleIncomplete        Code = "egress.rule_incomplete"
	CodeEgressRuleConflict          Code = "egress.rule_conflict"
	CodeEgressAlwaysBlocked         Code = "egress.always_blocked"
	CodeEgressHostsWithoutAllowlist Code = "egress.hosts_without_allowlist"
	CodeEgressAllowlistEmpty        Code = "egress.allowlist_empty"

	// Spec and policy contradictions.

	CodeOutputsNeedFilesOut  Code = "spec.outputs_need_files_out"
	CodeHostToolsNotRequired Code = "spec.host_tools_not_required"
	CodeIdentityBounds       Code = "spec.identity_bounds"
	CodeReclaimNotRequirable Code = "spec.reclaim_not_requirable"
	CodeOutputInvalid        Code = "spec.output_invalid"

	// The decision.

	CodeUndecided               Code = "decision.undecided"
	CodeCapabilityDenied        Code = "capability.denied"
	CodeIdentityDenied          Code = "identity.denied"
	CodeAttachedIdentity        Code = "identity.attached_not_permitted"
	CodeIsolationBelowFloor     Code = "isolation.below_floor"
	CodeIsolationEvidence       Code = "isolation.evidence_insufficient"
	CodeCapabilityMissing       Code = "capability.missing"
	CodeEgressMethodUnsupported Code = "egress.method_not_supported"
	CodeOSFamilyUnsupported     Code = "os_family.not_supported"
	CodeProgramChannelMissing   Code = "program.channel_missing"
	CodeLimitsOverCeiling       Code = "limits.over_ceiling"
	CodeEgressNotEnforced       Code = "egress.not_enforced"
	CodeEgressModeDenied        Code = "egress.mode_denied"
	CodeEgressNotWithinPolicy   Code = "egress.not_within_policy"
	CodeEgressGuarantee         Code = "egress.guarantee_missing"
	CodeEgressNeverReaches      Code = "egress.never_reaches"
	CodeEgressTooComplex        Code = "egress.too_complex"
	CodeScopeNotEnforced        Code = "scope.not_enforced"
	CodeImagePrebuiltDenied     Code = "image.prebuilt_denied"
	CodeImageRegistryDenied     Code = "image.registry_denied"
	CodeImageDigestRequired     Code = "image.digest_required"
	CodeImageUnsupported        Code = "image.not_supported"
	CodeImageUserUnfit          Code = "image.user_unfit"
	CodeImageUserDenied         Code = "image.user_denied"
	CodeImageUserRootGroup      Code = "image.user_root_group"
	CodeImageInvalid            Code = "image.invalid"
	CodeImageUserUnserved       Code = "image.user_unserved"
	CodeImagePlatform           Code = "image.platform"
	CodeImagePrebuiltUnknown    Code = "image.prebuilt_unknown"
	CodePostureWidened          Code = "posture.widened"
	CodePostureNoBaseline       Code = "posture.no_baseline"

	// Registries of images.

	CodeRegistryNotAllowed    Code = "registry.not_allowed"
	CodeRegistryDenied        Code = "registry.denied"
	CodeRegistryNotFound      Code = "registry.not_found"
	CodeRegistryUnreachable   Code = "registry.unreachable"
	CodeRegistryAnswerInvalid Code = "registry.answer_invalid"

	// Backends.

	CodeBackendUnknown      Code = "backend.unknown"
	CodeBackendNotPermitted Code = "backend.declarations_invalid"
	CodeBackendClosed       Code = "backend.closed"
	CodeBackendUnfit        Code = "backend.host_unfit"

	// Documents.

	CodeDocumentSyntax       Code = "document.syntax"
	CodeDocumentType         Code = "document.type"
	CodeDocumentUnknownField Code = "document.unknown_field"
	CodeDocumentDuplicate    Code = "document.duplicate_name"
	CodeDocumentNotCanonical Code = "document.not_canonical"
	CodeDocumentVersion      Code = "document.version"
	CodeDocumentTooLarge     Code = "document.too_large"
	CodeDigestMismatch       Code = "document.digest_mismatch"
	CodeAttributesLost       Code = "document.attributes_lost"
	CodePlatformPolicy       Code = "platform_policy.unreadable"

	// Router.

	CodeNoBackend       Code = "router.no_backend"
	CodeWorkloadUnknown Code = "router.workload_unknown"
	CodeSpecDiffers     Code = "router.spec_differs"
	CodeOptionsInvalid  Code = "router.options_invalid"
	CodeKeyInvalid      Code = "router.key_invalid"
	CodeRouterClosed    Code = "router.closed"
	CodeSandboxUnclean  Code = "sandbox.unclean"
	CodeReuseDiffers    Code = "sandbox.reuse_differs"

	// Guest calls.

	CodeUnsupported        Code = "capability.unsupported"
	CodePathInvalid        Code = "path.invalid"
	CodePathOutside        Code = "path.outside"
	CodePathThroughLink    Code = "path.through_link"
	CodePathNotDirectory   Code = "path.not_directory"
	CodeFileNotFound       Code = "file.not_found"
	CodeFileNotRegular     Code = "file.not_regular"
	CodeFileRefused        Code = "file.refused"
	CodeFileSize           Code = "file.size_differs"
	CodeFileChanged        Code = "file.changed"
	CodeTransferCap        Code = "transfer.cap_exceeded"
	CodeGuestTimeout       Code = "guest.timeout"
	CodeGuestQueuedTimeout Code = "guest.queued_timeout"
	CodeGuestOutputLimit   Code = "guest.output_limit"
	CodeGuestMemoryLimit   Code = "guest.memory_limit"
	CodeGuestStackLimit    Code = "guest.stack_limit"
	CodeGuestStorageLimit  Code = "guest.storage_limit"
	CodeGuestCrashed       Code = "guest.crashed"
	CodeGuestLost          Code = "guest.lost"
	CodeGuestFailed        Code = "guest.failed"

	// Egress: what the proxy refuses while a guest runs.

	CodeEgressDenied            Code = "egress.denied"
	CodeEgressRequestMalformed  Code = "egress.request_malformed"
	CodeEgressAuthorityMismatch Code = "egress.authority_mismatch"
	CodeEgressProtocolRefused   Code = "egress.protocol_refused"
	CodeEgressHeaderRefused     Code = "egress.header_refused"
	CodeEgressNotTLS            Code = "egress.not_tls"
	CodeEgressSNIMismatch       Code = "egress.sni_mismatch"
	CodeEgressOpeningRefused    Code = "egress.opening_refused"
	CodeEgressAddressRefused    Code = "egress.address_refused"
	CodeEgressUnresolved        Code = "egress.unresolved"
	CodeEgressUpstreamFailed    Code = "egress.upstream_failed"
	CodeEgressProxyLimit        Code = "egress.proxy_limit"
	CodeEgressRulesChanged      Code = "egress.rules_changed"
	CodeEgressProxyLost         Code = "egress.proxy_lost"

	// Outputs.

	CodeOutputSinkRequired    Code = "output.sink_required"
	CodeOutputUndeclared      Code = "output.undeclared"
	CodeOutputMissing         Code = "output.missing"
	CodeOutputNotRegular      Code = "output.not_regular"
	CodeOutputSizeUnknown     Code = "output.size_unknown"
	CodeOutputNotConfined     Code = "output.not_confined"
	CodeOutputUnreachable     Code = "output.unreachable"
	CodeArtifactNameInvalid   Code = "output.name_invalid"
	CodeArtifactNameCollision Code = "output.name_collision"
	CodeLandingNotConfined    Code = "output.landing_not_confined"
	CodeLandingExists         Code = "output.landing_exists"
	CodeLandingNotText        Code = "output.landing_not_text"
	CodeLandingQuota          Code = "output.landing_quota"
	CodeLandingFailed         Code = "output.landing_failed"

	// The service behind a backend.

	CodeEndpointNotAllowed     Code = "service.endpoint_not_allowed"
	CodeCredentialInvalid      Code = "service.credential_invalid"
	CodeCredentialFailed       Code = "service.credential_failed"
	CodeServiceUnauthenticated Code = "service.unauthenticated"
	CodeServiceForbidden       Code = "service.forbidden"
	CodeServiceNotFound        Code = "service.not_found"
	CodeServiceInvalid         Code = "service.request_invalid"
	CodeServiceConflict        Code = "service.conflict"
	CodeServiceNotRunning      Code = "service.not_running"
	CodeServiceThrottled       Code = "service.throttled"
	CodeServiceTooLarge        Code = "service.too_large"
	CodeServiceUnavailable     Code = "service.unavailable"
	CodeServiceUnreachable     Code = "service.unreachable"
	CodeServiceAnswerInvalid   Code = "service.answer_invalid"
	CodeServiceOutcomeUnknown  Code = "service.outcome_unknown"
	CodeServiceFailed          Code = "service.failed"
	CodeServiceTimeout         Code = "service.timeout"
	CodeServiceNoOperation     Code = "service.no_operation"
	CodeServiceEgressUnclear   Code = "service.egress_unclear"
	CodeServiceEgressDiffers   Code = "service.egress_differs"

	// Objects that a plan declares.

	CodeNoRemoteBlock   Code = "remote.no_block"
	CodeRemoteExists    Code = "remote.already_exists"
	CodeRemoteStateFile Code = "remote.state_file_missing"
	CodeRemoteUndecided Code = "remote.provider_unknown"
)

type codeInfo struct {
	code    Code
	family  Family
	summary string
	meaning string
}

// codeTable has one row a code, in the order of the constants. A test holds the
// two together.
var codeTable = [...]codeInfo{
	{CodeUnknownWord, ErrValue, "Word is not one that is known here", "The attribute takes one word of a closed list. Words are compared exactly; an unknown one is refused rather than ranked or guessed."},
	{CodeOutOfRange, ErrValue, "Number is outside its range", "The number is below or above what the attribute accepts."},
	{CodeMissing, ErrValue, "Required value is missing", "The attribute must be set. Nothing is assumed in its place."},
	{CodeNullField, ErrValue, "Null is not a value here", "A field inside an object is null. Terraform drops misspelt names inside objects without a word, so a null field may be a typo; every restriction must be stated."},
	{CodeUnknownName, ErrValue, "Name is not part of this object", "The object has an attribute that does not exist. A misspelt restriction must not be dropped in silence."},
	{CodeContradiction, ErrValue, "Two settings contradict each other", "Both settings cannot hold at once. Remove one of them."},
	{CodeInvalidText, ErrValue, "Text has a form that is not accepted", "The text is empty, too long, not UTF-8, or has characters that are not accepted here."},
	{CodeWrongType, ErrValue, "Value is of another type", "The attribute takes a value of another type. Objects that arrive through a function or a variable of type any are read as they are."},
	{CodeEgressHostInvalid, ErrValue, "Egress host is not a host", "A host is a DNS name, *.suffix, an IP address or a CIDR range, and nothing else: no scheme, no port, no path, no user, one host an entry."},
	{CodeEgressAddressInvalid, ErrValue, "Egress address is not an address", "An address is written in its one usual form: four decimal numbers, or IPv6 without a zone. Other spellings of the same address are refused, since readers and systems disagree about them."},
	{CodeEgressPortInvalid, ErrValue, "Egress port is not a port", "A port is a number from 1 to 65535, or * for any."},
	{CodeEgressMethodInvalid, ErrValue, "Egress method is not an HTTP method", "A method is an HTTP token in upper case, such as GET, or * for any."},
	{CodeEgressPathInvalid, ErrValue, "Egress path is not a path prefix", "A path starts with / and admits itself and everything below it, whole segments at a time. It has no query, fragment, star, dot segment or percent-encoded separator."},
	{CodeEgressRuleIncomplete, ErrValue, "Egress rule does not state every restriction", "A rule object states host, ports, methods and paths, [\"*\"] for any. Terraform drops misspelt names inside objects without a word, so an absent restriction is never read as none."},
	{CodeEgressRuleConflict, ErrValue, "Two egress rules say different things of one host", "Equal rules collapse. Two rules under the same name that differ are refused."},
	{CodeEgressAlwaysBlocked, ErrValue, "Egress rule can never take effect", "The rule names only what is refused whatever the rules say: this host, loopback, link-local and multicast addresses, cloud metadata, and names that are never anybody's, such as those below localhost, invalid and onion."},
	{CodeEgressHostsWithoutAllowlist, ErrValue, "Egress hosts are named but the mode ignores them", "Hosts and rules only mean something under egress_mode = \"allowlist\"."},
	{CodeEgressAllowlistEmpty, ErrValue, "Egress allowlist names no host", "An allowlist with nothing on it is spelt egress_mode = \"closed\"."},
	{CodeOutputsNeedFilesOut, ErrValue, "Outputs are declared without files_out", "Declared outputs are read from the guest, which is the capability files_out."},
	{CodeHostToolsNotRequired, ErrValue, "Host tools are given but not required", "A workload with host tools lists host_tools in requires."},
	{CodeIdentityBounds, ErrValue, "Attached identity and its bounds do not fit", "A workload that requires attached_identity states how far it may be shared and for how long; one that does not states neither."},
	{CodeReclaimNotRequirable, ErrValue, "reclaim cannot be required by a workload", "reclaim is what a backend offers the router's clean-up. A workload states minimum_cleanup instead."},
	{CodeOutputInvalid, ErrValue, "Declared output is not acceptable", "An output names one literal path below the work directory and lands under one portable name."},
	{CodeUndecided, ErrPermission, "Value is not known yet", "The decision needs a value that Terraform does not know before apply. It is decided then, and refused at run time if it is still open."},
	{CodeCapabilityDenied, ErrPermission, "Policy denies a capability the workload requires", "A denied capability is refused whatever the backend offers."},
	{CodeIdentityDenied, ErrPermission, "Policy denies an identity the workload carries", "The workload's host tools act under an identity that the policy denies."},
	{CodeAttachedIdentity, ErrPermission, "Attached identity is not permitted", "A platform identity inside the sandbox must be required by the workload, within its bounds and within the policy's."},
	{CodeIsolationBelowFloor, ErrPermission, "Backend is below the isolation floor", "The effective floor is the strongest of every contributor's. A weaker backend is refused; there is no fallback and no degradation."},
	{CodeIsolationEvidence, ErrPermission, "Isolation is claimed, not shown", "A rung counts only as far as the evidence behind it: probed on a machine, documented by its vendor, or emulated. The policy says what it accepts; emulated never meets a floor."},
	{CodeCapabilityMissing, ErrUnsupported, "Backend lacks a required capability", "The workload requires something that the backend does not declare."},
	{CodeEgressMethodUnsupported, ErrUnsupported, "Backend cannot tell these HTTP methods apart", "The backend declares which method tokens it can enforce, and a rule names others."},
	{CodeOSFamilyUnsupported, ErrUnsupported, "Backend has no guest of this OS family", "The workload asks for a path grammar and argument quoting that the backend's guests do not have."},
	{CodeProgramChannelMissing, ErrUnsupported, "Backend has no channel that can run the program", "No declared program channel fits the profile, the host tools and the capabilities at once."},
	{CodeLimitsOverCeiling, ErrPermission, "Transfer limits are over the ceiling", "The workload asks to move more than the backend or the policy lets through. Limits are refused, never clamped."},
	{CodeEgressNotEnforced, ErrPermission, "Backend does not enforce this egress mode", "The mode must be one that the backend enforces. Silence enforces nothing, and no mode stands in for another."},
	{CodeEgressModeDenied, ErrPermission, "Egress mode is wider than the policy allows", "The policy bounds the mode: closed is within allowlist, allowlist is within unrestricted."},
	{CodeEgressNotWithinPolicy, ErrPermission, "Egress is wider than the policy allows", "Every host, port, method and path that the workload can reach must be reachable under the policy. The finding names one that is not."},
	{CodeEgressGuarantee, ErrPermission, "Backend does not guarantee how egress is confined", "A mode says what is allowed; guarantees say which ways around it are shut, with evidence. A required one is missing."},
	{CodeEgressNeverReaches, ErrPermission, "Egress reaches what must never be reached", "A rule overlaps never_reaches. The finding names one place in both."},
	{CodeScopeNotEnforced, ErrPermission, "Backend cannot keep sandboxes this far apart", "The effective isolation scope, the stricter of policy and workload, is not one the backend declares."},
	{CodeImagePrebuiltDenied, ErrPermission, "Policy denies prebuilt images", "The workload names a catalogue image and the policy does not allow those."},
	{CodeImageRegistryDenied, ErrPermission, "Image comes from a registry the policy does not list", "The registry of the reference is compared whole, host and port."},
	{CodeImageDigestRequired, ErrPermission, "Image is not pinned by digest", "The policy wants images named by content, not by a tag that can move."},
	{CodeImageUnsupported, ErrUnsupported, "Backend makes no sandbox from such an image", "The backend declares from which sources it takes images, a catalogue or a registry, and the workload names another."},
	{CodeImageUserUnfit, ErrUnsupported, "Image user cannot do what the workload requires", "The backend writes files as root and the image's program runs as somebody else, so it can create nothing beside them."},
	{CodeImageUserDenied, ErrPermission, "Image runs as a user the policy denies", "The policy bounds which user an image may run as; a user nobody knows is undecided and refused at run time."},
	{CodeImageUserRootGroup, ErrPermission, "Image user is in root's group", "The user is not root, and its group is: what root's group may write, the program may write. It is a warning where a policy wants another user than root."},
	{CodeImageInvalid, ErrValue, "Image is not named in an acceptable way", "An image is a catalogue name or a registry reference, not both, with a digest of the form sha256:<64 hex digits> and a user of an image configuration where they are given."},
	{CodeImageUserUnserved, ErrUnsupported, "Engine cannot run programs as the image's user", "Beside its root a sandbox needs a user that the image names and the host can give it: a host that is not root has one user for each sandbox."},
	{CodeImagePlatform, ErrLookup, "Image and platform do not fit", "The image is not made for the platform, or its platforms run as different users, so that nobody can say as whom it will run."},
	{CodeImagePrebuiltUnknown, ErrLookup, "Catalogue has no image of that name", "A catalogue name is whole: its version is part of it, as in python-3.13. What has a slash or a colon is a registry reference instead."},
	{CodePostureWidened, ErrPermission, "Policy reaches more than before", "The planned posture allows something the previous one did not."},
	{CodePostureNoBaseline, ErrPermission, "No earlier posture to compare with", "A guard against widening compares with what was applied before. A new object, also one that replaces another under a new name, has no earlier state, and a state that cannot be read is none."},
	{CodeEgressTooComplex, ErrLimit, "Egress is more than can be compared", "There are more rules than are read, or rules so many and so entangled that holding them against each other would take more than the bounded work of one question. What is not shown to be within its bound is refused."},
	{CodeRegistryNotAllowed, ErrPermission, "Registry may not be asked", "A plan asks registries that the provider block names, at their own hosts, over TLS and at public addresses. Whatever a registry leads to beyond that has to be named as well."},
	{CodeRegistryDenied, ErrPermission, "Registry does not let the image be read", "The registry wants to know who asks, or does not let that one read the image. Credentials are not looked for unless the provider block says so."},
	{CodeRegistryNotFound, ErrLookup, "Registry has no such image", "No image stands at that path under that tag or digest, or the registry does not say so to whom it does not know."},
	{CodeRegistryUnreachable, ErrUnavailable, "Registry does not answer", "No connection, none that can be trusted, no answer in time, or an error of the registry's own."},
	{CodeRegistryAnswerInvalid, ErrUnavailable, "Registry's answer is no image within bounds", "What was answered is too large, is not what its digest says, or is not an image. It is refused rather than guessed at."},
	{CodeBackendUnknown, ErrLookup, "No backend has that name", "The workload names a backend that is not shipped, or that the host did not register."},
	{CodeBackendNotPermitted, ErrPermission, "Backend's declarations cannot be trusted", "What the backend says of itself is unreadable, contradicts itself or does not match what it implements."},
	{CodeBackendClosed, ErrUnavailable, "Backend is closed", "The backend was closed and serves nothing more, also not through sessions it gave out."},
	{CodeBackendUnfit, ErrUnsupported, "Machine cannot run the backend", "The backend needs something of its machine that is not installed, not enabled or not there. It refuses to start rather than confine less than it says."},
	{CodeDocumentSyntax, ErrValue, "Document is not well formed", "The bytes are not one whole document: of this product, one JSON object in UTF-8; of another tool, what its format says."},
	{CodeDocumentType, ErrValue, "Document field has the wrong type", "The field holds another JSON type than the schema says."},
	{CodeDocumentUnknownField, ErrValue, "Document has a field this version does not know", "An unknown field may be a restriction. It is refused, never skipped. Names are compared exactly, case included."},
	{CodeDocumentDuplicate, ErrValue, "Document states one name twice", "Two readers could take different values."},
	{CodeDocumentNotCanonical, ErrValue, "Document is not in canonical form", "A document has exactly one spelling (RFC 8785), so that its digest means one thing."},
	{CodeDocumentVersion, ErrValue, "Document is of another version", "This release reads sandbox/v1."},
	{CodeDocumentTooLarge, ErrLimit, "Document is larger than is read", "The bound keeps a hostile document from exhausting the reader."},
	{CodeDigestMismatch, ErrPermission, "Digest is not one that is accepted", "The document's SHA-256 is not the one that was pinned."},
	{CodeAttributesLost, ErrValue, "Attributes were lost on the way", "An object that carries a digest does not have it: something between its maker and here dropped or changed attributes, usually a module variable with a narrower type."},
	{CodePlatformPolicy, ErrPermission, "Platform policy cannot be used", "The runner imposes a policy file that cannot be read, does not have the imposed digest, or is not a policy."},
	{CodeNoBackend, ErrLookup, "No backend is registered for the workload", "The host did not register the backend that the manifest names."},
	{CodeWorkloadUnknown, ErrLookup, "Manifest has no workload of that name", "Attach takes the name of a workload in the manifest."},
	{CodeSpecDiffers, ErrPermission, "Workload differs from the manifest", "The spec given at attach must equal the manifest's workload."},
	{CodeOptionsInvalid, ErrValue, "Router options are not complete", "An option that identity or trust rests on is missing or contradicts another."},
	{CodeKeyInvalid, ErrValue, "Sandbox key is not complete", "A key names scope, thread and agent, and a call where the isolation scope is call."},
	{CodeRouterClosed, ErrUnavailable, "Router is closed", "The router was closed and serves nothing more."},
	{CodeSandboxUnclean, ErrPermission, "Sandbox could not be cleaned up", "A previous clean-up of this key failed, so it is not served again."},
	{CodeReuseDiffers, ErrPermission, "Running sandbox was made for something else", "A warm sandbox is reused only when its owner, key, whole spec and admitting policy are the same."},
	{CodeUnsupported, ErrUnsupported, "Sandbox cannot do this", "The call needs a capability that the sandbox was not acquired with. Session.Capabilities answers beforehand."},
	{CodePathInvalid, ErrValue, "Guest path is not acceptable", "A guest path is POSIX, UTF-8, without backslashes, NUL or control characters."},
	{CodePathOutside, ErrValue, "Guest path leaves the work directory", "Every file call stays below the work directory."},
	{CodePathThroughLink, ErrValue, "Guest path goes through a link", "A link could lead anywhere; links are reported, never followed."},
	{CodePathNotDirectory, ErrOS, "Guest path goes through something that is not a directory", "A component of the path exists and is not a directory."},
	{CodeFileNotFound, ErrOS, "Guest file does not exist", "Nothing stands at that path."},
	{CodeFileNotRegular, ErrOS, "Guest path is not a regular file", "Only regular files are read and written: no directory, link, device, pipe or socket."},
	{CodeFileRefused, ErrOS, "Guest refused the file operation", "The guest's own file system declined, for example because a directory is not empty or a disk is full."},
	{CodeFileSize, ErrValue, "Content has another size than was said", "A write names its size beforehand. Content that is shorter or longer replaces nothing."},
	{CodeFileChanged, ErrOS, "Guest file changed while it was read", "The content was not the size that was judged. It is refused rather than passed off as whole."},
	{CodeTransferCap, ErrLimit, "Transfer is over its cap", "Files are refused whole when they are over a cap, never truncated."},
	{CodeGuestTimeout, ErrTimeout, "Program ran past its deadline", "The bound of this call ran out while the program was running. It was stopped."},
	{CodeGuestQueuedTimeout, ErrTimeout, "Deadline passed before the program started", "The bound ran out while the call waited its turn. Nothing ran."},
	{CodeGuestOutputLimit, ErrLimit, "Program wrote more output than is kept", "The program was stopped; the beginning of its output is on the error."},
	{CodeGuestMemoryLimit, ErrLimit, "Program ran out of its memory limit", "The program asked for more memory than the sandbox has."},
	{CodeGuestStackLimit, ErrLimit, "Program nested its calls too deeply", "Calls inside the program were nested deeper than its stack. It was stopped."},
	{CodeGuestStorageLimit, ErrLimit, "Work directory is full", "The program or a transfer wrote past the cap of the work directory."},
	{CodeGuestCrashed, ErrOS, "Language runtime of the program crashed", "The interpreter ended by a fault instead of an exit, for example because the program nests too deeply for its parser. The sandbox and its files are unharmed."},
	{CodeGuestLost, ErrUnavailable, "Sandbox is gone", "The sandbox ended underneath the call. It is not restarted; acquire again."},
	{CodeGuestFailed, ErrUnavailable, "Sandbox could not do its part", "The engine failed underneath the call."},
	{CodeEgressDenied, ErrPermission, "Request is outside the sandbox's egress rules", "No rule of the workload admits this host, port, method and path. The answer names the addition that would."},
	{CodeEgressRequestMalformed, ErrValue, "Request could be read in two ways", "The head of the request is not HTTP/1.1 as every server reads it: two lengths, a length beside chunks, a folded line, a bare line feed, two hosts, or no absolute address. It is refused rather than passed on."},
	{CodeEgressAuthorityMismatch, ErrPermission, "Host header is not the host that was asked for", "The server would answer for another host than the one that was judged."},
	{CodeEgressProtocolRefused, ErrPermission, "Request would leave HTTP as it is judged", "Upgrades, HTTP/2 without TLS, TRACE unless a rule names it, and a CONNECT inside a connection are refused: what follows them could not be judged."},
	{CodeEgressHeaderRefused, ErrPermission, "Header would override what was judged", "Where rules restrict methods or paths, headers that make a server take another method or path are refused."},
	{CodeEgressNotTLS, ErrPermission, "Tunnel does not begin with TLS", "A tunnel carries TLS, whose first message names its host. Anything else is refused."},
	{CodeEgressSNIMismatch, ErrPermission, "TLS names another host than the tunnel", "The server name in the first message of TLS must be the host of the CONNECT. One that is missing is refused as well; a tunnel to an address has none."},
	{CodeEgressOpeningRefused, ErrPermission, "Program does not accept that its TLS is opened", "Rules with methods or paths are held by opening TLS, with a certificate authority that is made for the sandbox. The program trusts only certificates of its own choice, or the host is not one that the authority may speak for. It is refused rather than passed through."},
	{CodeEgressAddressRefused, ErrPermission, "Name leads to an address that is never dialled", "Some address of the name is private, reserved, a metadata service or the host's own. One such answer refuses all: whoever answers for the name chooses it. Only a rule that names the address opens a private one."},
	{CodeEgressUnresolved, ErrUnavailable, "Name has no address", "The name servers know no address of the name, or did not answer."},
	{CodeEgressUpstreamFailed, ErrUnavailable, "Server could not be reached", "The rules admit the request, and the server refused the connection, was not who it should be, or broke off."},
	{CodeEgressProxyLimit, ErrLimit, "Request is over a limit of the proxy", "The head was too large, the body too long, something took too long, or too much was under way at once."},
	{CodeEgressRulesChanged, ErrPermission, "New rules no longer admit the connection", "The rules were replaced while the connection was open, and the new ones do not admit it."},
	{CodeEgressProxyLost, ErrUnavailable, "Sandbox's egress proxy has ended", "The proxy ended before its sandbox. Nothing is reachable from it any more, so no further program is started in it; its files can still be read. Acquire another sandbox."},
	{CodeOutputSinkRequired, ErrValue, "Outputs land but there is no sink", "A workload that lands outputs needs somewhere to put them before anything runs."},
	{CodeOutputUndeclared, ErrValue, "Outputs are named at call time without leave", "Only a workload with outputs_named_at_call_time may name further outputs when it is called."},
	{CodeOutputMissing, ErrOS, "Required output was not written", "The program did not write a file it declared."},
	{CodeOutputNotRegular, ErrOS, "Output is not a regular file", "Only regular files are collected."},
	{CodeOutputSizeUnknown, ErrOS, "Output has no known size", "A file whose size nobody knows cannot be held to a cap."},
	{CodeOutputNotConfined, ErrValue, "Output is not below the work directory", "The output's path leaves the work directory or goes through a link."},
	{CodeOutputUnreachable, ErrOS, "Output could not be read", "Reading the output failed in the guest."},
	{CodeArtifactNameInvalid, ErrValue, "Artifact name is not acceptable", "A name is relative, below 256 bytes of UTF-8, without backslashes, empty or dot segments, or control characters."},
	{CodeArtifactNameCollision, ErrValue, "Two outputs land under one name", "Names are compared as a case-insensitive, normalising file system would."},
	{CodeLandingNotConfined, ErrPermission, "Landing leaves the sink", "Something in the sink's directory would lead the file elsewhere."},
	{CodeLandingExists, ErrPermission, "Something already stands where the output lands", "The sink refuses to overwrite unless it was opened to replace."},
	{CodeLandingNotText, ErrValue, "Output is not the text that the sink keeps", "The sink keeps text only, and the file is not UTF-8."},
	{CodeLandingQuota, ErrLimit, "Sink has no room left for this scope", "A sink bounds what stands in it for one scope. What stands there counts, and so does what landings under way have asked for. Outputs are refused whole; nothing that stands is removed to make room."},
	{CodeLandingFailed, ErrUnavailable, "Sink could not take the output", "Writing to the sink failed."},
	{CodeEndpointNotAllowed, ErrPermission, "Endpoint may not be sent a token", "A token goes to the service's own hosts, compared label by label, and to endpoints that the host's configuration names exactly. Nothing that arrives later, a manifest, an answer or a redirect, can add one."},
	{CodeCredentialInvalid, ErrValue, "Credential is not configured in one way", "One method of signing in is used, and it needs its own settings. Settings of two methods contradict each other; a chain is tried only when it is asked for."},
	{CodeCredentialFailed, ErrPermission, "Signing in failed", "The one method that is configured gave no token. No other was tried."},
	{CodeServiceUnauthenticated, ErrPermission, "Service does not accept the token", "The token is missing, expired, or for another audience than the service's."},
	{CodeServiceForbidden, ErrPermission, "Service says the identity may not do this", "The signed-in identity lacks a role on the group. A new assignment takes from seconds to minutes to reach the service, so this was tried for a while."},
	{CodeServiceNotFound, ErrLookup, "Service knows no such object", "The object does not exist, no longer exists, or belongs to another group."},
	{CodeServiceInvalid, ErrValue, "Service does not accept the request", "The service says that the request itself is wrong. Sending it again changes nothing."},
	{CodeServiceConflict, ErrUnavailable, "Object is in a state that does not admit this", "Something holds the object, or it has changed since it was looked at."},
	{CodeServiceNotRunning, ErrUnavailable, "Sandbox is not running", "The service serves commands and files of running sandboxes only, and resumes none by itself."},
	{CodeServiceThrottled, ErrLimit, "Service asks for fewer requests", "A rate or a quota of the service is used up. Where it said how long to wait, that was waited for as far as the deadline allowed."},
	{CodeServiceTooLarge, ErrLimit, "Transfer is larger than the service or its client takes", "The request is over a limit of the service, or its answer over what is read. Nothing was cut."},
	{CodeServiceUnavailable, ErrUnavailable, "Service failed", "The service answered with an error of its own, and did so again when asked again where that was safe."},
	{CodeServiceUnreachable, ErrUnavailable, "Service cannot be reached", "No connection to the endpoint, or none that can be trusted."},
	{CodeServiceAnswerInvalid, ErrUnavailable, "Service's answer is not what the contract says", "An answer lacks a field that everything rests on, is broken, or is a redirect. It is refused rather than guessed at."},
	{CodeServiceOutcomeUnknown, ErrUnavailable, "Nobody knows whether the service did it", "The answer was lost and the request must not be sent twice. It may have been carried out."},
	{CodeServiceFailed, ErrUnavailable, "Service gave the object up", "What was being made or changed ended in a failed state."},
	{CodeServiceTimeout, ErrTimeout, "Service did not finish in time", "The object did not reach the state that was waited for."},
	{CodeServiceNoOperation, ErrUnsupported, "This version of the service cannot do that", "The operation does not exist in the api-version that is configured."},
	{CodeServiceEgressUnclear, ErrPermission, "Service's egress policy cannot be relied on", "What the service says of a sandbox's egress has parts that are not enforced, not inspected, not documented or not known here, or that can be read in two ways. What it may let out beside its plain rules nobody can tell, so it is never taken for what was asked."},
	{CodeServiceEgressDiffers, ErrPermission, "Service does not confine egress as it was told", "The policy that was read back admits other requests than the one that was compiled, or fewer. The witness is a request that tells them apart."},
	{CodeNoRemoteBlock, ErrValue, "Provider does not say where objects live", "Groups and what they hold live somewhere: on Azure, or in a local file. The provider block says where, and nothing is assumed, so that a forgotten block does not apply into a local file."},
	{CodeRemoteExists, ErrValue, "Object exists and is not in this state", "Creating it would take over, or double, something that another configuration or person made. Import it, or choose another name."},
	{CodeRemoteStateFile, ErrLookup, "State file of the embedded service is missing", "Objects in Terraform's state were made in a local file that is not there. Nothing is taken for deleted."},
	{CodeRemoteUndecided, ErrUnavailable, "Provider is not configured yet", "A setting of the provider block is not known before something else is applied, so the object can be neither read nor looked up yet."},
}

func (c Code) info() codeInfo {
	for i := range codeTable {
		if codeTable[i].code == c {
			return codeTable[i]
		}
	}
	return codeInfo{code: c, family: ErrValue, summary: string(c)}
}

// Known reports whether the code is one of this package's.
func (c Code) Known() bool { return c.info().meaning != "" }

// Family is the family that errors.Is also matches.
func (c Code) Family() Family { return c.info().family }

// Summary says what broke, in at most 60 characters.
func (c Code) Summary() string { return c.info().summary }

// Meaning explains the code to someone who meets it for the first time.
func (c Code) Meaning() string { return c.info().meaning }

// Codes lists every code in the order of the decision and of a sandbox's life.
func Codes() []Code {
	codes := make([]Code, len(codeTable))
	for i := range codeTable {
		codes[i] = codeTable[i].code
	}
	return codes
}
