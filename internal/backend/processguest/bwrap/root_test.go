package bwrap

import (
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
)

func TestAGuestsRootHasItsCapabilitiesAndNoMore(t *testing.T) {
	t.Parallel()
	c := command()
	c.Options.DisableUserNamespaces = true
	c.View = append(c.View, view.Entry{Kind: view.Directory, Path: "/etc/ssl"}, view.Entry{Kind: view.Memory, Path: "/dev/shm", Bytes: 1, Shared: true})
	c.Root = &Root{Bytes: 4096}
	args, err := c.Arguments()
	if err != nil {
		t.Fatal(err)
	}
	line := " " + strings.Join(args, " ") + " "
	for _, want := range []string{
		" --unshare-user ", " --uid 0 --gid 0 ", " --cap-drop ALL ", " --disable-userns ", " --perms 0755 --size 4096 --tmpfs / ", " --seccomp 8 ",
		" --perms 0755 --dir /etc/ssl ", " --perms 1777 --size 1 --tmpfs /dev/shm ",
	} {
		if !strings.Contains(line, want) {
			t.Errorf("no%sin%s", want, line)
		}
	}
	if strings.Contains(line, " --remount-ro / ") || strings.Index(line, " --tmpfs / ") > strings.Index(line, " --ro-bind ") {
		t.Errorf("the root file system in%s", line)
	}
	var added []string
	for i, arg := range args {
		if arg == "--cap-add" {
			added = append(added, args[i+1])
		}
	}
	if want := []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID"}; !slices.Equal(added, want) {
		t.Errorf("%q", added)
	}
	if slices.Index(args, "--cap-add") < slices.Index(args, "--cap-drop") {
		t.Error("what is added is dropped again")
	}

	c.Root.Mapped = 11
	if args, err = c.Arguments(); err != nil || !strings.Contains(strings.Join(args, " "), "--userns-block-fd 11 ") || slices.Contains(args, "--disable-userns") {
		t.Errorf("%v, %v", args, err)
	}
	c.Root.Bytes = 0
	if _, err := c.Arguments(); err == nil {
		t.Error("a root file system without bounds is made")
	}
}
