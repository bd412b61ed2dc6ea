package wire

import (
	"net/http"
	"slices"
)

// Op names one operation of the contract.
type Op uint8

// Repeat says whether a request may be sent again when nobody knows what became
// of it.
type Repeat uint8

const (
	// RepeatNever is for what makes or runs something: sending it twice may make
	// two. It is the zero value, so that a forgotten answer repeats nothing.
	RepeatNever Repeat = iota
	// RepeatSafe is for what reads, or writes what the request itself names:
	// sending it twice leaves what sending it once leaves.
	RepeatSafe
)

// Form is how one or more versions spell an operation.
type Form struct {
	Versions []Version
	Method   string
	// Path is a template: {name} stands for one path segment. See [Expand].
	Path string
}

// Operation is a row of the contract.
type Operation struct {
	// Name is a stable word for errors, events and tests: "sandbox.create".
	Name   string
	Plane  Plane
	Repeat Repeat
	// Secret says that the request holds values nobody may see: the service may
	// echo them, so the text of its errors is withheld.
	Secret bool
	Forms  []Form
}

// Form is the operation in version v. It reports false where v has no such
// operation.
func (o Op) Form(v Version) (Form, bool) {
	for _, f := range o.Operation().Forms {
		if slices.Contains(f.Versions, v) {
			return f, true
		}
	}
	return Form{}, false
}

// Operation is the row of o. An Op that is none has an empty row, which no
// version spells.
func (o Op) Operation() Operation {
	if int(o) >= len(operations) {
		return Operation{}
	}
	return operations[o]
}

// String is the operation's name.
func (o Op) String() string { return o.Operation().Name }

// Ops lists every operation, in the order of the contract.
func Ops() []Op {
	all := make([]Op, 0, len(operations)-1)
	for o := range operations[1:] {
		all = append(all, Op(o+1))
	}
	return all
}

// The names of path segments in the templates.
const (
	SegSubscription  = "subscription"
	SegResourceGroup = "resourceGroup"
	SegGroup         = "group"
	SegVNet          = "vnet"
	SegLocation      = "location"
	SegOperation     = "operation"
	SegSandbox       = "sandbox"
	SegImage         = "image"
	SegSnapshot      = "snapshot"
	SegVolume        = "volume"
	SegSecret        = "secret"
	SegPolicy        = "policy"
	SegConnection    = "connection"
	SegCredential    = "credential"
	SegPackage       = "package"
)

const (
	armGroups = "/subscriptions/{subscription}/resourceGroups/{resourceGroup}/providers/Microsoft.App/sandboxGroups"
	armGroup  = armGroups + "/{group}"
	armVNets  = armGroup + "/vnetConnections"
	armPlace  = "/subscriptions/{subscription}/providers/Microsoft.App/locations/{location}"

	group    = "/subscriptions/{subscription}/resourceGroups/{resourceGroup}/sandboxGroups/{group}"
	sandboxG = group + "/sandboxes/{sandbox}"
	image    = group + "/diskimages"
	snapshot = group + "/snapshots"
	volume   = group + "/volumes/{volume}"
	secret   = group + "/secrets/{secret}"
)

// every is one spelling for all versions of both planes.
func every(method, path string) []Form {
	return []Form{{Versions: []Version{V0201, V0701, V0901}, Method: method, Path: path}}
}

// split is an operation whose verb the newer data plane changed.
func split(oldMethod, newMethod, path string) []Form {
	return []Form{
		{Versions: []Version{V0201}, Method: oldMethod, Path: path},
		{Versions: []Version{V0901}, Method: newMethod, Path: path},
	}
}

// since0901 is an operation that only the newer data plane has.
func since0901(method, path string) []Form {
	return []Form{{Versions: []Version{V0901}, Method: method, Path: path}}
}

func get(path string) []Form    { return every(http.MethodGet, path) }
func put(path string) []Form    { return every(http.MethodPut, path) }
func post(path string) []Form   { return every(http.MethodPost, path) }
func patch(path string) []Form  { return every(http.MethodPatch, path) }
func remove(path string) []Form { return every(http.MethodDelete, path) }
