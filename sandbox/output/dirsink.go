package output

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Existing says what becomes of something that already stands where an output
// lands.
type Existing uint8

const (
	// ExistingRefuse: it stays and nothing of the collection lands. The default.
	ExistingRefuse Existing = iota
	// ExistingReplace: a file is replaced; anything else still refuses.
	ExistingReplace
)

// DirOptions are the options of [NewDirSink].
type DirOptions struct {
	Existing Existing
	// Flat lands everything in the root itself, whoever it is from. Only a host
	// with a single caller should ask for it: outputs of two conversations would
	// meet.
	Flat bool
	// Quota bounds what stands for one owner and scope. Zero bounds are those of
	// [DefaultQuota]. A flat sink has no scopes: there, one that is wholly zero
	// bounds nothing, and any other is about all that stands in the root.
	Quota Quota
	// Portable refuses names that [guestpath.PortableName] would change, since
	// Windows reads them otherwise. On Windows it is always on.
	Portable bool
	// SkipSync leaves it to the operating system when files reach the disk. It is
	// faster for many small files, and after a power cut one that had landed may be
	// empty or gone. The death of the host alone loses nothing either way.
	SkipSync bool
	// Display is the line about a landed artifact that a model may see. By default
	// it is that of [DisplayOf].
	Display func(Artifact) string
}

// DirSink lands outputs as files below one directory of the host, by default in a
// directory for each owner and scope, and in that one for each owner, key and call,
// both named by digests. Nothing in the root leads out of it: links in it are
// refused, and were one put there between the look and the use, the operating system
// would still not leave the root.
//
// Files are staged in a hidden directory of the root and then put in place, so a
// reader never sees half of one, and all of a collection land or none. Landings of
// several sinks on one directory, in one process or in many, keep out of each other's
// way by file locks, and what a host that died had staged is removed by the next
// landing: the file system must have hard links and locks that end with their
// holder. Make one with [NewDirSink]; it is safe for concurrent use.
type DirSink struct {
	root    *os.Root
	options DirOptions
	quota   Quota
}

var _ Sink = (*DirSink)(nil)

const (
	directoryMode = 0o700
	fileMode      = 0o600
	lowerBase32   = "abcdefghijklmnopqrstuvwxyz234567"
)

// NewDirSink opens a sink on an existing directory.
func NewDirSink(root string, options DirOptions) (*DirSink, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("opening the sink's directory: %w", err)
	}
	s := &DirSink{root: r, options: options, quota: options.Quota.Or(DefaultQuota())}
	if options.Flat && options.Quota == (Quota{}) {
		s.quota = Quota{MaxBytes: -1, MaxFiles: -1}
	}
	s.options.Portable = options.Portable || runtime.GOOS == "windows"
	if options.Display == nil {
		s.options.Display = DisplayOf
	}
	return s, nil
}

// Close lets go of the directory.
func (s *DirSink) Close() error { return s.root.Close() }

// Begin removes what hosts that died left behind and opens a staging directory for
// one collection.
func (s *DirSink) Begin(ctx context.Context, from Origin) (Delivery, error) {
	d := &dirDelivery{sink: s, scope: from.Key.Scope, area: ".", base: "."}
	if !s.options.Flat {
		d.area = from.ScopeName()
		d.base = d.area + "/" + from.CallName()
		if err := confined(s.root, d.base, ""); err != nil {
			return nil, err
		}
	}
	var err error
	if d.staging, err = newStaging(s.root); err != nil {
		return nil, err
	}
	if err := s.sweep(ctx, d.staging.dir); err != nil {
		return nil, errors.Join(err, d.Abort())
	}
	return d, nil
}

// ScopeName is a name for the origin's owner and scope that no other has, of lower
// case letters and digits: a digest of the length-prefixed parts.
func (o Origin) ScopeName() string { return digestName(o.Owner, o.Key.Scope) }

// CallName is such a name for the whole origin but its kind.
func (o Origin) CallName() string {
	return digestName(o.Owner, o.Key.Scope, o.Key.Thread, o.Key.Agent, o.Key.Call, o.Call)
}

func digestName(parts ...string) string {
	hash := sha256.New()
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		hash.Write(length[:])
		hash.Write([]byte(part))
	}
	return base32.NewEncoding(lowerBase32).WithPadding(base32.NoPadding).EncodeToString(hash.Sum(nil))
}

func notConfined(name string) *sandbox.Refusal {
	return sandbox.Finding{
		Code: sandbox.CodeLandingNotConfined, Found: "a link where " + sandbox.Echo(name) + " lands",
		Required: "directories and files only", Remedy: "remove the link from the sink",
	}.Refusal(nil)
}

func exists(name string) *sandbox.Refusal {
	return sandbox.Finding{
		Code: sandbox.CodeLandingExists, Found: "something where " + sandbox.Echo(name) + " lands",
		Required: "a free place", Remedy: "land under another call, remove it, or open the sink to replace files",
	}.Refusal(nil)
}

// landingFailed keeps the reason and drops the path of the host from it. What says
// already why it failed, and the caller's own cancellation, pass through.
func landingFailed(doing string, err error) error {
	if sandbox.RefusalOf(err) != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return sandbox.Finding{
		Code: sandbox.CodeLandingFailed, Found: "a failure of the sink, " + doing,
		Required: "a sink that takes files", Remedy: "see the underlying error",
	}.Refusal(withoutPath(err))
}

// withoutPath is the innermost reason of a failed file operation, without the paths
// and names that the operation was given.
func withoutPath(err error) error {
	var (
		path    *os.PathError
		link    *os.LinkError
		syscall *os.SyscallError
	)
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	case errors.As(err, &syscall):
		return syscall.Err
	}
	return err
}
