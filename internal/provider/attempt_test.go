package provider

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/unfinished"
)

// creationsIn is the journal of one process, with the user's key beside it.
func creationsIn(dir string, parent int) *unfinished.Journal {
	return unfinished.New(filepath.Join(dir, "creations"), filepath.Join(dir, "keys"), parent, time.Now)
}

// Marks that creations carry.
const (
	ours   = "OURSAAAAAAAAAAAAAAAAAAAAAA"
	theirs = "THEIRSAAAAAAAAAAAAAAAAAAAA"
)

// killed leaves in the journal what a process that was killed had begun.
func killed(t *testing.T, dir string, c unfinished.Creation) {
	t.Helper()
	j := creationsIn(dir, 1)
	if err := j.Begin(c); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// standing is an object that is there when it is to be made.
type standing struct {
	attrs map[string]any
	// object is what its creation is written down under.
	object func(group string) string
	// made makes it, with this mark, as it is planned or otherwise.
	made func(t *testing.T, w *world, mark string, otherwise bool)
}

func marks(mark string, labels map[string]string) wire.Labels {
	labels = maps.Clone(labels)
	if mark != "" {
		labels[acasapi.MarkerLabel] = mark
	}
	return labels
}

func standings() map[string]standing {
	const reference = "registry.example.com/tool:1"
	team := func(otherwise bool) map[string]string {
		if otherwise {
			return map[string]string{"team": "others"}
		}
		return map[string]string{"team": "agents"}
	}
	return map[string]standing{
		"sandbox_group": {
			attrs:  map[string]any{"name": "other", "tags": map[string]any{"team": "agents"}},
			object: func(group string) string { return strings.Replace(group, "/team", "/other", 1) },
			made: func(t *testing.T, w *world, mark string, otherwise bool) {
				t.Helper()
				must[wire.Group](t)(w.outside.PutGroup(t.Context(), w.groupID("other"), wire.Group{Location: w.location, Tags: marks(mark, team(otherwise))}, acasapi.Wait{}))
			},
		},
		"sandbox_volume": {
			attrs:  map[string]any{"group": "", "name": "work", "type": "DataDisk", "size": "1Gi", "labels": map[string]any{"team": "agents"}},
			object: func(group string) string { return group + "/volumes/work" },
			made: func(t *testing.T, w *world, mark string, otherwise bool) {
				t.Helper()
				must[wire.Volume](t)(w.group(t, "team").PutVolume(t.Context(), "work", wire.Volume{Type: wire.VolumeDisk, Size: "1Gi", Labels: marks(mark, team(otherwise))}, acasapi.Wait{}))
			},
		},
		"sandbox_disk_image": {
			attrs:  map[string]any{"group": "", "image": map[string]any{"reference": reference}, "labels": map[string]any{"team": "agents"}},
			object: func(group string) string { return group + "/diskimages/" + reference },
			made: func(t *testing.T, w *world, mark string, otherwise bool) {
				t.Helper()
				must[wire.Image](t)(w.group(t, "team").StartImage(t.Context(), wire.CreateImage{Image: &wire.ImageSource{Base: reference}, Labels: team(otherwise)}, mark))
			},
		},
	}
}

// What is there is taken over when it carries the mark of a creation that this
// directory did not finish, and is what is planned. One step away it is somebody
// else's.
func TestWhatAKilledApplyMadeIsTakenOverAndNothingElseIs(t *testing.T) {
	t.Parallel()
	for kind, o := range standings() {
		for name, c := range map[string]struct {
			carried, written string
			otherwise        bool
			refused          string
		}{
			"its mark is written down":                   {carried: ours, written: ours},
			"somebody else's mark":                       {carried: theirs, written: ours, refused: "exists already"},
			"no mark":                                    {written: ours, refused: "exists already"},
			"nothing is written down":                    {carried: ours, refused: "exists already"},
			"its mark, and the configuration is another": {carried: ours, written: ours, otherwise: true, refused: "imported, it is changed to this one"},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				w, dir := servedWorld(t), t.TempDir()
				w.provider.journal = creationsIn(dir, 2)
				must[wire.Group](t)(w.outside.PutGroup(t.Context(), w.groupID("team"), wire.Group{Location: w.location}, acasapi.Wait{}))
				o.made(t, w, c.carried, c.otherwise)
				if c.written != "" {
					killed(t, dir, unfinished.Creation{Object: o.object(w.groupID("team").String()), Mark: c.written})
				}
				attrs := maps.Clone(o.attrs)
				if _, ok := attrs["group"]; ok {
					attrs["group"] = w.groupID("team").String()
				}
				state, diags := newServer(t, w.provider).configure(t, map[string]any{"acas": w.acas}).apply(t, kind, nil, attrs)
				switch {
				case c.refused == "" && (failed(diags) || state.IsNull()):
					t.Error(render(diags))
				case c.refused != "" && (!failed(diags) || !strings.Contains(render(diags), c.refused)):
					t.Errorf("no %q in %s", c.refused, render(diags))
				}
				if n := each(t, w.group(t, "team").Images(t.Context(), nil), nil); n > 1 {
					t.Errorf("the group has %d images", n)
				}
			})
		}
	}
}

// A secret carries no mark: the service's own date of it decides.
func TestASecretIsTakenOverIfItWasMadeWhileTheKilledApplyRan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begun   time.Duration
		refused bool
	}{
		"made after the apply began":       {begun: -time.Minute},
		"made before it began":             {begun: time.Minute, refused: true},
		"made when it would have given up": {begun: -time.Hour, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := servedWorld(t), t.TempDir()
			w.provider.journal = creationsIn(dir, 2)
			must[wire.Group](t)(w.outside.PutGroup(t.Context(), w.groupID("team"), wire.Group{Location: w.location}, acasapi.Wait{}))
			g := w.group(t, "team")
			made := must[wire.Secret](t)(g.PutSecret(t.Context(), "api-token", map[string]string{"token": "old"}))
			at, err := time.Parse(time.RFC3339, made.CreatedAt)
			if err != nil {
				t.Fatal(err)
			}
			killed(t, dir, unfinished.Creation{Object: w.groupID("team").String() + "/secrets/api-token", Mark: ours, Begun: at.Add(c.begun)})
			_, diags := newServer(t, w.provider).configure(t, map[string]any{"acas": w.acas}).apply(t, "sandbox_secret", nil, map[string]any{
				"group": w.groupID("team").String(), "name": "api-token", "values": map[string]any{"token": "new"},
			})
			if failed(diags) != c.refused {
				t.Error(render(diags))
			}
			want := "new"
			if c.refused {
				want = "old"
			}
			if values := must[map[string]string](t)(g.PeekSecret(t.Context(), "api-token")); values["token"] != want {
				t.Errorf("the secret is %q, want %q", values["token"], want)
			}
		})
	}
}

// Two copies of one sandbox that a killed apply made are taken over once each, and a
// third is made.
func TestSnapshotsOfAKilledApplyAreTakenOverOnceEach(t *testing.T) {
	t.Parallel()
	w, dir := servedWorld(t), t.TempDir()
	w.provider.journal = creationsIn(dir, 2)
	must[wire.Group](t)(w.outside.PutGroup(t.Context(), w.groupID("team"), wire.Group{Location: w.location}, acasapi.Wait{}))
	g := w.group(t, "team")
	made := must[wire.Sandbox](t)(g.CreateSandbox(t.Context(), wire.CreateSandbox{
		SourcesRef: &wire.SourcesRef{DiskImage: &wire.ImageRef{Name: "ubuntu", IsPublic: true}}, Resources: &wire.Resources{CPU: "1000m", Memory: "2048Mi", Disk: "20480Mi"},
	}, acasapi.Making{}))
	source := must[*acasapi.Sandbox](t)(g.Sandbox(made.ID))
	var copies []string
	for _, mark := range []string{ours, theirs} {
		copies = append(copies, must[wire.Snapshot](t)(source.CreateSnapshot(t.Context(), nil, acasapi.Making{Marker: mark})).ID)
		killed(t, dir, unfinished.Creation{Object: w.groupID("team").String() + "/sandboxes/" + made.ID + "/snapshot ", Mark: mark})
	}
	s := newServer(t, w.provider).configure(t, map[string]any{"acas": w.acas})
	var got []string
	for range 3 {
		state, diags := s.apply(t, "sandbox_snapshot", nil, map[string]any{"group": w.groupID("team").String(), "sandbox_id": made.ID})
		if failed(diags) {
			t.Fatal(render(diags))
		}
		got = append(got, text(t, state, "snapshot_id"))
	}
	for _, id := range copies {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.Contains(g, id) }) {
			t.Errorf("%s is not among %v", id, got)
		}
	}
	if n := each(t, g.Snapshots(t.Context(), nil), nil); n != 3 {
		t.Errorf("the group has %d snapshots", n)
	}
}

// A mark alone does not make a copy the planned one.
func TestASnapshotOfSomethingElseIsNotTakenOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		other  bool
		labels map[string]string
		taken  bool
	}{
		"the same":         {taken: true},
		"another sandbox":  {other: true},
		"labels of others": {labels: map[string]string{"team": "others"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := servedWorld(t), t.TempDir()
			w.provider.journal = creationsIn(dir, 2)
			must[wire.Group](t)(w.outside.PutGroup(t.Context(), w.groupID("team"), wire.Group{Location: w.location}, acasapi.Wait{}))
			g := w.group(t, "team")
			var ids []string
			for range 2 {
				ids = append(ids, must[wire.Sandbox](t)(g.CreateSandbox(t.Context(), wire.CreateSandbox{
					SourcesRef: &wire.SourcesRef{DiskImage: &wire.ImageRef{Name: "ubuntu", IsPublic: true}}, Resources: &wire.Resources{CPU: "1000m", Memory: "2048Mi", Disk: "20480Mi"},
				}, acasapi.Making{})).ID)
			}
			copied := ids[0]
			if c.other {
				copied = ids[1]
			}
			there := must[wire.Snapshot](t)(must[*acasapi.Sandbox](t)(g.Sandbox(copied)).CreateSnapshot(t.Context(), c.labels, acasapi.Making{Marker: ours}))
			killed(t, dir, unfinished.Creation{Object: w.groupID("team").String() + "/sandboxes/" + ids[0] + "/snapshot ", Mark: ours})
			state, diags := newServer(t, w.provider).configure(t, map[string]any{"acas": w.acas}).
				apply(t, "sandbox_snapshot", nil, map[string]any{"group": w.groupID("team").String(), "sandbox_id": ids[0]})
			if failed(diags) {
				t.Fatal(render(diags))
			}
			if taken := strings.Contains(text(t, state, "snapshot_id"), there.ID); taken != c.taken {
				t.Errorf("taken over: %v", taken)
			}
		})
	}
}

// Who puts a second object over one that is being made takes it; the first is told.
func TestOfTwoWhoMakeOneObjectAtOnceOneIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		carried string
		refused bool
	}{
		"its own mark":         {ours, false},
		"no mark":              {"", true},
		"somebody else's mark": {theirs, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &attempt{creation: unfinished.Creation{Mark: ours}}
			if got := a.overwritten(marks(c.carried, map[string]string{})); got != c.refused {
				t.Errorf("overwritten: %v", got)
			}
		})
	}
}

// The key lies where no check-out can put one.
func TestTheKeyOfCreationsLiesOutsideOfTheWorkTree(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repository := filepath.Join(base, "repository")
	stack := filepath.Join(repository, "stacks", "one")
	for _, dir := range []string{stack, filepath.Join(repository, ".git"), filepath.Join(base, "home")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(repository, link); err != nil && runtime.GOOS == "windows" {
		t.Skip("no right to make links:", err)
	} else if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ state, config, want string }{
		"a folder for state":               {state: filepath.Join(base, "state"), config: filepath.Join(base, "home"), want: filepath.Join(base, "state")},
		"a folder for configuration alone": {config: filepath.Join(base, "home"), want: filepath.Join(base, "home")},
		"beside the repository":            {config: repository + "-home", want: repository + "-home"},
		"a relative folder for state":      {state: "state", config: filepath.Join(base, "home"), want: filepath.Join(base, "home")},
		"in the working directory":         {config: filepath.Join(stack, "home")},
		"the repository itself":            {config: repository},
		"elsewhere in the repository":      {state: filepath.Join(repository, "home"), config: filepath.Join(base, "home")},
		"a link into the repository":       {config: filepath.Join(link, "home")},
		"no folder":                        {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			configDir := func() (string, error) {
				if c.config == "" {
					return "", os.ErrNotExist
				}
				return c.config, nil
			}
			want := c.want
			if want != "" {
				want = filepath.Join(want, "terraform-provider-sandbox")
			}
			got := keysDir(func(string) string { return c.state }, configDir, func() (string, error) { return stack, nil })
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestCreationsAreWrittenDownByWorkspace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		file string
		want string
	}{
		"nothing chosen":      {want: ".terraform/sandbox/creations/workspace-default"},
		"chosen by a command": {file: "blue\n", want: ".terraform/sandbox/creations/workspace-blue"},
		"chosen by a variable": {
			env: map[string]string{"TF_WORKSPACE": "green"}, file: "blue", want: ".terraform/sandbox/creations/workspace-green",
		},
		"another folder":        {env: map[string]string{"TF_DATA_DIR": "/elsewhere"}, want: "/elsewhere/sandbox/creations/workspace-default"},
		"a name that leads out": {file: "../../x", want: ".terraform/sandbox/creations/workspace-..%2F..%2Fx"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := filepath.ToSlash(creationsDir(func(name string) string { return c.env[name] }, func(string) ([]byte, error) { return []byte(c.file), nil }))
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
