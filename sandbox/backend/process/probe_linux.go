package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/guestroot"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// probeTime bounds the probe, which takes a fifth of a second, and one or two with
// gVisor.
const probeTime = time.Minute

// trialMemory and trialWrite are the bound of the probe's own sandbox, and the
// file that it cannot hold.
const (
	trialMemory = 48 << 20
	trialWrite  = 192 << 20
)

// probe makes a sandbox as all others are made, looks at it from outside and
// tries its limits. What it looks at is the kernel's word, or the agent's from
// before there was any guest program.
func (e *Engine) probe(ctx context.Context) (report Report, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	trial := &Engine{host: e.host, config: e.config.trial()}
	if e.host.runsc != nil {
		if trial.host, err = e.host.withAgent(); err != nil {
			return Report{}, err
		}
	}
	g, err := trial.make(ctx, 0, engine.StartRequest{Name: "probe", WorkDir: sandbox.DefaultWorkDir})
	if err != nil {
		return Report{}, unfit(err)
	}
	defer func() {
		done, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer cancel()
		err = errors.Join(err, g.remove(done))
	}()
	if err := e.probeWalls(ctx, g, &report); err != nil {
		return Report{}, err
	}
	if err := e.probeEgress(ctx, &report); err != nil {
		return Report{}, err
	}
	e.probeLimits(ctx, g, &report)
	if e.host.runsc != nil {
		if err := report.demand(); err != nil {
			return Report{}, err
		}
	}
	report.declare(e.config, e.host.version)
	return report, nil
}

// trial is the configuration of the probe's own sandbox.
func (c Config) trial() Config {
	c.MemoryBytes, c.Processes = trialMemory, leastProcesses
	if c.Runtime == RuntimeGVisor {
		c.MemoryBytes = leastMemoryGVisor
	}
	c.TmpBytes = 2 * trialWrite
	if c.Images != nil {
		c.Images = trialImage
	}
	return c
}

// probeWalls are the checks without which no sandbox is served.
func (e *Engine) probeWalls(ctx context.Context, g *guest, report *Report) error {
	status, err := statusOf(g.sandbox.PID)
	if err != nil {
		return err
	}
	e.probeUser(g, status, report)
	probeNamespaces(g, report)
	report.add("seccomp filter", status["Seccomp"] == "2" && status["NoNewPrivs"] == "1",
		"mode "+status["Seccomp"]+", no new privileges "+status["NoNewPrivs"], "run a kernel with CONFIG_SECCOMP_FILTER")
	if e.host.runsc != nil {
		e.probeGVisor(ctx, g, report)
	} else {
		want := g.root.capabilities()
		report.add("capabilities", status["CapEff"] == want && status["CapPrm"] == want && status["CapBnd"] == want,
			"effective "+status["CapEff"]+", bounding "+status["CapBnd"], "replace this bubblewrap")
	}
	devices, err := os.ReadFile("/proc/" + strconv.Itoa(g.sandbox.PID) + "/net/dev")
	lines := bytes.Count(devices, []byte("\n")) - 2 // a heading of two
	report.add("network", err == nil && lines == 1 && bytes.Contains(devices, []byte(" lo:")),
		strconv.Itoa(lines)+" interface, loopback", "replace this bubblewrap")
	if err := e.probeCanaries(ctx, g, report); err != nil {
		return err
	}
	for _, c := range report.Checks {
		if !c.Held {
			return sandbox.Finding{
				Code: sandbox.CodeBackendUnfit, Found: c.Name + " of a sandbox: " + c.Shown,
				Required: "a sandbox that has its walls", Remedy: c.Remedy,
			}.Refusal(nil)
		}
	}
	return nil
}

// probeUser is about who the sandbox is on the machine.
func (e *Engine) probeUser(g *guest, status map[string]string, report *Report) {
	want := strconv.Itoa(os.Geteuid())
	if g.user != nil {
		want = strconv.FormatUint(uint64(g.user.id), 10)
	}
	same := want != "0"
	for id := range strings.FieldsSeq(status["Uid"]) {
		same = same && id == want
	}
	dropped := g.user == nil || strings.TrimSpace(status["Groups"]) == ""
	report.add("user", same && dropped, "user id "+want+" on the machine", "give Users that this process may become")
}

func probeNamespaces(g *guest, report *Report) {
	var own, shared []string
	for _, kind := range []string{"cgroup", "ipc", "mnt", "net", "pid", "uts"} {
		theirs := g.sandbox.Namespaces[kind+"-namespace"]
		link, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil || theirs == 0 || link == fmt.Sprintf("%s:[%d]", kind, theirs) {
			shared = append(shared, kind)
			continue
		}
		own = append(own, kind)
	}
	const everybody = "4294967295"
	mapped, err := os.ReadFile("/proc/" + strconv.Itoa(g.sandbox.PID) + "/uid_map")
	if fields := strings.Fields(string(mapped)); err != nil || len(fields) != 3 || fields[2] == everybody {
		shared = append(shared, "user")
	} else {
		own = append(own, "user")
	}
	shown := strings.Join(own, ", ")
	if len(shared) > 0 {
		shown = "shared with the host: " + strings.Join(shared, ", ")
	}
	report.add("namespaces", len(shared) == 0, shown, "run a kernel with all namespaces")
}

// probeCanaries looks from inside for what must not be there.
func (e *Engine) probeCanaries(ctx context.Context, g *guest, report *Report) error {
	canary := e.host.owner.Path("canary")
	if err := os.WriteFile(canary, []byte("canary"), 0o600); err != nil {
		return fmt.Errorf("leave a canary: %w", err)
	}
	defer os.Remove(canary) //nolint:errcheck // it is empty of meaning
	places := []string{canary, e.host.stateDir, "/root", "/home", "/var", "/sys", "/boot", "/mnt", "/etc/shadow", "/etc/hostname", "/run/docker.sock", "/run/dbus"}
	if home, err := os.UserHomeDir(); err == nil {
		places = append(places, home)
	}
	if dir, err := os.Getwd(); err == nil && dir != "/" {
		places = append(places, dir)
	}
	for _, place := range places {
		place = filepath.Clean(place)
		if !filepath.IsAbs(place) || e.shows(place) || place == "/sys" && e.host.runsc != nil { // gVisor has its own
			continue
		}
		_, err := g.Stat(ctx, engine.FileRef{Root: "/", Path: place, Access: e.Access()[0]})
		if !errors.Is(err, engine.ErrNotExist) {
			report.add("file system", false, "a place of the host can be seen", reportWall)
			return nil
		}
	}
	report.add("file system", true, "canaries out of sight", "")
	return nil
}

// shows reports whether a place is part of the view by intent.
func (e *Engine) shows(place string) bool {
	for _, entry := range e.host.view {
		if view.Within(place, entry.Path) || view.Within(entry.Path, place) {
			return true
		}
	}
	return view.Within(sandbox.DefaultWorkDir, place) || place == "/tmp" || e.config.Images != nil && guestroot.Has(place)
}

// probeLimits tries what the cgroup enforces; the sandbox does not survive it.
func (e *Engine) probeLimits(ctx context.Context, g *guest, report *Report) {
	if g.group == nil {
		limits := "rlimits only"
		if !g.sandbox.Limited {
			limits = "none"
		}
		report.add("limits", false, limits+", because of "+e.host.missing.Found, e.host.missing.Remedy)
		return
	}
	if e.host.runsc != nil {
		e.probeGVisorProcesses(ctx, g, report)
		e.probeMemory(ctx, g, report)
		return
	}
	// The agent's own threads fill it; whether one more process is refused or the
	// agent dies of it, the kernel has counted.
	before := g.group.Events()
	if err := g.group.Limit(before.Processes); err == nil {
		_, _ = g.Client.Exec(ctx, engine.ExecRequest{Args: []string{view.Agent}, Dir: "/"})
	}
	refused := g.group.Events().ForksRefused - before.ForksRefused
	report.add("process limit", refused > 0, "cgroup "+e.host.place.Version()+", enforced", "give the host's cgroup the pids controller")

	_ = g.group.Limit(leastProcesses)
	e.probeMemory(ctx, g, report)
}

// probeMemory writes more than the sandbox may have.
func (e *Engine) probeMemory(ctx context.Context, g *guest, report *Report) {
	_ = g.Write(ctx, engine.FileRef{Root: "/tmp", Path: "/tmp/fill", Access: e.Access()[0]}, zeroes{}, trialWrite)
	killed := g.group.Events().MemoryKills
	report.add("memory limit", killed > 0, "cgroup "+e.host.place.Version()+", enforced, files included", "give the host's cgroup the memory controller")
}

// zeroes is content without end.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// statusOf reads what the kernel says of a process.
func statusOf(pid int) (map[string]string, error) {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return nil, fmt.Errorf("look at a sandbox: %w", err)
	}
	return fields(string(content)), nil
}

// fields reads lines such as "Seccomp:\t2".
func fields(content string) map[string]string {
	status := map[string]string{}
	for line := range strings.Lines(content) {
		name, value, _ := strings.Cut(line, ":")
		status[name] = strings.TrimSpace(value)
	}
	return status
}

func zero(hex string) bool { return hex != "" && strings.Trim(hex, "0") == "" }

// unfit says what a machine on which no sandbox starts lacks.
func unfit(err error) error {
	if sandbox.RefusalOf(err) != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	remedy := "see the underlying error"
	said := err.Error()
	switch {
	case strings.Contains(said, "mount proc"): // first: it ends in the same words as the others
		remedy = "run the host where /proc is not masked (in Docker: --security-opt systempaths=unconfined)"
	case strings.Contains(said, "new namespace"), strings.Contains(said, "uid map"), strings.Contains(said, "user namespace"),
		strings.Contains(said, "Operation not permitted"):
		remedy = "allow user namespaces: kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0 and " +
			"kernel.apparmor_restrict_unprivileged_userns=0 (sysctl), or an AppArmor profile for bwrap that permits userns"
	}
	return sandbox.Finding{
		Code: sandbox.CodeBackendUnfit, Found: "a sandbox that does not start on this " + runtime.GOOS + " machine",
		Required: "user, mount, process and network namespaces for the host's user", Remedy: remedy,
	}.Refusal(err)
}
