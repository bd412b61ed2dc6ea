package acasemu

import (
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

// The kinds of documents in the state file.
const (
	kindGroup      store.Kind = "groups"
	kindVNet       store.Kind = "vnets"
	kindOperation  store.Kind = "operations"
	kindSandbox    store.Kind = "sandboxes"
	kindImage      store.Kind = "images"
	kindSnapshot   store.Kind = "snapshots"
	kindVolume     store.Kind = "volumes"
	kindSecret     store.Kind = "secrets"
	kindPolicy     store.Kind = "policies"
	kindConnection store.Kind = "connections"
	kindCredential store.Kind = "credentials"
	kindPackage    store.Kind = "packages"
)

// ofGroups are the kinds of what goes with its group.
var ofGroups = []store.Kind{
	kindVNet, kindSandbox, kindImage, kindSnapshot, kindVolume, kindSecret, kindPolicy, kindConnection, kindCredential, kindPackage,
}

// pending is a change that the service is still making.
type pending struct {
	// Goal is the state at the end.
	Goal  string    `json:"goal"`
	Looks int       `json:"looks,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Never is a change that gets stuck.
	Never bool `json:"never,omitzero"`
}

// after is a change that takes d; nil when it is made at once.
func after(d Delay, goal string, now time.Time) *pending {
	if d == (Delay{}) {
		return nil
	}
	return &pending{Goal: goal, Looks: d.Looks, Until: now.Add(d.Time)}
}

// over reports that the change is made.
func (p *pending) over(now time.Time) bool {
	return !p.Never && p.Looks <= 0 && !now.Before(p.Until)
}

// look counts a client that looked, which some changes wait for.
func (p *pending) look() bool {
	if p.Looks <= 0 || p.Never {
		return false
	}
	p.Looks--
	return true
}

type groupRecord struct {
	Key       store.Key  `json:"key"`
	Group     wire.Group `json:"group"`
	CreatedAt time.Time  `json:"createdAt"`
	// Operation is the one that is under way.
	Operation string `json:"operation,omitempty"`
}

type vnetRecord struct {
	VNet wire.VNetConnection `json:"vnet"`
}

// operationRecord is a long-running operation of the ARM plane.
type operationRecord struct {
	ID      string    `json:"id"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Status  string    `json:"status"`
	Pending *pending  `json:"pending,omitzero"`
	// Group is what it is about, and Deletes what it does to it in the end.
	Group   store.Key `json:"group"`
	Deletes bool      `json:"deletes,omitzero"`
}

type sandboxRecord struct {
	Seq     uint64       `json:"seq"`
	Doc     wire.Sandbox `json:"doc"`
	Pending *pending     `json:"pending,omitzero"`
	Created time.Time    `json:"created"`
	// Used is when something last happened inside, to within a moment.
	Used    time.Time `json:"used"`
	Stopped time.Time `json:"stopped,omitzero"`
	Deleted bool      `json:"deleted,omitzero"`
	// Image is the disk image that it was made from, public ones without.
	Image string `json:"image,omitempty"`
	// From is where its files and its user come from.
	From Image `json:"from,omitzero"`
	// Hidden is its environment, which no answer shows.
	Hidden store.Sealed `json:"hidden,omitempty"`
	// Egress is the policy, which may hold values of headers.
	Egress store.Sealed `json:"egress,omitempty"`
}

type imageRecord struct {
	Seq     uint64     `json:"seq"`
	Image   wire.Image `json:"image"`
	Pending *pending   `json:"pending,omitzero"`
	Error   string     `json:"error,omitempty"`
	// Saved is the name under which the guests keep its files, for an image made of a
	// sandbox; DiskMi is then the least disk that it boots on.
	Saved  string `json:"saved,omitempty"`
	DiskMi int64  `json:"diskMi,omitzero"`
	// From is the reference whose user a saved image keeps.
	From Image `json:"from,omitzero"`
	// Expired images are listed and start nothing.
	Expired bool `json:"expired,omitzero"`
}

type snapshotRecord struct {
	Seq      uint64        `json:"seq"`
	Snapshot wire.Snapshot `json:"snapshot"`
	Pending  *pending      `json:"pending,omitzero"`
	Saved    string        `json:"saved"`
	From     Image         `json:"from"`
	Hidden   store.Sealed  `json:"hidden,omitempty"`
}

type volumeRecord struct {
	Seq    uint64      `json:"seq"`
	Volume wire.Volume `json:"volume"`
	Dir    string      `json:"dir"`
}

type secretRecord struct {
	Seq    uint64       `json:"seq"`
	Secret wire.Secret  `json:"secret"`
	Values store.Sealed `json:"values"`
}

type policyRecord struct {
	Seq    uint64       `json:"seq"`
	ID     string       `json:"id"`
	Policy store.Sealed `json:"policy"`
}

// documentRecord is something that the contract says little about.
type documentRecord struct {
	Seq uint64       `json:"seq"`
	ID  string       `json:"id"`
	Doc store.Sealed `json:"doc"`
}

type packageRecord struct {
	Seq     uint64       `json:"seq"`
	Package wire.Package `json:"package"`
	File    string       `json:"file"`
}
