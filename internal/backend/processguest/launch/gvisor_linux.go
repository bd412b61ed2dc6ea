package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/gvisor"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/seccomp"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/spawn"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/processguest/view"
)

// GVisor launches with runsc.
type GVisor struct {
	Program *gvisor.Program
	Thread  *spawn.Thread
	// Agent becomes process 1.
	Agent *Image
	// Mark is the zeroth argument of what is started, by which [spawn.EndMarked]
	// finds it.
	Mark string
	// Dir is where each sandbox has a directory while it runs, for everybody whom
	// a sandbox is started as to enter, and for nobody but us to write to.
	Dir string
}

// Launch starts a sandbox. It returns when process 1 has said its first word, and
// on an error nothing of it runs any more.
func (g *GVisor) Launch(ctx context.Context, req Request) (_ *Sandbox, err error) {
	var child descriptors
	defer child.close()
	s := &Sandbox{ended: make(chan struct{})}
	defer func() {
		if err != nil {
			s.closeOwn()
			err = errors.Join(err, s.left())
		}
	}()
	if err := s.plumb(&child); err != nil {
		return nil, err
	}
	if err := g.start(ctx, s, req, &child); err != nil {
		return nil, err
	}
	if err := s.meet(ctx); err != nil {
		words := read(s.words)
		err = errors.Join(err, s.abandon(ctx))
		if words != "" {
			err = fmt.Errorf("%w; runsc says %.300q", err, words)
		}
		return nil, err
	}
	s.Limited = true // gVisor's kernel does, whatever this host may
	go s.watch()
	return s, nil
}

// start lays out the sandbox's directory and starts runsc on it.
func (g *GVisor) start(ctx context.Context, s *Sandbox, req Request, child *descriptors) error {
	dir, err := os.MkdirTemp(g.Dir, "sandbox-")
	if err != nil {
		return fmt.Errorf("make a sandbox's directory: %w", err)
	}
	s.leave = func() error { return os.RemoveAll(dir) }
	settings, err := g.layOut(dir, req)
	if err != nil {
		return err
	}
	program, err := g.Program.Open()
	if err != nil {
		return err
	}
	programFD := child.add(program)
	agent, err := g.Agent.Open()
	if err != nil {
		return err
	}
	agentFD := strconv.FormatUint(uint64(child.add(agent)), 10)
	args := append([]string{g.Mark}, settings...)
	s.monitor, err = g.Thread.Start(ctx, spawn.Child{
		Path: "/proc/self/fd/" + strconv.FormatUint(uint64(programFD), 10),
		Args: append(args, "run", "--bundle="+dir, "--exec-fd="+agentFD, "sandbox"), Files: child.files,
		Credential: req.Credential, Group: req.Group, Apart: true,
	})
	child.close()
	if err != nil {
		return fmt.Errorf("start runsc: %w", err)
	}
	return nil
}

// layOut writes the bundle and answers runsc's settings for it. Only the directory
// for runsc's own notes belongs to whom it is started as.
func (g *GVisor) layOut(dir string, req Request) ([]string, error) {
	root, notes := filepath.Join(dir, "root"), filepath.Join(dir, "notes")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(root, 0o755), os.Chmod(root, 0o755), os.Mkdir(notes, 0o700)); err != nil {
		return nil, fmt.Errorf("make a sandbox's directory: %w", err)
	}
	if c := req.Credential; c != nil {
		if err := os.Chown(notes, int(c.Uid), int(c.Gid)); err != nil {
			return nil, fmt.Errorf("make a sandbox's directory: %w", err)
		}
	}
	tree, err := gvisor.Lay(root, req.View)
	if err != nil {
		return nil, err
	}
	filter, err := gvisor.Filter(seccomp.Rules())
	if err != nil {
		return nil, err
	}
	spec, err := gvisor.Bundle{
		Root: root, Views: tree.Views, Scratch: tree.Scratch,
		Args: []string{view.Agent}, UID: view.UID, GID: view.GID, WorkDir: req.Dir, Hostname: view.Hostname,
		Limits:  gvisor.Limits{Processes: req.Limits.Processes, FileBytes: req.Limits.FileBytes, OpenFiles: openFiles},
		Seccomp: filter,
	}.Spec()
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("write a sandbox's bundle: %w", err)
	}
	config := filepath.Join(dir, "config.json")
	if err := errors.Join(os.WriteFile(config, content, 0o644), os.Chmod(config, 0o644)); err != nil {
		return nil, fmt.Errorf("write a sandbox's bundle: %w", err)
	}
	return gvisor.Settings(notes, tree.Socket), nil
}
