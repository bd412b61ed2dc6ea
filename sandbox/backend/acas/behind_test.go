package acas_test

import (
	"errors"
	"path"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/acas"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// showFiles is the command by which a test comes to see a guest's files.
const showFiles = "show the test the files"

// inside is what a guest does to its own files.
type inside struct{ files *sandboxtest.ACASFiles }

// parents makes what is missing above, and follows what is there.
func (i inside) parents(p string) error {
	if err := i.files.Mkdir(path.Dir(p)); err != nil && !errors.Is(err, engine.ErrNotDirectory) {
		return err
	}
	return nil
}

func (i inside) Mkdir(p string) error { return i.files.Mkdir(p) }

func (i inside) WriteFile(p string, data []byte) error {
	return errors.Join(i.parents(p), i.files.Write(p, data))
}

func (i inside) Symlink(p, target string) error {
	return errors.Join(i.parents(p), i.files.Link(target, p))
}

func (i inside) Mkfifo(p string) error { return errors.Join(i.parents(p), i.files.Pipe(p)) }

func (i inside) ReadFile(p string) ([]byte, error) { return i.files.Read(p) }

func (i inside) Exists(p string) bool {
	_, err := i.files.Read(p)
	return !errors.Is(err, engine.ErrNotExist)
}

func (i inside) Remove(p string) error { return i.files.Remove(p) }

// behind opens a sandbox as its own programs have it.
func (w *world) behind(t *testing.T) func(id string) (sandboxtest.Guest, error) {
	t.Helper()
	group, err := w.client(t).Group(w.group())
	if err != nil {
		t.Fatal(err)
	}
	return func(id string) (sandboxtest.Guest, error) {
		s, err := group.Sandbox(id)
		if err != nil {
			return nil, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if _, err := s.ExecShell(t.Context(), wire.ShellCommand{Command: showFiles}); err != nil {
			return nil, err
		}
		return inside{w.shown}, nil
	}
}

// Links, pipes and swaps are planted by the guest itself, which is root here.
func TestFilesConform(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, err := acas.New(w.config)
	if err != nil {
		t.Fatal(err)
	}
	files := sandbox.SetOf(sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut, sandbox.CapabilityFilesList, sandbox.CapabilityFilesDelete)
	sandboxtest.Run(t, sandboxtest.Subject{
		Name: acas.Name, Backend: b, Behind: w.behind(t), Must: []string{"FILES_IN", "FILES_OUT", "FILES_LIST", "FILES_DELETE", "REUSE"},
		Spec: sandbox.Spec{Kind: "probe", Requires: &files, Image: sandbox.Image{Prebuilt: "ubuntu"}, Egress: sandbox.Egress{Mode: sandbox.EgressClosed}},
	})
	if left := w.Guests(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}
