package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/bwrap"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/guestroot"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/launch"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// root is what makes a guest one with a root of its own; nil is one without.
type root struct {
	image   Image
	files   guestroot.Accounts // those of a guest that no image brings any
	account guestroot.Account
	second  *user // whom the image's user is on this machine
	holds   holds
}

// root looks at the image of a sandbox; nil where the engine has no images.
func (e *Engine) root(ctx context.Context, wanted sandbox.Image) (*root, error) {
	if e.config.Images == nil {
		return nil, nil //nolint:nilnil // one user, and nobody's root
	}
	image, err := e.config.Images(ctx, wanted)
	if err != nil {
		return nil, err
	}
	if !image.Machine && image.Files == nil {
		return nil, sandbox.Finding{
			Code: sandbox.CodeImageUnsupported, Path: sandbox.Path("image"), Found: "an image without programs",
			Required: "an image that this engine was given files for", Remedy: "name another image",
		}.Refusal(nil)
	}
	r := &root{image: image}
	if err := r.lookUp(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// lookUp finds whom the image's programs run as.
func (r *root) lookUp(ctx context.Context) error {
	files := guestroot.Accounts{}
	var err error
	if r.image.Machine {
		if r.files, err = guestroot.NewAccounts(numeric(r.image.User)); err != nil {
			return r.unknown(err)
		}
		files = r.files
	}
	if r.image.Files != nil {
		brought, err := r.read(ctx)
		if err != nil {
			return err
		}
		if brought.Passwd != nil {
			files = brought
		}
	}
	if r.account, err = guestroot.Lookup(r.image.User, files); err != nil {
		return r.unknown(err)
	}
	return nil
}

// numeric is the user of a guest that no image brings accounts, or root where it
// is a name that only an archive can know.
func numeric(name string) string {
	if name != guestroot.User && strings.Trim(name, "0123456789:") != "" {
		return ""
	}
	return name
}

func (r *root) read(ctx context.Context) (guestroot.Accounts, error) {
	archive, err := r.image.Files(ctx)
	if err != nil {
		return guestroot.Accounts{}, fmt.Errorf("open an image's files: %w", err)
	}
	defer archive.Close()
	return guestroot.Read(archive)
}

func (r *root) unknown(err error) error {
	return sandbox.Finding{
		Code: sandbox.CodeImageUserUnserved, Path: sandbox.Path("image", "user"), Found: sandbox.Echo(r.image.User),
		Required: "a user that the image's /etc/passwd knows, or a number", Remedy: "name another user, or its number",
	}.Refusal(err)
}

// admit takes the second user that the image needs, and refuses where there is none.
func (r *root) admit(users *users) (err error) {
	if r == nil || r.account.IsRoot() {
		return nil
	}
	if users.from.Count < 2 {
		return sandbox.Finding{
			Code: sandbox.CodeImageUserUnserved, Path: sandbox.Path("image", "user"), Found: sandbox.Echo(r.image.User),
			Required: "root, since this host has one user for a sandbox, who is its root",
			Remedy:   "run the host as root with at least two Users, or choose an image that runs as root",
		}.Refusal(nil)
	}
	r.second, err = users.take()
	return err
}

func (r *root) giveBack() {
	if r != nil {
		r.second.giveBack()
	}
}

// request is what the launcher makes for the guest.
func (r *root) request(first *user, bytes int64) *launch.Root {
	if r == nil {
		return nil
	}
	out := &launch.Root{Bytes: bytes}
	if r.second == nil {
		return out
	}
	ids := func(guest uint32) []launch.ID {
		mapped := []launch.ID{{Guest: 0, Host: first.id}}
		if guest != 0 {
			mapped = append(mapped, launch.ID{Guest: guest, Host: r.second.id})
		}
		return mapped
	}
	out.Users, out.Groups = ids(r.account.UID), ids(r.account.GID)
	return out
}

// options is how the guest's agent is spoken to.
func (r *root) options() guestagent.Options {
	if r == nil {
		return guestagent.Options{}
	}
	o := guestagent.Options{Root: true}
	if !r.account.IsRoot() {
		o.RunAs = &guestagent.User{UID: r.account.UID, GID: r.account.GID}
		for _, g := range r.account.Groups {
			if g == 0 || g == r.account.GID { // the guest has no other
				o.RunAs.Groups = append(o.RunAs.Groups, g)
			}
		}
	}
	return o
}

// outletBytes is room for all the authorities that anybody trusts.
const outletBytes = 16 << 20

// sees is what a sandbox sees of the machine, and what else it has that is not in
// its root file system.
func (e *Engine) sees(g *guest, workDir string) (view.View, error) {
	if g.root == nil {
		return view.Make(slices.Concat(e.host.view, g.outlet.shown()), workDir, e.config.sizes())
	}
	if workDir != "" && (!path.IsAbs(workDir) || path.Clean(workDir) != workDir) {
		return nil, sandbox.Finding{
			Code: sandbox.CodePathInvalid, Path: sandbox.Path("work_dir"), Found: sandbox.Echo(workDir),
			Required: "an absolute directory without . or ..", Remedy: "leave work_dir out, or name one such as /work",
		}.Refusal(nil)
	}
	var machine view.View
	if g.root.image.Machine {
		machine = e.host.view
	}
	shown := g.outlet.shown()
	if len(shown) > 0 {
		// A mount of its own, which the guest's root can neither change nor remove.
		shown = append(view.View{{Kind: view.Memory, Path: path.Dir(proxySocket), Bytes: outletBytes, Sealed: true}}, shown...)
	}
	return view.MakeRoot(slices.Concat(machine, shown), e.config.SharedBytes), nil
}

// furnish puts into the root file system what the guest has to begin with.
func (r *root) furnish(ctx context.Context, agent *guestagent.Client, workDir string) error {
	if r == nil {
		return nil
	}
	first, err := guestroot.Hosts(view.Hostname)
	if r.image.Machine {
		first, err = guestroot.Skeleton(r.files, r.account, view.Hostname)
	}
	if err != nil {
		return err
	}
	if err := agent.Unpack(ctx, bytes.NewReader(first)); err != nil {
		return fmt.Errorf("furnish a sandbox: %w", err)
	}
	if r.image.Files != nil {
		archive, err := r.image.Files(ctx)
		if err != nil {
			return fmt.Errorf("open an image's files: %w", err)
		}
		defer archive.Close()
		if err := agent.Unpack(ctx, archive); err != nil {
			return fmt.Errorf("unpack an image's files: %w", err)
		}
	}
	return makeAll(ctx, agent, workDir)
}

// makeAll makes a directory and those above it.
func makeAll(ctx context.Context, agent *guestagent.Client, dir string) error {
	if dir == "" || dir == "/" {
		return nil
	}
	if err := makeAll(ctx, agent, path.Dir(dir)); err != nil {
		return err
	}
	ref := engine.FileRef{Root: "/", Path: dir, Access: engine.Access{As: sandbox.PrincipalRoot, Links: engine.Follow}}
	err := agent.Mkdir(ctx, ref)
	if errors.Is(err, engine.ErrThroughLink) {
		return nil // a link: what is made next says whether it leads to a directory
	}
	return err
}

// trialImage is what the probe's own sandbox is made from.
func trialImage(context.Context, sandbox.Image) (Image, error) { return Image{Machine: true}, nil }

// capabilities are what process 1 has, as the kernel writes them.
func (r *root) capabilities() string {
	var set uint64
	if r != nil {
		for _, n := range bwrap.Capabilities() {
			set |= 1 << n
		}
	}
	return fmt.Sprintf("%016x", set)
}

// variables are what the image's programs have, under what is asked for.
func (r *root) variables(told, asked []string) []string {
	standard := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + r.account.Home}
	return merge(merge(standard, append(slices.Clone(told), r.image.Env...)), asked)
}

// merge sets more variables, over those of the same name.
func merge(env, more []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.ContainsFunc(more, func(m string) bool { return strings.HasPrefix(m, name+"=") })
	})
	return append(env, more...)
}

// dir is where a program runs.
func (r *root) dir(asked string) string {
	switch {
	case asked != "":
		return asked
	case r != nil && path.IsAbs(r.image.WorkDir):
		return path.Clean(r.image.WorkDir)
	}
	return "/"
}

var errNoRoot = errors.New("the sandbox has no root of its own")

// ExecAsRoot runs a program as the guest's root.
func (g *guest) ExecAsRoot(ctx context.Context, cmd engine.ExecRequest) (int, error) {
	if g.root == nil {
		return 0, errNoRoot
	}
	return g.run(ctx, cmd, g.Client.ExecAsRoot)
}

// Attach shows a directory of the machine in a guest with a root.
func (g *guest) Attach(ctx context.Context, dir, at string, readOnly bool) error {
	if g.root == nil {
		return errNoRoot
	}
	if err := makeAll(ctx, g.Client, at); err != nil {
		return err
	}
	err := g.sandbox.Attach(dir, at, readOnly)
	if errors.Is(err, launch.ErrCannotAttach) {
		return errors.Join(ErrCannotAttach, err)
	}
	return err
}

// Rejudge ends what the judge of the guest's egress does not admit any more.
func (g *guest) Rejudge() {
	if g.outlet != nil {
		g.outlet.proxy.Reload(g.outlet.rules)
	}
}

// holds are those who want a guest's programs stopped.
type holds struct {
	mu      sync.Mutex
	count   int
	release func(context.Context) error
}

// Hold stops every program of a guest with a root. They go on when the last who
// held them lets go.
func (g *guest) Hold(ctx context.Context) (release func(context.Context) error, err error) {
	if g.root == nil {
		return nil, errNoRoot
	}
	h := &g.root.holds
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count == 0 {
		if h.release, err = g.Client.Hold(ctx); err != nil {
			return nil, err
		}
	}
	h.count++
	var once sync.Once
	return func(ctx context.Context) (err error) {
		once.Do(func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.count--; h.count == 0 {
				err = h.release(ctx)
			}
		})
		return err
	}, nil
}

// Snapshot writes the root file system of a guest with a root.
func (g *guest) Snapshot(ctx context.Context, to io.Writer) (err error) {
	release, err := g.Hold(ctx)
	if err != nil {
		return fmt.Errorf("stop a sandbox's programs: %w", err)
	}
	defer func() {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer cancel()
		err = errors.Join(err, release(after))
	}()
	archive, err := g.Pack(ctx)
	if err != nil {
		return fmt.Errorf("pack a sandbox's files: %w", err)
	}
	defer archive.Close()
	if _, err := io.Copy(to, archive); err != nil {
		return fmt.Errorf("pack a sandbox's files: %w", err)
	}
	return nil
}

// rootBytes bounds the root file system, which is the work directory and /tmp too.
func (c Config) rootBytes() int64 { return c.WorkBytes + c.TmpBytes }

var _ RootGuest = (*guest)(nil)
