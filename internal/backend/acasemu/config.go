package acasemu

import (
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// Config is what an emulator is made of. The zero value of everything but State is
// the service as it was seen, with no guests.
type Config struct {
	// State is the file that everything is kept in; other processes may use it too.
	// Beside it lie a key and, in a directory of that name with ".d" behind it, the
	// files of volumes and content packages.
	State string
	// StateWait bounds how long a request waits for other processes that use the
	// file; zero is ten seconds.
	StateWait time.Duration
	// Guests run what is inside; nil is [NoGuests]. The emulator closes them.
	Guests Guests

	// Clock is the time that all the emulator says and does goes by; nil is the
	// system's.
	Clock Clock
	// Pace is how long the service takes over things; nil is [UsualPace].
	Pace *Pace
	// Images are references that disk images can be made from, beside all others,
	// which are taken for images of a root user.
	Images []KnownImage
	// OnlyKnownImages makes builds from other references fail.
	OnlyKnownImages bool
	// Behaviour is what the service was seen to do in more than one way.
	Behaviour Behaviour
	// Tokens, where there are any, are the only ones that are accepted, whatever
	// audience they name.
	Tokens []string
	// ExecCeiling is when the front end gives up on a command, which goes on in the
	// guest; zero is the 230 seconds of the service.
	ExecCeiling time.Duration
	// MaxFile is the largest file that is taken, in bytes; zero is 1 GiB.
	MaxFile int64
	// Faults misbehave from the start; see package fault for their notation.
	Faults []string
	// Log bounds how many requests are remembered; zero is 10000.
	Log int
}

// Clock tells the time.
type Clock interface{ Now() time.Time }

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// KnownImage is what a disk image made from a reference turns out to be.
type KnownImage struct {
	Reference string
	// User is whom its programs run as; empty is what its layout says, or root.
	User string
	// Layout is a directory with an OCI layout that holds the image.
	Layout string
	// Fails makes its build fail with this text.
	Fails string
}

// Behaviour is what the service was seen to do in more than one way. The zero
// value is what was seen last.
type Behaviour struct {
	// StopAnswers is what a stop is answered with.
	StopAnswers StopAnswer
	// LifecycleIsPolicy answers a lifecycle write with the policy instead of the
	// sandbox.
	LifecycleIsPolicy bool
	// LoosePorts takes ports without url where all are replaced.
	LoosePorts bool
	// PageSize, where it is not zero, makes lists {value, nextLink} of at most so
	// many; a list is a bare array otherwise.
	PageSize int
	// ForbiddenSays gives a 403 a body.
	ForbiddenSays bool
	// AnyAudience accepts tokens for others too.
	AnyAudience bool
	// StrictDisks refuses data disks to sandboxes that keep their memory, as the
	// service's documentation says it does.
	StrictDisks bool
}

// StopAnswer is a way to answer a stop.
type StopAnswer uint8

// The ways to answer a stop: with the snapshot that it made, with the sandbox, or
// with nothing.
const (
	StopSnapshot StopAnswer = iota
	StopSandbox
	StopNothing
)

// Pace is how long the service takes over things.
type Pace struct {
	Create, Stop, Resume, Build, Snapshot, Delete, ARM Delay
}

// Delay is over when it was looked at so many times and so much time has passed.
type Delay struct {
	Looks int
	Time  time.Duration
}

// UsualPace is quick, and still shows every state on the way that a client has to
// cope with.
func UsualPace() Pace {
	return Pace{
		Build: Delay{Looks: 1}, Snapshot: Delay{Looks: 1}, ARM: Delay{Looks: 1},
		Delete: Delay{Time: 200 * time.Millisecond},
	}
}

const (
	defaultExecCeiling = 230 * time.Second
	defaultMaxFile     = 1 << 30
	defaultLog         = 10_000
	// maxBody is the largest JSON document that is read.
	maxBody = 4 << 20
)

func (c Config) complete() Config {
	if c.Guests == nil {
		c.Guests = NoGuests{}
	}
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	if c.Pace == nil {
		usual := UsualPace()
		c.Pace = &usual
	}
	if c.ExecCeiling == 0 {
		c.ExecCeiling = defaultExecCeiling
	}
	if c.MaxFile == 0 {
		c.MaxFile = defaultMaxFile
	}
	if c.Log == 0 {
		c.Log = defaultLog
	}
	return c
}

// The audiences that each plane accepts.
var (
	armAudiences  = []string{"https://management.azure.com", "https://management.core.windows.net"}
	dataAudiences = []string{"https://dynamicsessions.io", "https://management.azuredevcompute.io"}
)

func audiences(p wire.Plane) []string {
	if p == wire.ARM {
		return armAudiences
	}
	return dataAudiences
}
