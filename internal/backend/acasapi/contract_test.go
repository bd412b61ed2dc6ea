package acasapi_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestASandboxLivesAgainstEachServer(t *testing.T) {
	t.Parallel()
	onEach(t, how{createLooks: 2, stopLooks: 2}, aSandboxLives)
}

func aSandboxLives(t *testing.T, o *other) {
	t.Helper()
	w := newWorld(t, o)
	ctx := t.Context()
	var states []string
	made := must(w.g.CreateSandbox(ctx, smallest(), acasapi.Making{Wait: acasapi.Wait{
		Progress: func(state string, _ time.Duration) { states = append(states, state) },
	}}))(t)
	if made.State != wire.StateRunning || !made.Labels.Has(wire.Labels{"run": "42"}) {
		t.Fatalf("made %+v", made)
	}
	if !slices.Equal(states, []string{"Creating", "Running"}) {
		t.Errorf("progress told of %q", states)
	}
	s := must(w.g.Sandbox(made.ID))(t)
	if n := must(w.g.CountSandboxes(ctx))(t); n != 1 {
		t.Errorf("%d sandboxes", n)
	}

	result := must(s.ExecShell(ctx, wire.ShellCommand{Command: "echo out; echo err >&2; exit 3", WorkingDirectory: "/tmp"}))(t)
	if *result.ExitCode != 3 || result.Stdout != "out\n" || result.Stderr != "err\n" {
		t.Errorf("exec gave %+v", result)
	}
	result = must(s.ExecCommand(ctx, wire.Command{Command: "printenv", Args: []string{"NAME"}, Environment: map[string]string{"NAME": "a b"}}))(t)
	if *result.ExitCode != 0 || result.Stdout != "a b\n" {
		t.Errorf("exec of a program gave %+v", result)
	}

	if stopped := must(s.Stop(ctx, acasapi.Wait{}))(t); stopped.State != wire.StateStopped {
		t.Errorf("stopped is %s", stopped.State)
	}
	if _, err := s.ExecShell(ctx, wire.ShellCommand{Command: "true"}); !errors.Is(err, sandbox.CodeServiceNotRunning) {
		t.Errorf("exec in a stopped sandbox: %v", err)
	}
	if running := must(s.Resume(ctx, acasapi.Wait{}))(t); running.State != wire.StateRunning {
		t.Errorf("resumed is %s", running.State)
	}
	must(s.Disable(ctx, acasapi.Wait{}))(t)
	if _, err := s.Resume(ctx, acasapi.Wait{}); !errors.Is(err, sandbox.CodeServiceConflict) {
		t.Errorf("resume of a disabled sandbox: %v", err)
	}
	if err := s.Enable(ctx); err != nil {
		t.Error(err)
	}
	must(s.Resume(ctx, acasapi.Wait{}))(t)
	must(s.Stats(ctx))(t)

	for range 2 { // gone is success
		if err := s.Delete(ctx, acasapi.Wait{}); err != nil {
			t.Error(err)
		}
	}
	if n := must(w.g.CountSandboxes(ctx))(t); n != 0 {
		t.Errorf("%d sandboxes are left", n)
	}
}

func TestASandboxIsCopiedAgainstEachServer(t *testing.T) {
	t.Parallel()
	onEach(t, how{snapshotMisses: 1}, aSandboxIsCopied)
}

func aSandboxIsCopied(t *testing.T, o *other) {
	t.Helper()
	w := newWorld(t, o)
	s, ctx := w.sandbox(t), t.Context()
	snapshot := must(s.CreateSnapshot(ctx, wire.Labels{"name": "s"}, acasapi.Making{}))(t)
	if got := must(gathered(w.g.Snapshots(ctx, wire.Labels{"name": "s"})))(t); len(got) != 1 || got[0].ID != snapshot.ID {
		t.Errorf("snapshots are %+v", got)
	}
	restored := must(w.g.CreateSandbox(ctx, wire.CreateSandbox{SourcesRef: &wire.SourcesRef{Snapshot: &wire.SnapshotRef{ID: snapshot.ID}}}, acasapi.Making{}))(t)
	image := must(s.Commit(ctx, nil, acasapi.Making{}))(t)
	if err := must(w.g.Sandbox(restored.ID))(t).Delete(ctx, acasapi.Wait{}); err != nil {
		t.Error(err)
	}
	if err := errors.Join(w.g.DeleteSnapshot(ctx, snapshot.ID, acasapi.Wait{}), w.g.DeleteImage(ctx, image.ID, acasapi.Wait{})); err != nil {
		t.Error(err)
	}
	if n := must(w.g.CountSnapshots(ctx))(t); n != 0 {
		t.Errorf("%d snapshots are left", n)
	}
}

func TestFilesCrossAgainstEachServer(t *testing.T) {
	t.Parallel()
	onEach(t, how{}, filesCross)
}

func filesCross(t *testing.T, o *other) {
	t.Helper()
	w := newWorld(t, o)
	s, ctx := w.sandbox(t), t.Context()
	content := bytes.Repeat([]byte{0, 0xff, '\n', 0x80}, 100_000)
	path := "/app/a b+c&d=e;f#g%41?ü/x"
	if err := s.WriteFile(ctx, path, bytes.NewReader(content), acasapi.Writing{Size: int64(len(content)), Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	info := must(s.StatFile(ctx, path))(t)
	if *info.Size != int64(len(content)) || info.Directory() || info.Link() || *info.Mode != 0o600 || info.Path != path {
		t.Errorf("stat gave %+v", info)
	}
	file := must(s.ReadFile(ctx, path))(t)
	got, err := io.ReadAll(file)
	if err := errors.Join(err, file.Close()); err != nil || !bytes.Equal(got, content) || file.Size != int64(len(content)) {
		t.Errorf("read %d bytes of %d, %v", len(got), file.Size, err)
	}
	if err := s.MakeDir(ctx, "/app/deep/er"); err != nil {
		t.Error(err)
	}
	if entries := must(s.ListFiles(ctx, "/app"))(t); len(entries) != 2 {
		t.Errorf("entries are %+v", entries)
	}
	if entries := must(s.ListFiles(ctx, "/app/deep/er"))(t); entries == nil || len(entries) != 0 {
		t.Errorf("an empty directory lists %+v", entries)
	}
	must(s.ExecShell(ctx, wire.ShellCommand{Command: "ln -s /etc/passwd /app/link"}))(t)
	if link := must(s.StatFile(ctx, "/app/link"))(t); !link.Link() || link.SymlinkTarget != "/etc/passwd" {
		t.Errorf("a link is %+v", link)
	}
	if err := s.DeleteFile(ctx, "/app", false); !errors.Is(err, sandbox.CodeServiceInvalid) {
		t.Errorf("a full directory without recursive: %v", err)
	}
	if err := s.DeleteFile(ctx, "/app", true); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"stat":   second(s.StatFile(ctx, path)),
		"read":   second(s.ReadFile(ctx, path)),
		"list":   second(s.ListFiles(ctx, path)),
		"delete": s.DeleteFile(ctx, path, false),
	} {
		if !errors.Is(err, sandbox.CodeServiceNotFound) {
			t.Errorf("%s of what is gone: %v", name, err)
		}
	}
}

func TestDiskImagesAgainstEachServer(t *testing.T) {
	t.Parallel()
	onEach(t, how{imageLooks: 3}, diskImages)
}

func diskImages(t *testing.T, o *other) {
	t.Helper()
	w := newWorld(t, o)
	ctx := t.Context()

	image := must(w.g.CreateImage(ctx, wire.CreateImage{
		Image: &wire.ImageSource{Base: "registry.example.test/team/app:1"}, Labels: wire.Labels{"name": "app"},
		RegistryCredentials: &wire.RegistryCredentials{Username: "u", Token: "sentinel-token"},
	}, acasapi.Making{}))(t)
	if image.State() != wire.ImageReady || image.Image.Base != "registry.example.test/team/app:1" {
		t.Errorf("image is %+v", image)
	}
	if got := must(gathered(w.g.Images(ctx, wire.Labels{"name": "app"})))(t); len(got) != 1 {
		t.Errorf("images are %+v", got)
	}
	user := smallest()
	user.SourcesRef = &wire.SourcesRef{DiskImage: &wire.ImageRef{ID: image.ID}}
	using := must(w.g.CreateSandbox(ctx, user, acasapi.Making{}))(t)
	if err := w.g.DeleteImage(ctx, image.ID, acasapi.Wait{}); !errors.Is(err, sandbox.CodeServiceConflict) {
		t.Errorf("an image in use: %v", err)
	}
	if err := must(w.g.Sandbox(using.ID))(t).Delete(ctx, acasapi.Wait{}); err != nil {
		t.Error(err)
	}
	if err := w.g.DeleteImage(ctx, image.ID, acasapi.Wait{}); err != nil {
		t.Error(err)
	}
	if names := must(gathered(w.g.PublicImages(ctx)))(t); len(names) != 17 {
		t.Errorf("%d public images", len(names))
	}
	if one := must(w.g.PublicImage(ctx, "python-3.13"))(t); one.Name != "python-3.13" {
		t.Errorf("public image is %+v", one)
	}
}

func TestVolumesAndSecretsAgainstEachServer(t *testing.T) {
	t.Parallel()
	onEach(t, how{}, volumesAndSecrets)
}

func volumesAndSecrets(t *testing.T, o *other) {
	t.Helper()
	w := newWorld(t, o)
	s, ctx := w.sandbox(t), t.Context()
	volume := must(w.g.PutVolume(ctx, "vol", wire.Volume{Type: wire.VolumeDisk, Size: "1Gi"}, acasapi.Wait{}))(t)
	if volume.VolumeName != "vol" {
		t.Errorf("volume is %+v", volume)
	}
	if err := s.AttachVolume(ctx, wire.VolumeMount{VolumeName: "vol", Mountpoint: "/data"}); err != nil {
		t.Error(err)
	}
	if err := w.g.DeleteVolume(ctx, "vol", acasapi.Wait{}); !errors.Is(err, sandbox.CodeServiceConflict) {
		t.Errorf("a volume in use: %v", err)
	}

	must(w.g.PutSecret(ctx, "svc-token", map[string]string{"k": "v1"}))(t)
	must(w.g.PutSecret(ctx, "svc-token", map[string]string{"other": "v2"}))(t)
	if keys := must(w.g.SecretKeys(ctx, "svc-token"))(t); !slices.Equal(keys, []string{"other"}) {
		t.Errorf("keys are %q", keys)
	}
	if values := must(w.g.PeekSecret(ctx, "svc-token"))(t); values["other"] != "v2" || len(values) != 1 {
		t.Errorf("values are %v", values)
	}
	if got := must(gathered(w.g.Secrets(ctx)))(t); len(got) != 1 {
		t.Errorf("secrets are %+v", got)
	}
	if err := errors.Join(w.g.DeleteSecret(ctx, "svc-token"), w.g.DeleteSecret(ctx, "svc-token")); err != nil {
		t.Error(err)
	}
	if got := must(gathered(w.g.Connections(ctx)))(t); len(got) != 0 {
		t.Errorf("connections are %+v", got)
	}
}

func TestPortsEgressAndLifecycleAgainstEachServer(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]bool{"sandbox": false, "policy": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, how{lifecycleIsPolicy: policy, strictPorts: true}, portsEgressAndLifecycle)
		})
	}
}

func portsEgressAndLifecycle(t *testing.T, o *other) {
	t.Helper()
	w := newWorld(t, o)
	s, ctx := w.sandbox(t), t.Context()
	want := wire.Lifecycle{
		AutoSuspend: &wire.AutoSuspend{Enabled: true, Interval: 60, Mode: wire.SuspendMemory},
		AutoDelete:  &wire.AutoDelete{Enabled: true, DeleteIntervalInSeconds: 600},
	}
	if got := must(s.SetLifecycle(ctx, want))(t); got.AutoSuspend.Interval != 60 || got.AutoDelete.DeleteIntervalInSeconds != 600 {
		t.Errorf("lifecycle is %+v", got)
	}
	ports := must(s.AddPort(ctx, wire.Port{Port: 8080}))(t)
	if len(ports) != 1 || !strings.HasPrefix(ports[0].URL, "https://") {
		t.Errorf("ports are %+v", ports)
	}
	if _, err := s.AddPort(ctx, wire.Port{Port: 8080}); !errors.Is(err, sandbox.CodeServiceConflict) {
		t.Errorf("the same port again: %v", err)
	}
	if _, err := s.ReplacePorts(ctx, []wire.Port{{Port: 81}}); !errors.Is(err, sandbox.CodeServiceInvalid) {
		t.Errorf("ports without url: %v", err)
	}
	must(s.ReplacePorts(ctx, ports))(t)
	for range 2 { // what is not exposed is closed
		if left := must(s.RemovePort(ctx, 8080))(t); len(left) != 0 {
			t.Errorf("ports are %+v", left)
		}
	}
	policy := wire.EgressPolicy{
		DefaultAction: wire.EgressDeny, TrafficInspection: wire.InspectFull,
		HostRules: []wire.HostRule{{Pattern: "allowed.acas.test", Action: wire.EgressAllow}},
		Rules: []wire.EgressRule{{
			Name: "r", Match: wire.EgressMatch{Host: "api.acas.test", Path: "/v1/*", Methods: []string{"GET"}},
			Action: wire.EgressAction{Type: wire.EgressAllow},
		}},
	}
	must(s.SetEgress(ctx, policy))(t)
	back, unknown, err := s.Egress(ctx)
	if err != nil || len(unknown) > 0 || back.DefaultAction != wire.EgressDeny || len(back.HostRules) != 1 || len(back.Rules) != 1 {
		t.Errorf("egress read back is %+v, unknown %q, %v", back, unknown, err)
	}
	must(s.EgressDecisions(ctx))(t)
	must(s.SetEgress(ctx, wire.EgressPolicy{DefaultAction: wire.EgressDeny}))(t)
	if left := w.Unfamiliar(); len(left) > 0 {
		t.Errorf("the canary sang: %+v", left)
	}
}

func TestGroupsLiveOnARMAgainstEachServer(t *testing.T) {
	t.Parallel()
	onEach(t, how{armLooks: 3, pageSize: 2}, groupsLiveOnARM)
}

func groupsLiveOnARM(t *testing.T, o *other) {
	t.Helper()
	w := newWorld(t, o)
	ctx, id := t.Context(), groupID(w.name)
	user := "/subscriptions/" + subscription + "/resourceGroups/rg/providers/Microsoft.ManagedIdentity/userAssignedIdentities/puller"
	group := must(w.PatchGroup(ctx, id, wire.GroupPatchBody{
		Tags: map[string]string{"env": "test"}, Identity: &wire.GroupIdentity{Type: wire.IdentityUser, User: map[string]wire.UserIdentity{user: {}}},
	}, acasapi.Wait{}))(t)
	if group.Identity.Type != wire.IdentityUser || group.Identity.User[user].ClientID == "" || group.Tags["env"] != "test" {
		t.Errorf("group is %+v", group)
	}
	for _, name := range []string{"second", "third"} {
		must(w.PutGroup(ctx, groupID(name), wire.Group{Location: "Sweden Central"}, acasapi.Wait{}))(t)
	}
	if _, err := w.PutGroup(ctx, id, wire.Group{Location: "eastus"}, acasapi.Wait{}); !errors.Is(err, sandbox.CodeServiceConflict) {
		t.Errorf("a group that moves: %v", err)
	}
	for _, rg := range []string{"rg", ""} {
		if all := must(gathered(w.ListGroups(ctx, subscription, rg)))(t); len(all) != 3 {
			t.Errorf("%d groups in %q", len(all), rg)
		}
	}
	subnet := wire.VNetConnection{Location: "swedencentral", Properties: wire.VNetProperties{SubnetID: "/subscriptions/x/subnets/y"}}
	vnet := must(w.PutVNetConnection(ctx, id, "net", subnet, acasapi.Wait{}))(t)
	if vnet.Properties.SubnetID != subnet.Properties.SubnetID {
		t.Errorf("connection is %+v", vnet)
	}
	if all := must(gathered(w.ListVNetConnections(ctx, id)))(t); len(all) != 1 {
		t.Errorf("%d connections", len(all))
	}
	for range 2 {
		if err := errors.Join(w.DeleteVNetConnection(ctx, id, "net", acasapi.Wait{}), w.DeleteGroup(ctx, id, acasapi.Wait{})); err != nil &&
			!errors.Is(err, sandbox.CodeServiceNotFound) {
			t.Error(err)
		}
	}
	if _, err := w.GetGroup(ctx, id); !errors.Is(err, sandbox.CodeServiceNotFound) {
		t.Errorf("the group is still there: %v", err)
	}
}

func TestListsComeInEveryFormOfEachServer(t *testing.T) {
	t.Parallel()
	onEach(t, how{pageSize: 3}, listsComeInEveryForm)
}

func listsComeInEveryForm(t *testing.T, o *other) {
	t.Helper()
	for name, size := range map[string]int{"bare": 100, "by number": 2, "exactly one page": 5, "linked": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, o, func(c *acasapi.Config) { c.PageSize = size })
			for range 5 {
				w.sandbox(t)
			}
			if all := must(gathered(w.g.Sandboxes(t.Context(), nil)))(t); len(all) != 5 {
				t.Errorf("%d sandboxes of 5", len(all))
			}
			if some := must(gathered(w.g.Sandboxes(t.Context(), wire.Labels{"run": "43"})))(t); len(some) != 0 {
				t.Errorf("%d sandboxes of another label", len(some))
			}
			if names := must(gathered(w.g.PublicImages(t.Context())))(t); len(names) != 17 {
				t.Errorf("%d public images of 17", len(names))
			}
		})
	}
}

func TestTheNewerVersionIsOneSetting(t *testing.T) {
	t.Parallel()
	onEach(t, how{}, theNewerVersion)
}

func theNewerVersion(t *testing.T, o *other) {
	t.Helper()
	w := newWorld(t, o, func(c *acasapi.Config) { c.DataVersion = wire.V0901 })
	s, ctx := w.sandbox(t), t.Context()
	if err := s.WriteFile(ctx, "/app/x", strings.NewReader("x"), acasapi.Writing{Size: 1}); err != nil {
		t.Fatal(err)
	}
	must(s.EgressDecisions(ctx))(t)
	must(w.g.CreateImage(ctx, wire.CreateImage{Image: &wire.ImageSource{Base: "registry.example.test/app:1"}}, acasapi.Making{}))(t)
	verbs := map[string]bool{}
	for _, s := range w.other.trace(t, w.name) {
		if !strings.Contains(s.Request.Path, "/providers/") && s.Request.Query["api-version"] != string(wire.V0901) {
			t.Errorf("%s %s in %s", s.Request.Method, s.Request.Path, s.Request.Query["api-version"])
		}
		verbs[s.Request.Method+" "+s.Request.Template[strings.LastIndex(s.Request.Template, "/"):]] = true
	}
	for _, want := range []string{"POST /sandboxes", "POST /files", "GET /egressDecisions", "POST /diskimages"} {
		if !verbs[want] {
			t.Errorf("no %s among %v", want, verbs)
		}
	}
}
