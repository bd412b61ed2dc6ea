package output

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	stdpath "path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/guestpath"
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
}

// DirSink lands outputs as files below one directory of the host, by default in a
// directory for each owner, key and call, named by a digest. Nothing in the root
// leads out of it: links in it are refused, and were one put there between the
// look and the use, the operating system would still not leave the root.
//
// Files are staged in a hidden directory of the root and renamed into place, so a
// reader never sees half of one. A new directory for a call appears with all its
// files at once. Make one with [NewDirSink]; it is safe for concurrent use.
type DirSink struct {
	root    *os.Root
	options DirOptions
}

var _ Sink = (*DirSink)(nil)

const (
	stagingPrefix         = ".staging-"
	directoryMode         = 0o700
	fileMode              = 0o600
	maxDisplay            = 200
	lowerBase32           = "abcdefghijklmnopqrstuvwxyz234567"
	backupName, filesName = "backup", "files"
)

// NewDirSink opens a sink on an existing directory.
func NewDirSink(root string, options DirOptions) (*DirSink, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("opening the sink's directory: %w", err)
	}
	return &DirSink{root: r, options: options}, nil
}

// Close lets go of the directory.
func (s *DirSink) Close() error { return s.root.Close() }

// Begin opens a staging directory for one collection.
func (s *DirSink) Begin(_ context.Context, from Origin) (Delivery, error) {
	d := &dirDelivery{sink: s, base: ".", staging: stagingPrefix + strings.ToLower(rand.Text())}
	if !s.options.Flat {
		d.base = from.directory()
		if err := d.confined(d.base, ""); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{d.staging, d.staging + "/" + filesName, d.staging + "/" + backupName} {
		if err := s.root.Mkdir(dir, directoryMode); err != nil {
			return nil, errors.Join(landingFailed("making a place to stage", err), d.Abort())
		}
	}
	return d, nil
}

// directory is the whole digest of whose outputs they are, parts length-prefixed.
func (o Origin) directory() string {
	hash := sha256.New()
	var length [8]byte
	for _, part := range []string{o.Owner, o.Key.Scope, o.Key.Thread, o.Key.Agent, o.Key.Call, o.Call} {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		hash.Write(length[:])
		hash.Write([]byte(part))
	}
	return base32.NewEncoding(lowerBase32).WithPadding(base32.NoPadding).EncodeToString(hash.Sum(nil))
}

// dirDelivery is one collection on its way into a [DirSink].
type dirDelivery struct {
	sink    *DirSink
	base    string // where files land, relative to the root
	staging string
	names   []string // staged, in order
	undo    []func() error
}

// Stage writes one artifact into the staging directory.
func (d *dirDelivery) Stage(ctx context.Context, artifact Artifact, content io.Reader) (Landed, error) {
	if err := guestpath.ValidateArtifactName(artifact.Name); err != nil {
		return Landed{}, err
	}
	if err := d.free(artifact.Name); err != nil {
		return Landed{}, err
	}
	n, err := d.spool(ctx, artifact, content)
	if err != nil {
		return Landed{}, err
	}
	d.names = append(d.names, artifact.Name)
	return Landed{
		Name: artifact.Name, Size: n,
		Display: displayName(artifact.Name) + " (" + strconv.FormatInt(n, 10) + " bytes)",
		Handle:  filepath.Join(d.sink.root.Name(), filepath.FromSlash(stdpath.Join(d.base, artifact.Name))),
	}, nil
}

func (d *dirDelivery) spool(ctx context.Context, artifact Artifact, content io.Reader) (n int64, err error) {
	root, staged := d.sink.root, stdpath.Join(d.staging, filesName, artifact.Name)
	if err := root.MkdirAll(stdpath.Dir(staged), directoryMode); err != nil {
		return 0, stagingFailed(artifact.Name, err)
	}
	f, err := root.OpenFile(staged, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return 0, stagingFailed(artifact.Name, err)
	}
	defer func() {
		if closeErr := f.Close(); err == nil && closeErr != nil {
			err = landingFailed("staging", closeErr)
		}
	}()
	n, err = io.Copy(f, content)
	if err == nil {
		err = ctx.Err()
	}
	switch {
	case err != nil:
		return n, landingFailed("staging", err)
	case n != artifact.Size:
		return n, landingFailed("staging", fmt.Errorf("%d bytes instead of %d", n, artifact.Size))
	}
	return n, nil
}

// stagingFailed tells a name that lies below another output's, or above one, from
// a failure.
func stagingFailed(name string, err error) *sandbox.Refusal {
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) {
		return exists(name)
	}
	return landingFailed("staging", err)
}

// displayName is the name as it may be shown: quoted as soon as anything in it
// could pass for something else.
func displayName(name string) string {
	echoed := sandbox.Echo(name)
	if echoed == `"`+name+`"` && len(name) <= maxDisplay {
		return name
	}
	return echoed
}

// free refuses a name whose place is taken or led elsewhere.
func (d *dirDelivery) free(name string) error {
	if err := d.confined(d.base, name); err != nil {
		return err
	}
	info, err := d.sink.root.Lstat(stdpath.Join(d.base, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return landingFailed("looking where "+sandbox.Echo(name)+" lands", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return notConfined(name)
	case !info.Mode().IsRegular() || d.sink.options.Existing == ExistingRefuse:
		return exists(name)
	}
	return nil
}

// confined looks at every directory above where a name lands. What is not there
// yet is fine.
func (d *dirDelivery) confined(base, name string) error {
	dirs := strings.Split(stdpath.Join(base, name), "/")
	if name != "" {
		dirs = dirs[:len(dirs)-1]
	}
	for i := range dirs {
		info, err := d.sink.root.Lstat(stdpath.Join(dirs[:i+1]...))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return landingFailed("looking where "+sandbox.Echo(name)+" lands", err)
		case info.Mode()&fs.ModeSymlink != 0:
			return notConfined(name)
		case !info.IsDir():
			return exists(name)
		}
	}
	return nil
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

// landingFailed keeps the reason and drops the path of the host from it.
func landingFailed(doing string, err error) *sandbox.Refusal {
	return sandbox.Finding{
		Code: sandbox.CodeLandingFailed, Found: "a failure of the sink, " + doing,
		Required: "a sink that takes files", Remedy: "see the underlying error",
	}.Refusal(withoutPath(err))
}

func withoutPath(err error) error {
	var (
		path *fs.PathError
		link *os.LinkError
	)
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
