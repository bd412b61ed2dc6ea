package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/bwrap"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/cgroup"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/gvisor"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/launch"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/owner"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/seccomp"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/spawn"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// host is what all sandboxes of an engine share.
type host struct {
	owner    *owner.Host
	stateDir string
	group    *cgroup.Host // nil without cgroups
	place    cgroup.Place
	missing  *cgroup.Missing // why there are none
	users    *users
	view     view.View
	thread   *spawn.Thread
	images   []*launch.Image
	launcher launcher
	version  string // of what builds sandboxes

	runsc   *gvisor.Program // nil with bubblewrap
	bundles string          // the directory of gVisor's bundles once it is made

	bundlesIn string // where that directory is, or empty with bubblewrap

	outlets outlets // of sandboxes with an allowlist
}

// launcher starts what becomes a sandbox's process 1: another program than
// bubblewrap that builds sandboxes is another launcher, and nothing else.
type launcher interface {
	// Launch starts a sandbox with the agent in it. On an error nothing of it runs.
	Launch(ctx context.Context, req launch.Request) (*launch.Sandbox, error)
}

// newHost makes what sandboxes are made with, and cleans up after hosts that
// died. On an error nothing of it is left.
func newHost(ctx context.Context, c Config) (_ *host, err error) {
	if err := checkUsers(c.Users, os.Geteuid()); err != nil {
		return nil, err
	}
	h := &host{}
	defer func() {
		if err != nil {
			undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
			defer cancel()
			err = errors.Join(err, h.close(undo))
		}
	}()
	path, options, err := h.find(ctx, c)
	if err != nil {
		return nil, err
	}
	if h.stateDir, err = prepareStateDir(c.StateDir); err != nil {
		return nil, err
	}
	if err := reap(ctx, h.stateDir); err != nil {
		c.Notice(err.Error())
	}
	if h.runsc != nil {
		if err := h.findPlace(c.Users.Count > 0); err != nil {
			return nil, err
		}
	}
	if h.outlets, err = newOutlets(c, h.stateDir); err != nil {
		return nil, err
	}
	if err := h.own(c); err != nil {
		return nil, err
	}
	if h.users, err = newUsers(h.stateDir, c.Users); err != nil {
		return nil, err
	}
	if h.view, err = baseView(c, h.stateDir); err != nil {
		return nil, err
	}
	if h.thread, err = spawn.NewThread(); err != nil {
		return nil, err
	}
	agent, filter, err := h.load(&options)
	if err != nil {
		return nil, err
	}
	if h.runsc != nil {
		h.launcher = h.gvisorLauncher(agent)
		return h, nil
	}
	h.launcher = &launch.Bubblewrap{
		Path: path, Options: options, Thread: h.thread, Agent: agent, Filter: filter, Mark: mark(h.owner.ID),
	}
	return h, nil
}

// find looks for what builds sandboxes: gVisor, or the bubblewrap that it answers.
func (h *host) find(ctx context.Context, c Config) (path string, options bwrap.Options, err error) {
	if c.Runtime == RuntimeGVisor {
		return "", bwrap.Options{}, h.findRunsc(ctx, c.Runsc)
	}
	path, options, err = findBubblewrap(ctx, c.Bubblewrap)
	h.version = "bubblewrap " + options.Version
	return path, options, err
}

// mark is the name under which this host's processes show before they have
// become a sandbox.
func mark(id string) string { return "sandbox-host-" + id }

// own takes a place among the hosts of the machine and makes this one's cgroup,
// where there can be one.
func (h *host) own(c Config) (err error) {
	h.place, err = cgroup.Find(c.Cgroup)
	if missing, ok := errors.AsType[*cgroup.Missing](err); ok {
		h.missing = missing
	} else if err != nil {
		return err
	}
	h.owner, err = owner.Enter(h.stateDir, func(id string) owner.Record {
		record := owner.Record{Mark: mark(id), Bundles: h.bundlesOf(id), Sockets: h.outlets.of(id)}
		if h.missing == nil {
			record.Cgroups = h.place.Host(id).Directories()
		}
		return record
	})
	if err != nil {
		return err
	}
	if err := h.makeBundles(); err != nil {
		return err
	}
	if err := h.outlets.make(h.owner.ID); err != nil || h.missing != nil {
		return err
	}
	h.group = h.place.Host(h.owner.ID)
	return h.group.Make()
}

// load puts the agent and the filter where nobody can change them: the agent in a
// file of this host's own, if it can be mounted and run from there.
func (h *host) load(options *bwrap.Options) (agent, filter *launch.Image, err error) {
	program, err := guestagent.ProgramFor(runtime.GOARCH)
	if err != nil {
		return nil, nil, err
	}
	if options.BindDescriptors {
		agent, err = launch.NewFile(h.owner.Path("agent"), os.Geteuid() == 0, program.Bytes)
		options.BindDescriptors = !errors.Is(err, launch.ErrNotThere)
	}
	if !options.BindDescriptors {
		agent, err = launch.NewImage("agent", program.Bytes)
	}
	if err != nil {
		return nil, nil, err
	}
	h.images = append(h.images, agent)
	if agent.Digest() != program.Digest {
		return nil, nil, errors.New("the agent that sandboxes would run is not the one that was built")
	}
	rules, err := seccomp.Compile(runtime.GOARCH)
	if err != nil {
		return nil, nil, err
	}
	if filter, err = launch.NewImage("filter", rules); err != nil {
		return nil, nil, err
	}
	h.images = append(h.images, filter)
	return agent, filter, nil
}

// close removes what the host made outside this process. It may be called at any
// stage, and again after an error.
func (h *host) close(ctx context.Context) error {
	if h.thread != nil {
		h.thread.Close() // ends what it started
	}
	if h.group != nil {
		if err := h.group.Remove(ctx); err != nil {
			return err
		}
		h.group = nil
	}
	if h.bundles != "" {
		if err := removeNoted(h.bundles); err != nil {
			return err
		}
		h.bundles = ""
	}
	if err := h.outlets.close(); err != nil {
		return err
	}
	var errs []error
	if h.runsc != nil {
		errs = append(errs, h.runsc.Close())
	}
	if h.owner != nil {
		errs = append(errs, h.owner.Close())
	}
	if h.users != nil {
		errs = append(errs, h.users.close())
	}
	for _, image := range h.images {
		errs = append(errs, image.Close())
	}
	h.owner, h.users, h.images, h.runsc = nil, nil, nil, nil
	return errors.Join(errs...)
}

// reap removes what hosts that are gone have left.
func reap(ctx context.Context, stateDir string) error {
	return owner.Reap(ctx, stateDir, func(ctx context.Context, gone owner.Record) error {
		if err := errors.Join(spawn.EndMarked(ctx, gone.Mark), cgroup.Reap(ctx, gone.Cgroups)); err != nil {
			return err
		}
		return errors.Join(removeNoted(gone.Bundles), removeNoted(gone.Sockets))
	})
}

// checkUsers refuses a root host that would stay root, which a user namespace does
// not change, and others that would pretend to become somebody.
func checkUsers(u Users, euid int) error {
	required, remedy := "", ""
	switch {
	case euid == 0 && u.Count == 0:
		required = "unprivileged users for the sandboxes of a host that runs as root"
		remedy = "set Users to user ids that nothing else uses, or run the host as an ordinary user"
	case euid == 0 && (u.First == 0 || uint64(u.First)+uint64(u.Count) > 1<<32-2):
		required = "user ids from 1 to 4294967293"
		remedy = "set Users to user ids that nothing else uses"
	case euid != 0 && u != Users{}:
		required = "no Users for a host that is not root: its sandboxes run as itself"
		remedy = "leave Users out, or run the host as root"
	default:
		return nil
	}
	return sandbox.Finding{
		Code: sandbox.CodeOptionsInvalid, Path: sandbox.Path("Users"),
		Found:    fmt.Sprintf("%d users from %d, for a host with user id %d", u.Count, u.First, euid),
		Required: required, Remedy: remedy,
	}.Refusal(nil)
}

func findBubblewrap(ctx context.Context, configured string) (string, bwrap.Options, error) {
	unfit := func(found string, err error) error {
		return sandbox.Finding{
			Code: sandbox.CodeBackendUnfit, Path: sandbox.Path("Bubblewrap"), Found: found,
			Required: "bubblewrap " + bwrap.Oldest + " or later",
			Remedy:   "install the package bubblewrap, or name the program's path",
		}.Refusal(err)
	}
	path := configured
	if path == "" {
		found, err := exec.LookPath("bwrap")
		if err != nil {
			return "", bwrap.Options{}, unfit("no program bwrap in PATH", err)
		}
		path = found
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	said, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", bwrap.Options{}, unfit("a bwrap that does not start", err)
	}
	help, err := exec.CommandContext(ctx, path, "--help").CombinedOutput()
	if err != nil {
		return "", bwrap.Options{}, unfit("a bwrap that does not say what it can", err)
	}
	options, err := bwrap.Parse(string(said), string(help))
	if err != nil {
		return "", bwrap.Options{}, unfit(err.Error(), nil)
	}
	return path, options, nil
}

func prepareStateDir(dir string) (string, error) {
	if dir == "" {
		dir = filepath.Join(runtimeDir(), "sandbox-process-"+strconv.Itoa(os.Geteuid()))
	}
	private, err := owner.Private(dir)
	if err != nil {
		return "", sandbox.Finding{
			Code: sandbox.CodeOptionsInvalid, Path: sandbox.Path("StateDir"), Found: sandbox.Echo(dir),
			Required: "a directory that only this user can reach into or replace",
			Remedy:   "name another directory, or correct its owner and mode and those of the directories above it",
		}.Refusal(err)
	}
	return private, nil
}

// runtimeDir is this user's own directory for what goes with the machine's run.
// Who has become root is often left with the one of whom they were, who could
// exchange what is in it.
func runtimeDir() string {
	var s unix.Stat_t
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" || unix.Stat(dir, &s) != nil || int(s.Uid) != os.Geteuid() {
		return os.TempDir()
	}
	return dir
}

// baseView is what all sandboxes see of the machine, which is never what hosts
// note for each other.
func baseView(c Config, stateDir string) (view.View, error) {
	show := view.Host
	if c.RootFS != "" {
		show = func() (view.View, error) { return view.RootFS(sandbox.Path("RootFS"), c.RootFS) }
	}
	v, err := show()
	if err != nil {
		return nil, err
	}
	for i, dir := range c.Show {
		if v, err = v.Add(sandbox.Path("Show", i), dir); err != nil {
			return nil, err
		}
	}
	for _, source := range v.Sources() {
		if view.Within(source, stateDir) || view.Within(stateDir, source) {
			return nil, sandbox.Finding{
				Code: sandbox.CodeOptionsInvalid, Path: sandbox.Path("StateDir"), Found: sandbox.Echo(stateDir),
				Required: "a directory apart from " + sandbox.Echo(source) + ", which sandboxes see",
				Remedy:   "name another directory, or show less",
			}.Refusal(nil)
		}
	}
	return v, nil
}
