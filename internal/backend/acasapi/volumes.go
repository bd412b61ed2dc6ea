package acasapi

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func (g *Group) volume(op wire.Op, name string) (call, error) {
	return g.on(op, "volume", wire.SegVolume, name), checkID("volume", name)
}

// PutVolume makes a volume, or replaces the one of that name, and waits until it is
// provisioned.
func (g *Group) PutVolume(ctx context.Context, name string, body wire.Volume, wait Wait) (wire.Volume, error) {
	c, err := g.volume(wire.VolumePut, name)
	if err != nil {
		return wire.Volume{}, err
	}
	if err := body.Labels.Check(); err != nil {
		return wire.Volume{}, refusal(sandbox.CodeInvalidText, c.object, err.Error(), "labels that the service takes", "")
	}
	c.body = body
	volume, err := ask(ctx, g.plane, c, (*wire.Volume).Check)
	if err != nil {
		return wire.Volume{}, err
	}
	return g.AwaitVolume(ctx, name, volume, wait)
}

// AwaitVolume waits until a volume is provisioned, whoever made it. volume is how it
// was last seen.
func (g *Group) AwaitVolume(ctx context.Context, name string, volume wire.Volume, wait Wait) (wire.Volume, error) {
	object := g.on(wire.VolumeGet, "volume", wire.SegVolume, name).object
	p := polling{first: time.Second, most: 8 * time.Second, limit: 5 * time.Minute, object: object, goal: wire.ARMSucceeded}
	err := g.client().poll(ctx, wait, p, func(ctx context.Context) (bool, string, error) {
		state := volume.ProvisioningState
		switch {
		case state == "", wire.SameState(state, wire.ARMSucceeded):
			return true, state, nil
		case wire.SameState(state, wire.ARMFailed, wire.ARMCanceled):
			return false, state, refusal(sandbox.CodeServiceFailed, object, word(state), wire.ARMSucceeded, "")
		}
		var err error
		volume, err = g.Volume(ctx, name)
		return false, state, err
	})
	return volume, err
}

// Volume reads a volume.
func (g *Group) Volume(ctx context.Context, name string) (wire.Volume, error) {
	c, err := g.volume(wire.VolumeGet, name)
	if err != nil {
		return wire.Volume{}, err
	}
	return ask(ctx, g.plane, c, (*wire.Volume).Check)
}

// Volumes gives the group's volumes that carry every one of labels.
func (g *Group) Volumes(ctx context.Context, labels wire.Labels) iter.Seq2[wire.Volume, error] {
	c, err := filtered(g.call(wire.VolumeList), labels)
	if err != nil {
		return failed[wire.Volume](err)
	}
	items := listing[wire.Volume]{
		call: c, key: "value", numbered: true, check: (*wire.Volume).Check,
		id: func(v *wire.Volume) string { return v.VolumeName + "/" + v.Name },
	}.all(ctx, g.plane)
	return having(items, labels, func(v wire.Volume) wire.Labels { return v.Labels })
}

// CountVolumes is how many volumes the group has of each kind.
func (g *Group) CountVolumes(ctx context.Context) ([]wire.VolumeTypeCount, error) {
	counts, err := ask[wire.VolumeCounts](ctx, g.plane, g.call(wire.VolumeCount), nil)
	return counts.Counts, err
}

// ForkVolume copies a volume under a new name. A name that is taken is
// service.conflict.
func (g *Group) ForkVolume(ctx context.Context, name, destination string, labels wire.Labels) (wire.Volume, error) {
	c, err := g.volume(wire.VolumeFork, name)
	if err == nil {
		err = checkID("volume", destination)
	}
	if err != nil {
		return wire.Volume{}, err
	}
	labels, marker, err := marked(labels, "")
	if err != nil {
		return wire.Volume{}, err
	}
	c.body = wire.VolumeForkBody{DestinationVolumeName: destination, Labels: labels}
	return making[wire.Volume]{
		client: g.client(), object: "volume " + sandbox.Echo(destination),
		send: func(ctx context.Context) (wire.Volume, error) { return ask(ctx, g.plane, c, (*wire.Volume).Check) },
		find: func(ctx context.Context) ([]wire.Volume, error) { return gather(g.Volumes(ctx, marker)) },
		discard: func(ctx context.Context, v wire.Volume) error {
			return gone(g.do(ctx, g.on(wire.VolumeDelete, "volume", wire.SegVolume, destination)))
		},
		id: func(v wire.Volume) string { return v.VolumeName + v.Name },
	}.run(ctx)
}

// DeleteVolume removes a volume and waits until it is gone. One that does not exist
// is success; one that is attached is service.conflict.
func (g *Group) DeleteVolume(ctx context.Context, name string, wait Wait) error {
	c, err := g.volume(wire.VolumeDelete, name)
	if err != nil {
		return err
	}
	return g.deleteAndWait(ctx, c, wait, func(ctx context.Context) (string, error) {
		volume, err := g.Volume(ctx, name)
		return volume.ProvisioningState, err
	})
}

// AttachVolume puts a volume into a running sandbox. It is sent once; after a lost
// answer the sandbox is looked at before it is sent again.
func (s *Sandbox) AttachVolume(ctx context.Context, mount wire.VolumeMount) error {
	if err := checkID("volume", mount.VolumeName); err != nil {
		return err
	}
	if err := checkPath(s.object(), mount.Mountpoint); err != nil {
		return err
	}
	c := s.call(wire.VolumeAttach)
	c.object = "volume " + sandbox.Echo(mount.VolumeName) + " in " + c.object
	c.body = wire.VolumeMountBody{VolumeMount: mount}
	return s.attach(ctx, c, func(doc wire.Sandbox) bool {
		return slices.ContainsFunc(doc.Volumes, func(m wire.VolumeMount) bool {
			return m.VolumeName == mount.VolumeName && m.Mountpoint == mount.Mountpoint
		})
	})
}

// attach adds something to the sandbox that can be seen on it afterwards.
func (s *Sandbox) attach(ctx context.Context, c call, there func(wire.Sandbox) bool) error {
	_, err := making[wire.Sandbox]{
		client: s.group.client(), object: c.object,
		send: func(ctx context.Context) (wire.Sandbox, error) { return wire.Sandbox{}, s.group.do(ctx, c) },
		find: func(ctx context.Context) ([]wire.Sandbox, error) {
			doc, err := s.Get(ctx)
			if err != nil || !there(doc) {
				return nil, err
			}
			return []wire.Sandbox{doc}, nil
		},
	}.run(ctx)
	return err
}
