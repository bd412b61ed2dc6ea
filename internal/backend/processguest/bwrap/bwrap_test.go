package bwrap

import (
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
)

func command() Command {
	next := uintptr(20)
	content := func() uintptr { next++; return next }
	return Command{
		View: view.View{
			{Kind: view.Show, Path: "/usr", Source: "/usr"},
			{Kind: view.Link, Path: "/bin", Source: "usr/bin"},
			{Kind: view.File, Path: "/etc/passwd", Content: []byte("x"), Mode: 0o444},
			{Kind: view.Copy, Path: "/etc/services", Source: "/etc/services", Mode: 0o444},
			{Kind: view.Processes, Path: "/proc"},
			{Kind: view.Memory, Path: "/dev", Bytes: 4096, Sealed: true},
			{Kind: view.ShowDevice, Path: "/dev/null", Source: "/dev/null"},
			{Kind: view.Memory, Path: "/work", Bytes: 8192},
		},
		Program: "/run/agent", ProgramFD: 9, Dir: "/work", Filter: 8, Info: 7,
		Content: func([]byte) (uintptr, error) { return content(), nil },
		Open:    func(string) (uintptr, error) { return content(), nil },
	}
}

func TestACommandLineHasEveryWall(t *testing.T) {
	t.Parallel()
	args, err := command().Arguments()
	if err != nil {
		t.Fatal(err)
	}
	line := " " + strings.Join(args, " ") + " "
	for _, want := range []string{
		" --unshare-user ", " --unshare-ipc ", " --unshare-pid ", " --unshare-net ", " --unshare-uts ", " --unshare-cgroup ",
		" --as-pid-1 ", " --new-session ", " --die-with-parent ", " --cap-drop ALL ", " --clearenv ", " --hostname sandbox ",
		" --uid 1000 ", " --gid 1000 ", " --seccomp 8 ", " --info-fd 7 ", " --chdir /work ",
		" --ro-bind /usr /usr ", " --symlink usr/bin /bin ", " --perms 0444 --file 21 /etc/passwd ", " --perms 0444 --file 22 /etc/services ",
		" --perms 0555 --size 4096 --tmpfs /dev ", " --dev-bind /dev/null /dev/null ", " --perms 0700 --size 8192 --tmpfs /work ",
		" --perms 0555 --file 9 /run/agent ",
	} {
		if !strings.Contains(line, want) {
			t.Errorf("no%sin%s", want, line)
		}
	}
	if !strings.HasSuffix(line, " -- /run/agent ") {
		t.Errorf("%s", line)
	}
	// What is sealed is sealed after everything stands in it, the root last.
	order := []string{" --dev-bind /dev/null ", " --remount-ro /dev ", " --file 9 /run/agent ", " --remount-ro / "}
	at := -1
	for _, part := range order {
		if i := strings.Index(line, part); i <= at {
			t.Errorf("%q stands too early in%s", part, line)
		} else {
			at = i
		}
	}
	if slices.Contains(args, "--disable-userns") {
		t.Error("an option that the program does not have is used")
	}
	for _, never := range []string{"--share-net", "--bind", "--dev", "--cap-add", "--unshare-all"} {
		if slices.Contains(args, never) {
			t.Errorf("%s in%s", never, line)
		}
	}
}

func TestUserNamespacesAreDisabledWhereTheProgramCan(t *testing.T) {
	t.Parallel()
	c := command()
	c.Options.DisableUserNamespaces = true
	args, err := c.Arguments()
	if err != nil || !slices.Contains(args, "--disable-userns") || !slices.Contains(args, "--assert-userns-disabled") {
		t.Errorf("%v, %v", args, err)
	}
}

func TestACommandThatLacksAWallIsRefused(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Command){
		"no filter":                 func(c *Command) { c.Filter = 0 },
		"no program":                func(c *Command) { c.Program = "" },
		"no program's content":      func(c *Command) { c.ProgramFD = 0 },
		"no view":                   func(c *Command) { c.View = nil },
		"an entry of no kind":       func(c *Command) { c.View = view.View{{Path: "/x"}} },
		"memory without a bound":    func(c *Command) { c.View = view.View{{Kind: view.Memory, Path: "/x"}} },
		"nobody to open files with": func(c *Command) { c.Open = nil },
	} {
		c := command()
		spoil(&c)
		if _, err := c.Arguments(); err == nil {
			t.Errorf("%s is started", name)
		}
	}
}

func TestAProgramIsMountedWhereThatCanBe(t *testing.T) {
	t.Parallel()
	o, err := Parse("bubblewrap 0.8.0", "    --ro-bind-fd FD DEST    Bind open directory or path fd read-only on DEST")
	if err != nil || !o.BindDescriptors {
		t.Fatal(o, err)
	}
	c := command()
	c.Options = o
	args, err := c.Arguments()
	if line := strings.Join(args, " "); err != nil || !strings.Contains(line, " --ro-bind-fd 9 /run/agent ") || strings.Contains(line, " --file 9 ") {
		t.Errorf("%s, %v", line, err)
	}
}

func TestVersionsAreRead(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]struct{ ok, disable bool }{
		"bubblewrap 0.8.0\n":  {true, true},
		"bubblewrap 0.11.0":   {true, true},
		"bubblewrap 1.0.0":    {true, true},
		"bubblewrap 0.7.0":    {true, false},
		"bubblewrap 0.5.0":    {true, false},
		"bubblewrap 0.4.1":    {false, false},
		"bubblewrap":          {false, false},
		"busybox 1.36":        {false, false},
		"bubblewrap 0.8.x":    {false, false},
		"bubblewrap 0.-8.0":   {false, false},
		"bubblewrap 0.8.0.1":  {false, false},
		"bubblewrap 0.9999.1": {false, false},
	} {
		o, err := Parse(said, "--bind-fd FD DEST")
		if (err == nil) != want.ok || o.DisableUserNamespaces != want.disable {
			t.Errorf("%q: %+v, %v", said, o, err)
		}
	}
}
