package backend

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"maps"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// The labels of a sandbox, beside those of its spec. Every value is a keyed
// digest of 52 characters: enough to find and compare sandboxes, nothing to read
// ids from. Thread, agent and call are bound to what stands above them, so equal
// ids of two tenants do not look alike.
const (
	LabelOwner        = sandbox.ReservedLabelPrefix + "owner"
	LabelScope        = sandbox.ReservedLabelPrefix + "scope"
	LabelThread       = sandbox.ReservedLabelPrefix + "thread"
	LabelAgent        = sandbox.ReservedLabelPrefix + "agent"
	LabelCall         = sandbox.ReservedLabelPrefix + "call"
	LabelKind         = sandbox.ReservedLabelPrefix + "kind"
	LabelSpecDigest   = sandbox.ReservedLabelPrefix + "spec"
	LabelPolicyDigest = sandbox.ReservedLabelPrefix + "policy"
)

// reservedLabels are compared in this order; field is the word a refusal uses.
var reservedLabels = [...]struct{ label, field string }{
	{LabelOwner, "owner"},
	{LabelScope, "key.scope"},
	{LabelThread, "key.thread"},
	{LabelAgent, "key.agent"},
	{LabelCall, "key.call"},
	{LabelKind, "kind"},
	{LabelSpecDigest, "spec_digest"},
	{LabelPolicyDigest, "policy_digest"},
}

// identity is whose sandbox it is; it is comparable and never leaves the host.
type identity struct {
	owner string
	key   sandbox.Key
	kind  string
}

// labeler turns identities into names and label values for one owner.
type labeler struct{ key [sha256.Size]byte }

// newLabeler derives the owner's own key, so that two owners' values never meet.
func newLabeler(secret []byte, owner string) labeler {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("sandbox-iac labels v1"))
	writeParts(mac, owner)
	var l labeler
	mac.Sum(l.key[:0])
	return l
}

// digest is the whole HMAC-SHA256 over the purpose and the length-prefixed parts,
// in lower-case base32.
func (l labeler) digest(purpose string, parts ...string) string {
	mac := hmac.New(sha256.New, l.key[:])
	writeParts(mac, purpose)
	writeParts(mac, parts...)
	return lowerBase32.EncodeToString(mac.Sum(nil))
}

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func writeParts(w interface{ Write([]byte) (int, error) }, parts ...string) {
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		_, _ = w.Write(length[:]) // a hash never fails
		_, _ = w.Write([]byte(part))
	}
}

// name is the sandbox's name within the engine: 56 characters, a letter first.
func (l labeler) name(id identity) string {
	k := id.key
	return "sbx-" + l.digest("name", id.owner, k.Scope, k.Thread, k.Agent, k.Call, id.kind)
}

// scopeLabels match every sandbox of the owner's scope, or of one thread of it.
func (l labeler) scopeLabels(owner, scope, thread string) map[string]string {
	labels := map[string]string{
		LabelOwner: l.digest(LabelOwner, owner),
		LabelScope: l.digest(LabelScope, scope),
	}
	if thread != "" {
		labels[LabelThread] = l.digest(LabelThread, scope, thread)
	}
	return labels
}

// keyLabels match every sandbox of the key, or of one kind of it.
func (l labeler) keyLabels(id identity) map[string]string {
	k := id.key
	labels := l.scopeLabels(id.owner, k.Scope, k.Thread)
	labels[LabelAgent] = l.digest(LabelAgent, k.Scope, k.Thread, k.Agent)
	labels[LabelCall] = l.digest(LabelCall, k.Scope, k.Thread, k.Agent, k.Call)
	if id.kind != "" {
		labels[LabelKind] = l.digest(LabelKind, id.kind)
	}
	return labels
}

// allLabels are what a sandbox made for the request carries.
func (l labeler) allLabels(req sandbox.AcquireRequest) map[string]string {
	labels := maps.Clone(req.Spec.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, l.keyLabels(identityOf(req)))
	labels[LabelSpecDigest] = l.digest(LabelSpecDigest, req.SpecDigest)
	labels[LabelPolicyDigest] = l.digest(LabelPolicyDigest, req.PolicyDigest)
	return labels
}

func identityOf(req sandbox.AcquireRequest) identity {
	return identity{owner: req.Owner, key: req.Key, kind: req.Spec.Kind}
}

func (b *Backend) labeler(owner string) labeler { return newLabeler(b.settings.labelKey, owner) }

// differing names the fields in which a sandbox that exists is not the one that is
// wanted.
func differing(want, carried map[string]string) string {
	var fields []string
	known := map[string]bool{}
	for _, r := range reservedLabels {
		known[r.label] = true
		if carried[r.label] != want[r.label] {
			fields = append(fields, r.field)
		}
	}
	for label, value := range want {
		if carriedValue, ok := carried[label]; !known[label] && (!ok || carriedValue != value) {
			fields = append(fields, "labels")
			break
		}
	}
	return strings.Join(fields, ", ")
}
