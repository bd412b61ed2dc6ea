package acasemu

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Guests runs what is inside of sandboxes: programs, files and their network. The
// emulator keeps everything that the service says about a sandbox, and calls here
// for what happens in it. A sandbox is named by its id.
//
// Methods are called concurrently, for one sandbox too, except that Start comes
// first, nothing comes after Delete, and Suspend, Resume and Delete of one sandbox
// exclude each other. Contexts are detached from the client's request wherever the
// service would go on without it; they end when the emulator closes.
//
// Errors are those of package engine where one fits. [*Unsupported] is for what
// these guests cannot play. [engine.ErrGone] is a guest that this value does not
// have (any more), because another process started it or it died: the emulator
// then shows the sandbox as failed, as a client would see of the service.
type Guests interface {
	// Start boots the guest of a new sandbox. On an error nothing is left of it.
	Start(ctx context.Context, boot Boot) error
	// Guest is the inside of a running sandbox.
	Guest(ctx context.Context, id string) (Guest, error)
	// Suspend ends or freezes the programs of a guest; its files stay. With memory
	// the programs go on after Resume, without they are gone.
	Suspend(ctx context.Context, id string, memory bool) error
	// Resume undoes Suspend. It is harmless for a guest that runs.
	Resume(ctx context.Context, id string) error
	// Delete ends a guest and removes all of it. An unknown id is success.
	Delete(ctx context.Context, id string) error

	// Save copies the files of a guest aside, under a name that [Image] then starts
	// from, and answers how large that is in bytes.
	Save(ctx context.Context, id, name string) (size int64, err error)
	// Discard removes what Save kept. An unknown name is success.
	Discard(ctx context.Context, name string) error

	// Mount adds a volume to a running guest.
	Mount(ctx context.Context, id string, m Mount) error
	// SetEgress replaces what a guest may reach.
	SetEgress(ctx context.Context, id string, e Egress) error
	// Decisions is what the guest's requests were answered, the latest last, at most
	// fifty of each kind.
	Decisions(ctx context.Context, id string) (wire.DecisionLog, error)
	// Stats is what is known of a running guest's use of the machine.
	Stats(ctx context.Context, id string) (Stats, error)

	// Close ends every guest.
	Close(ctx context.Context) error
}

// Boot is what a guest starts from.
type Boot struct {
	ID    string
	Image Image
	// Env is NAME=value, sorted by name.
	Env []string
	// Entrypoint and Cmd replace the image's where they are not nil.
	Entrypoint, Cmd []string
	WorkDir         string
	// CPUMillis, MemoryBytes and DiskBytes are the sandbox's size.
	CPUMillis              int
	MemoryBytes, DiskBytes int64
	Mounts                 []Mount
	Egress                 Egress
}

// Image is where a guest's files and user come from: exactly one of Public,
// Reference and Saved is set.
type Image struct {
	// Public is a name of the service's own catalogue.
	Public string
	// Reference is an OCI reference.
	Reference string
	// Saved is a name that [Guests.Save] was given.
	Saved string
	// Layout is a directory with an OCI layout that holds Reference; empty where the
	// emulator was not told of one.
	Layout string
	// User is whom programs run as: a number or a name of the image, empty for what
	// the image says itself.
	User string
}

// Mount is a volume's place in a guest. Dir is on this machine.
type Mount struct {
	Dir, Path string
	ReadOnly  bool
}

// Egress is what a guest may reach. A nil Policy is everything.
type Egress struct {
	Policy *wire.EgressPolicy
	// Secret reads one value of the group's secrets, for headers that a rule sets.
	// Its values go nowhere but into requests.
	Secret func(ctx context.Context, id, key string) (string, error)
}

// Stats is a guest's use of the machine, as far as it is known.
type Stats struct {
	MemoryUsed, MemoryTotal int64
	DiskUsed, DiskTotal     int64
	CPU                     time.Duration
	Up                      time.Duration
}

// Guest is the inside of one sandbox. Commands run as the image's user; files are
// the service's file plane, which is root: it follows links in every component but
// the last, and there too where a method says so. Paths are absolute.
type Guest interface {
	engine.Execer

	// Stat describes what stands at the path, a link as a link.
	Stat(ctx context.Context, path string) (File, error)
	// List describes what stands in a directory; a link to one is followed.
	List(ctx context.Context, path string) ([]File, error)
	// Read streams a file; a link is followed. Reading a pipe waits for a writer
	// until ctx ends. A directory is [engine.ErrIsDirectory].
	Read(ctx context.Context, path string) (io.ReadCloser, File, error)
	// Write replaces a file with exactly size bytes of content; a link is followed.
	// When content ends early or fails, what stood there before still stands.
	Write(ctx context.Context, path string, content io.Reader, size int64, how Writing) error
	// Mkdir makes a directory, owned by root with mode 0755 unless another is given;
	// one that is there already is success.
	Mkdir(ctx context.Context, path string, how Writing) error
	// Remove removes a file, a link as a link, an empty directory, and with recursive
	// a directory with all in it. A full directory without is [engine.ErrIsDirectory].
	Remove(ctx context.Context, path string, recursive bool) error
}

// Writing says how something is written.
type Writing struct {
	// Parents makes what directories are missing above, as root and 0755.
	Parents bool
	// Mode is the permissions of what is made; nil is 0644 for a file and 0755 for a
	// directory.
	Mode *fs.FileMode
}

// File is one entry of a guest's file system.
type File struct {
	Name string
	// Mode has the type bits of package fs: directory, symlink, pipe, and so on.
	Mode fs.FileMode
	Size int64
	// Target is where a link points.
	Target   string
	Modified time.Time
}

// Unsupported is what guests cannot play. The emulator answers 501 with it, and
// what was asked for leaves nothing.
type Unsupported struct {
	// Title is a machine's word, Detail a sentence that names what would help.
	Title, Detail string
}

func (u *Unsupported) Error() string { return fmt.Sprintf("%s: %s", u.Title, u.Detail) }
