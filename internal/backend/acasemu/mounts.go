package acasemu

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

func checkMount(m wire.VolumeMount) error {
	p := m.Mountpoint
	if m.VolumeName == "" || strings.ContainsRune(m.VolumeName, 0) {
		return invalid("volumeName is required")
	}
	if !strings.HasPrefix(p, "/") || path.Clean(p) == "/" || len(p) > maxPath || strings.ContainsRune(p, 0) {
		return invalid("mountpoint is an absolute path below the root")
	}
	return nil
}

// mountsOf are the volumes of a sandbox that is about to be made.
func (e *Emulator) mountsOf(tx *store.Tx, c *call, b *wire.CreateSandbox) ([]Mount, error) {
	var mounts []Mount
	for _, m := range b.Volumes {
		mount, err := e.mountOf(tx, c, m, b.Lifecycle)
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, mount)
	}
	return mounts, nil
}

// mountOf judges one mount. A data disk belongs to one sandbox at a time, and to
// one that keeps no memory.
func (e *Emulator) mountOf(tx *store.Tx, c *call, m wire.VolumeMount, l *wire.Lifecycle) (Mount, error) {
	r, err := e.volume(tx, c, m.VolumeName)
	if err != nil {
		return Mount{}, err
	}
	if r.Volume.Type == wire.VolumeDisk {
		users, err := attached(tx, c, m.VolumeName)
		switch {
		case err != nil:
			return Mount{}, err
		case len(users) > 0:
			return Mount{}, refuse(http.StatusConflict, "VolumeInUse", "a DataDisk is attached to one sandbox at a time")
		case e.cfg.Behaviour.StrictDisks && (l == nil || l.AutoSuspend == nil || l.AutoSuspend.Mode != wire.SuspendDisk):
			return Mount{}, invalid("a DataDisk needs a sandbox that is suspended in Disk mode")
		}
	}
	return Mount{Dir: r.Dir, Path: path.Clean(m.Mountpoint), ReadOnly: m.ReadOnly}, nil
}

func (e *Emulator) volumeAttach(ctx context.Context, c *call) (answer, error) {
	var body wire.VolumeMountBody
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	wire.Known(&body)
	m := body.VolumeMount
	if err := checkMount(m); err != nil {
		return answer{}, err
	}
	var mount Mount
	f, err := e.change(ctx, c, false, func(tx *store.Tx, f *found) (err error) {
		s := &f.sandbox
		if !wire.SameState(s.Doc.State, wire.StateRunning) {
			return notRunning(s.Doc.ID, wire.TitleNotRunning)
		}
		if slices.ContainsFunc(s.Doc.Volumes, func(o wire.VolumeMount) bool { return path.Clean(o.Mountpoint) == path.Clean(m.Mountpoint) }) {
			return refuse(http.StatusConflict, "MountpointInUse", "something is mounted there already")
		}
		if mount, err = e.mountOf(tx, c, m, s.Doc.Lifecycle); err != nil {
			return err
		}
		s.Doc.Volumes = append(s.Doc.Volumes, m)
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	id := f.sandbox.Doc.ID
	if err := e.cfg.Guests.Mount(ctx, id, mount); err != nil {
		_, undone := e.change(ctx, c, false, func(_ *store.Tx, f *found) error {
			f.sandbox.Doc.Volumes = slices.DeleteFunc(f.sandbox.Doc.Volumes, func(o wire.VolumeMount) bool { return o.Mountpoint == m.Mountpoint })
			return nil
		})
		if undone != nil {
			return answer{}, undone
		}
		return answer{}, e.guestFailure(ctx, c, id, err)
	}
	return nothing()
}
