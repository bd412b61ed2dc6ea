package process

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// made answers an image for each reference that a test names.
func made(images map[string]Image) Images {
	return func(_ context.Context, wanted sandbox.Image) (Image, error) {
		image, ok := images[wanted.Reference]
		if !ok {
			return Image{}, errors.New("no such image")
		}
		return image, nil
	}
}

// rootEngine makes sandboxes with a root of their own.
func rootEngine(t *testing.T, images map[string]Image) *Engine {
	t.Helper()
	c := testConfig(t)
	notGVisor(t, c)
	c.Images = made(images)
	return newEngine(t, c)
}

func notGVisor(t *testing.T, c Config) {
	t.Helper()
	if c.Runtime == RuntimeGVisor {
		t.Skip("gVisor's guests have no root of their own")
	}
}

// startFrom starts a sandbox of an image.
func startFrom(t *testing.T, e *Engine, name, reference string) box {
	t.Helper()
	started, err := e.Start(t.Context(), engine.StartRequest{Name: name, WorkDir: "/work", Image: sandbox.Image{Reference: reference}})
	if err != nil {
		t.Fatal(err)
	}
	return boxOf(t, started.Guest)
}

// needUsers is for sandboxes with somebody beside their root.
func needUsers(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only a root host has a second user for a sandbox")
	}
}

var following = engine.Access{As: sandbox.PrincipalRoot, Links: engine.Follow}

func at(path string) engine.FileRef { return engine.FileRef{Root: "/", Path: path, Access: following} }

func (b box) writes(path, content string) {
	b.t.Helper()
	if err := b.Write(b.t.Context(), at(path), strings.NewReader(content), int64(len(content))); err != nil {
		b.t.Fatal(err)
	}
}

func (b box) reads(path string) string {
	b.t.Helper()
	r, _, err := b.Open(b.t.Context(), at(path))
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	content, err := io.ReadAll(r)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(content)
}

func TestAGuestsRootIsRootOfItsGuestAlone(t *testing.T) {
	t.Parallel()
	e := rootEngine(t, map[string]Image{"": {Machine: true}})
	b := startFrom(t, e, "a", "")
	for command, want := range map[string]string{
		"id -u; id -g": "0\n0",
		"touch /new /etc/new /usr/local/new 2>/dev/null; ls /new /etc/new": "/etc/new\n/new",
		"echo $HOME $PWD": "/root /work",
		"cat /proc/sys/kernel/hostname > /x; cat /x": "sandbox",
		"grep -c . /proc/self/uid_map":               "1",
		"grep CapEff /proc/self/status":              "CapEff:\t00000000000000fb",
		"grep NoNewPrivs /proc/self/status":          "NoNewPrivs:\t1",
	} {
		if got := b.prints(command + "; true"); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	for _, command := range []string{
		"mount -t tmpfs none /mnt", "unshare -U true", "chroot / true", "mknod /d b 7 0", "touch /usr/x", "touch /dev/x",
		"umount /usr", "chown 12345 /new", "hostname other", "echo 1 > /proc/sys/net/ipv4/ip_forward", "echo 1 > /proc/sys/kernel/shmmax",
		"cat /proc/1/environ", "ls -l /proc/1/cwd", "echo > /run/agent", "nice -n -5 true | grep -q denied && false",
		"dd if=/proc/1/mem of=/dev/null bs=1 count=1", "cat /proc/kcore", "setpriv --inh-caps +sys_admin --ambient-caps +sys_admin grep -q 'CapEff:.*2' /proc/self/status",
	} {
		if out, code := b.sh(command); code == 0 {
			t.Errorf("%s: %q", command, out)
		}
	}
	b.alive()
}

func TestAGuestsRootCannotChangeWhatItIsShownOfItsEgress(t *testing.T) {
	t.Parallel()
	world := newWorld(t, "api.example.com")
	c := inWorld(t, world)
	notGVisor(t, c)
	c.Images = made(map[string]Image{"": {Machine: true}})
	e := newEngine(t, c)
	b := startWith(t, e, "a", sandbox.Egress{Rules: map[string]sandbox.EgressRule{"r": rule("api.example.com", "443", "GET", "*")}})
	for _, command := range []string{
		"touch /run/egress/x", "mv /run/egress /run/x", "rm -rf /run/egress", "rm -f /run/egress/ca.pem", "rm -f /run/egress/proxy.sock", "echo > /run/egress/ca.pem",
	} {
		if out, code := b.sh(command); code == 0 {
			t.Errorf("%s worked: %s", command, out)
		}
	}
	if got := b.prints("curl -sS --max-time 20 https://api.example.com/x"); got != "GET api.example.com/x" {
		t.Errorf("%q", got)
	}
}

func TestFilesAreRootsAndProgramsTheImagesUsers(t *testing.T) {
	t.Parallel()
	needUsers(t)
	e := rootEngine(t, map[string]Image{"user": {Machine: true, User: "1654"}})
	b := startFrom(t, e, "a", "user")
	if got := b.prints("id -u; id -g; echo $HOME; grep CapEff /proc/self/status; touch $HOME/mine && stat -c %u $HOME/mine"); got !=
		"1654\n1654\n/home/sandbox\nCapEff:\t0000000000000000\n1654" {
		t.Errorf("%q", got)
	}
	b.writes("/work/roots", "of root")
	if err := b.WriteMode(t.Context(), at("/work/secret"), strings.NewReader("secret"), 6, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := b.prints("stat -c '%u:%g %a' /work /work/roots /work/secret; cat /work/roots"); got != "0:0 755\n0:0 644\n0:0 600\nof root" {
		t.Errorf("%q", got)
	}
	for _, command := range []string{
		"echo x > /work/roots", "cat /work/secret", "rm -f /work/roots", "touch /work/new", "touch /etc/new", "chmod 777 /work", "kill -9 1 && kill -0 1 && false",
		"su -c true", "setpriv --reuid 0 true", "cat /root/x",
	} {
		if out, code := b.sh(command); code == 0 {
			t.Errorf("%s: %q", command, out)
		}
	}
	if got := b.reads("/work/secret"); got != "secret" {
		t.Errorf("%q", got)
	}
	b.prints("echo streams > /dev/stdout")
	var out bytes.Buffer
	if code, err := b.ExecAsRoot(t.Context(), engine.ExecRequest{Args: []string{"id", "-u"}, Stdout: &out}); err != nil || code != 0 || out.String() != "0\n" {
		t.Errorf("%d %v %q", code, err, out.String())
	}
}

// The hazard that a file plane such as this has, and that the safe way has not.
func TestTheFilePlaneFollowsLinksOrRefusesThem(t *testing.T) {
	t.Parallel()
	needUsers(t)
	e := rootEngine(t, map[string]Image{"user": {Machine: true, User: "1654"}})
	b := startFrom(t, e, "a", "user")
	b.prints("cd /tmp && mkdir real && ln -s real link && ln -s /etc out && ln -s /proc/1/fd channel")
	b.writes("/tmp/link/file", "through")
	b.writes("/tmp/out/planted", "as root")
	if got := b.prints("cat /tmp/real/file; stat -c %u /etc/planted"); got != "through\n0" && got != "through0" {
		t.Errorf("%q", got)
	}
	beneath := at("/tmp/link/file")
	beneath.Access.Links = engine.Beneath
	if _, err := b.Stat(t.Context(), beneath); !errors.Is(err, engine.ErrThroughLink) {
		t.Errorf("beneath: %v", err)
	}
	d, err := b.Look(t.Context(), at("/tmp/link"))
	if err != nil || d.Kind != sandbox.EntrySymlink || d.Target != "real" || d.UID != 1654 {
		t.Errorf("%+v %v", d, err)
	}
	// What a process holds is not reached by a path: the process would be the agent.
	for _, path := range []string{"/tmp/channel/100", "/proc/self/root/etc/planted", "/proc/self/cwd/etc"} {
		if _, _, err := b.Open(t.Context(), at(path)); err == nil {
			t.Errorf("%s was opened", path)
		}
	}
	asGuest := engine.FileRef{Root: "/", Path: "/tmp", Access: engine.Access{As: sandbox.PrincipalGuest, Links: engine.Beneath}}
	if _, err := b.Stat(t.Context(), asGuest); err == nil {
		t.Error("files as the guest's program, which this plane is not")
	}
	b.alive()
}

// archive is one of a root file system.
func archive(entries ...tar.Header) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		for _, h := range entries {
			content := h.PAXRecords["content"]
			h.PAXRecords, h.Size = nil, int64(len(content))
			if err := w.WriteHeader(&h); err != nil {
				return nil, err
			}
			if _, err := io.WriteString(w, content); err != nil {
				return nil, err
			}
		}
		return io.NopCloser(&out), w.Close()
	}
}

func file(name, content string, mode int64, uid int) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Uid: uid, Gid: uid, PAXRecords: map[string]string{"content": content}}
}

func TestAnImagesUserIsLookedUpInTheImage(t *testing.T) {
	t.Parallel()
	needUsers(t)
	files := archive(
		file("etc/passwd", "root:x:0:0::/root:/bin/sh\napp:x:4321:4322::/srv/app:/bin/sh\n", 0o644, 0),
		file("etc/group", "root:x:0:\napp:x:4322:\nother:x:9:app\n", 0o644, 0),
		file("srv/app/own", "", 0o600, 4321), file("srv/app/strangers", "", 0o600, 77),
	)
	e := rootEngine(t, map[string]Image{
		"named": {Machine: true, User: "app", Files: files}, "unknown": {Machine: true, User: "nosuch", Files: files},
		"group": {Machine: true, User: "root:app", Files: files},
	})
	b := startFrom(t, e, "a", "named")
	if got := b.prints("id -u; id -g; id -G; echo $HOME; stat -c '%u:%g' /srv/app/*; echo more > /srv/app/own"); got !=
		"4321\n4322\n4322\n/srv/app\n4321:0\n0:0" {
		t.Errorf("%q", got)
	}
	if got := startFrom(t, e, "c", "group").prints("id -u; id -g"); got != "0\n4322" {
		t.Errorf("%q", got)
	}
	_, err := e.Start(t.Context(), engine.StartRequest{Name: "b", Image: sandbox.Image{Reference: "unknown"}})
	if refusal := sandbox.RefusalOf(err); refusal == nil || refusal.Code != sandbox.CodeImageUserUnserved {
		t.Errorf("%v", err)
	}
}

func TestAnImageThatNeedsASecondUserIsRefusedWithoutOneAndRootsIsServed(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	notGVisor(t, c)
	if c.Users.Count > 0 {
		c.Users.Count = 1
	}
	c.Images = made(map[string]Image{"user": {Machine: true, User: "1000"}, "root": {Machine: true}, "nothing": {}})
	e := newEngine(t, c)
	for reference, code := range map[string]sandbox.Code{"user": sandbox.CodeImageUserUnserved, "nothing": sandbox.CodeImageUnsupported} {
		_, err := e.Start(t.Context(), engine.StartRequest{Name: "a", Image: sandbox.Image{Reference: reference}})
		if refusal := sandbox.RefusalOf(err); refusal == nil || refusal.Code != code {
			t.Errorf("%s: %v", reference, err)
		}
	}
	if got := startFrom(t, e, "a", "root").prints("id -u"); got != "0" {
		t.Errorf("%q", got)
	}
}

func TestUsersOfASandboxAreItsOwnUntilItIsGone(t *testing.T) {
	t.Parallel()
	needUsers(t)
	c := testConfig(t)
	notGVisor(t, c)
	c.Users.Count = 3
	c.Images = made(map[string]Image{"user": {Machine: true, User: "1000"}, "root": {Machine: true}})
	e := newEngine(t, c)
	a := startFrom(t, e, "a", "user")
	wanted := engine.StartRequest{Name: "b", Image: sandbox.Image{Reference: "user"}}
	if _, err := e.Start(t.Context(), wanted); err == nil {
		t.Fatal("a sandbox that shares a user")
	}
	startFrom(t, e, "c", "root").alive()
	if err := e.Delete(t.Context(), a.ID()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Start(t.Context(), wanted); err != nil {
		t.Error(err)
	}
}

func TestASnapshotHoldsAllOfAGuestAndNoSandboxSeesAnothersWrites(t *testing.T) {
	t.Parallel()
	images := map[string]Image{"": {Machine: true}}
	e := rootEngine(t, images)
	b := startFrom(t, e, "a", "")
	b.prints(`cd /work && echo one > f && ln f g && ln -s f l && mkfifo p && mkdir -m 1751 d && head -c 3000000 /dev/urandom > big &&
		sha256sum big > sum && chmod 4750 g && touch -d @1234567890 f && echo mine >> /etc/hosts && ln -s /nowhere /dangling`)
	b.prints("(while :; do date +%N > /work/changing; done) >/dev/null 2>&1 &")
	var taken bytes.Buffer
	if err := b.Snapshot(t.Context(), &taken); err != nil {
		t.Fatal(err)
	}
	b.prints("a=$(cat /work/changing); while [ \"$a\" = \"$(cat /work/changing)\" ]; do :; done") // it goes on
	images["snapshot"] = Image{Machine: true, Files: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(taken.Bytes())), nil
	}}
	again := startFrom(t, e, "b", "snapshot")
	const look = "cd /work && sha256sum -c sum && stat -c '%n %F %a %h %s %Y' f g && stat -c '%n %F %a' p d && readlink l /dangling && tail -1 /etc/hosts && [ f -ef g ] && echo same"
	if want, got := b.prints(look), again.prints(look); got != want || !strings.Contains(got, "4750") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	again.prints("rm /work/f; echo two > /work/g")
	if got := b.prints("cat /work/f"); got != "one" {
		t.Errorf("%q", got)
	}
}

func TestAHostileArchiveReachesNothingButItsGuest(t *testing.T) {
	t.Parallel()
	link := func(name, to string, kind byte) tar.Header {
		return tar.Header{Typeflag: kind, Name: name, Linkname: to, Mode: 0o777}
	}
	hostile := map[string]Image{
		"up":      {Machine: true, Files: archive(file("../../../../up", "x", 0o644, 0), file("/abs/../../up2", "x", 0o644, 0))},
		"inside":  {Machine: true, Files: archive(link("l", "/etc", tar.TypeSymlink), file("l/planted", "x", 0o644, 0))},
		"devices": {Machine: true, Files: archive(tar.Header{Typeflag: tar.TypeBlock, Name: "disk", Devmajor: 8}, file("dev/x", "x", 0o644, 0), file("proc/x", "x", 0o644, 0))},
		"twice":   {Machine: true, Files: archive(file("f", "1", 0o644, 0), link("f", "/proc/self/mem", tar.TypeSymlink), file("f", "2", 0o644, 0))},
		"agent":   {Machine: true, Files: archive(file("run/agent", "x", 0o755, 0), file("run/egress/ca.pem", "x", 0o755, 0))},

		"machine": {Machine: true, Files: archive(file("usr/bin/planted", "x", 0o755, 0))},
		"process": {Machine: true, Files: archive(link("l", "/proc/self", tar.TypeSymlink), file("l/comm", "x", 0o644, 0))},
		"outlink": {Machine: true, Files: archive(link("h", "/usr/bin/env", tar.TypeLink))},
		"torn": {Machine: true, Files: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(strings.Repeat("x", 2000))), nil
		}},
		"breaks": {Machine: true, Files: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(brokenReader{}), nil }},
	}
	e := rootEngine(t, hostile)
	for name, command := range map[string]string{
		"up": "cat /up /up2", "inside": "cat /etc/planted", "devices": "! ls /disk /dev/x /proc/x 2>/dev/null",
		"twice": "[ $(cat /f) = 2 ] && [ ! -L /f ]", "agent": "[ ! -e /run/egress ]",
	} {
		startFrom(t, e, name, name).prints(command)
	}
	for _, name := range []string{"machine", "process", "outlink", "torn", "breaks"} {
		if _, err := e.Start(t.Context(), engine.StartRequest{Name: "x" + name, Image: sandbox.Image{Reference: name}}); err == nil {
			t.Errorf("%s: it was unpacked", name)
		}
	}
}

var errBroken = errors.New("broken")

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

func TestImagesAndGVisorAreRefusedTogether(t *testing.T) {
	t.Parallel()
	c := Config{Images: made(nil), Runtime: RuntimeGVisor}
	if _, err := c.withDefaults(); err == nil {
		t.Error("accepted")
	}
	c.Runtime = ""
	if _, err := c.withDefaults(); err != nil {
		t.Error(err)
	}
}

// programsAreRoot: the tests run in guests whose programs are their root.
func programsAreRoot() bool { return os.Getenv(withRoot) == "root" }

// What is tested of guests that are one user is tested of those with a root too,
// for programs that are that root and for others, but for what only one of them
// has: a file system of which little can be written, or programs who can write
// where the file plane does.
func TestAllOfThisHoldsForGuestsWithARoot(t *testing.T) {
	t.Parallel()
	if os.Getenv(asUser) != "" || os.Getenv(withGVisor) != "" || os.Getenv(withRoot) != "" {
		t.Skip("it is what runs already")
	}
	if testing.Short() {
		t.Skip("everything twice more is long; make test runs it")
	}
	needBubblewrap(t)
	const others = "WithGVisor|GVisorOf|OrdinaryUser|WithARoot|Conforms|RungFalls|Processor|ManySandboxes|" +
		"OwnMemoryIsWritable|ReplaceItsEgressSocket|EgressOutlives|GivenRootFileSystem|ShareTheAgent|CannotBeServed|FullSandbox"
	for user, skip := range map[string]string{"root": others, "1000": others + "|FilesStay|RuntimesWork|CountedByUser|UserOfItsOwn"} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			if user != "root" {
				needUsers(t)
			}
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.timeout=5m", "-test.v="+verbose(), "-test.skip="+skip)
			cmd.Env = append(os.Environ(), withRoot+"="+user)
			out, err := cmd.CombinedOutput()
			if err != nil || testing.Verbose() {
				t.Logf("%s", out)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOnlyItsOwnMemoryIsWritableToAGuestWithARoot(t *testing.T) {
	t.Parallel()
	const shm, all = "/dev/shm", "/ /dev/shm /etc /etc/ssl /home /mnt /opt /root /run /srv /tmp /var /var/lib /var/tmp /work"
	e := rootEngine(t, map[string]Image{"root": {Machine: true}, "user": {Machine: true, User: "1000"}})
	for user, want := range map[string]string{"root": all, "user": "/dev/shm /home/sandbox /tmp /var/tmp"} {
		if user != "root" && os.Geteuid() != 0 {
			continue
		}
		b := startFrom(t, e, user, user)
		b.upload("/tmp/probe", probe(t))
		got := strings.Split(strings.ReplaceAll(b.prints("/tmp/probe writable 2>/dev/null"), "wrote ", ""), "\n")
		slices.Sort(got)
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %q, want %q", user, got, want)
		}
		for line := range strings.Lines(b.prints("cat /proc/self/mountinfo")) {
			fields := strings.Fields(line)
			point, options := fields[4], strings.Split(fields[5], ",")
			if !slices.Contains(options, "nosuid") {
				t.Errorf("%s is mounted %s", point, fields[5])
			}
			device := strings.HasPrefix(point, "/dev/") && point != shm || strings.HasPrefix(point, "/proc/")
			own := point == "/" || point == shm
			if !own && !device && !slices.Contains(options, "ro") {
				t.Errorf("%s is mounted %s", point, fields[5])
			}
		}
	}
}
