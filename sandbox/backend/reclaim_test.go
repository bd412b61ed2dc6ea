package backend_test

import (
	"errors"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

func reclaimers() map[string]sandboxtest.Options {
	return map[string]sandboxtest.Options{
		"guest beneath": {Access: guestBeneath},
		"frozen root":   {Access: rootFollows, Freeze: true},
	}
}

func TestReclaimRemovesACallsDirectoryAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, options := range reclaimers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, options)
			must(t, s.guest.WriteFile(work+"/calls/a1/deep/er/file", []byte("x")))
			must(t, s.guest.WriteFile(work+"/calls/b2/file", []byte("kept")))
			must(t, s.guest.WriteFile("/outside/file", []byte("kept")))
			must(t, s.guest.Symlink(work+"/calls/a1/link", "/outside"))

			must(t, s.Reclaim(t.Context(), "calls/a1"))
			must(t, s.Reclaim(t.Context(), "calls/a1"))
			must(t, s.Reclaim(t.Context(), work+"/never/was"))
			for path, want := range map[string]bool{
				work + "/calls/a1": false, work + "/calls/b2/file": true, "/outside/file": true,
			} {
				if got := s.guest.Exists(path); got != want {
					t.Errorf("%s exists is %v, want %v", path, got, want)
				}
			}
		})
	}
}

func TestReclaimRefusesWhatIsNoCallsDirectory(t *testing.T) {
	t.Parallel()
	for name, options := range reclaimers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, options)
			must(t, s.guest.WriteFile("/outside/a1/file", []byte("kept")))
			must(t, s.guest.Symlink(work+"/calls", "/outside"))
			for path, code := range map[string]error{
				"":              sandbox.ErrValue,
				".":             sandbox.ErrValue,
				work:            sandbox.ErrValue,
				"../outside/a1": sandbox.CodePathOutside,
				"/outside/a1":   sandbox.CodePathOutside,
				"calls/a1":      sandbox.CodePathThroughLink,
			} {
				if err := s.Reclaim(t.Context(), path); !errors.Is(err, code) {
					t.Errorf("reclaiming %q: %v, want %v", path, err, code)
				}
			}
			if !s.guest.Exists("/outside/a1/file") {
				t.Error("a refused reclaim removed something")
			}
			must(t, s.Reclaim(t.Context(), "calls"))
			if s.guest.Exists(work+"/calls") || !s.guest.Exists("/outside/a1/file") {
				t.Error("a link in the directory's place is unlinked, and what it led to stays")
			}
		})
	}
}

// With a work directory at the root of the guest, one component is a directory of
// the system.
func TestReclaimOfOneComponentIsRefused(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{Access: guestBeneath})
	b := sandboxtest.Backend(t, e)
	req := request(e)
	req.Spec.WorkDir = "/"
	acquired, err := b.Acquire(t.Context(), req)
	must(t, err)
	wantCode(t, acquired.Session.Reclaim(t.Context(), "/usr"), sandbox.CodePathInvalid)
	must(t, acquired.Session.Reclaim(t.Context(), "/usr/call-1"))
}

func TestReclaimIsThereForWorkloadsWhichCannotRequireIt(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{Access: guestBeneath})
	req := request(e)
	only := sandbox.SetOf(sandbox.CapabilityFilesIn)
	req.Spec.Requires = &only
	acquired, err := sandboxtest.Backend(t, e).Acquire(t.Context(), req)
	must(t, err)
	must(t, acquired.Session.Reclaim(t.Context(), "calls/a1"))
	wantCode(t, acquired.Session.Remove(t.Context(), "calls/a1", true), sandbox.CodeUnsupported)
}

func TestASandboxWithoutReclaimSaysSo(t *testing.T) {
	t.Parallel()
	e := sandboxtest.NewEngine(sandboxtest.Options{Access: []engine.Access{{As: sandbox.PrincipalRoot, Links: engine.Follow}}})
	acquired, err := sandboxtest.Backend(t, e).Acquire(t.Context(), request(e))
	must(t, err)
	wantCode(t, acquired.Session.Reclaim(t.Context(), "calls/a1"), sandbox.CodeUnsupported)
}
