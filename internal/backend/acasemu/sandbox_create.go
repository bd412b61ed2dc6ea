package acasemu

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

// birth is a sandbox that is about to be made.
type birth struct {
	body   wire.CreateSandbox
	group  groupRecord
	record sandboxRecord
	size   size
	source source
	mounts []Mount
	policy *wire.EgressPolicy
	env    map[string]string
}

// sandboxCreate makes a sandbox, however often it is asked: the service knows no
// request again. The guest boots between two transactions; what it was made from is
// looked at in both.
func (e *Emulator) sandboxCreate(ctx context.Context, c *call) (answer, error) {
	b := birth{}
	if err := c.document(&b.body, false); err != nil {
		return answer{}, err
	}
	wire.Known(&b.body)
	if err := checkCreate(&b.body); err != nil {
		return answer{}, err
	}
	id := newID()
	if err := e.store.View(ctx, func(tx *store.Tx) error { return e.conceive(tx, c, id, &b) }); err != nil {
		return answer{}, err
	}
	if err := e.cfg.Guests.Start(ctx, e.boot(c, id, &b)); err != nil {
		return answer{}, e.guestFailure(ctx, c, id, err)
	}
	var doc wire.Sandbox
	err := e.store.Update(ctx, func(tx *store.Tx) error {
		again := birth{body: b.body}
		err := e.conceive(tx, c, id, &again)
		if err != nil {
			return err
		}
		doc, err = e.register(tx, c, &again)
		return err
	})
	if err != nil {
		e.endGuest(ctx, id)
		return answer{}, err
	}
	e.owned.add(id, append(c.groupKey(), id))
	return c.made(doc)
}

// checkCreate judges what needs no state.
func checkCreate(b *wire.CreateSandbox) error {
	if err := checkLabels(b.Labels); err != nil {
		return err
	}
	if err := checkLifecycle(b.Lifecycle); err != nil {
		return err
	}
	if err := checkEgress(b.EgressPolicy); err != nil {
		return err
	}
	for _, m := range b.Volumes {
		if err := checkMount(m); err != nil {
			return err
		}
	}
	return nil
}

// conceive works out what a sandbox would be, from the state as it is.
func (e *Emulator) conceive(tx *store.Tx, c *call, id string, b *birth) (err error) {
	if b.group, err = e.dataGroup(tx, c); err != nil {
		return err
	}
	if b.source, err = e.sourceOf(tx, c, &b.body); err != nil {
		return err
	}
	if b.size, err = b.sizeOf(); err != nil {
		return err
	}
	if b.env, err = b.environment(tx); err != nil {
		return err
	}
	if b.policy, err = e.policyOf(tx, c, &b.body); err != nil {
		return err
	}
	if b.mounts, err = e.mountsOf(tx, c, &b.body); err != nil {
		return err
	}
	if err := e.checkVNet(tx, c, &b.body); err != nil {
		return err
	}
	ports, err := newPorts(id, region(b.group.Group.Location), b.body.Ports)
	if err != nil {
		return err
	}
	b.record = sandboxRecord{
		Created: c.now, Used: c.now, Image: b.source.disk, From: b.source.image,
		Doc: wire.Sandbox{
			ID: id, State: wire.StateRunning, Labels: b.body.Labels, CreatedAt: stamp(c.now), VMMType: b.body.VMMType,
			Resources: b.size.written(b.source.resources), SourcesRef: b.source.shown, Lifecycle: b.body.Lifecycle, Ports: ports,
			Connections: b.body.Connections, Volumes: b.body.Volumes, Entrypoint: b.body.Entrypoint, Cmd: b.body.Cmd,
			WorkingDirectory: b.body.WorkingDirectory, PresetSandboxType: b.body.PresetSandboxType, SandboxGroupID: b.body.SandboxGroupID,
			CustomerVNetConnectionName: cmp.Or(b.body.CustomerVNetConnectionName, b.body.VNetConnectionName),
			SkipEgressProxy:            b.body.SkipEgressProxy, IdentitySettings: b.body.IdentitySettings, EgressPolicyID: b.body.EgressPolicyID,
			GatewayConnections: b.body.GatewayConnections, ContentPackageDownloads: b.body.ContentPackageDownloads,
		},
	}
	if b.record.Doc.Lifecycle == nil {
		b.record.Doc.Lifecycle = &wire.Lifecycle{AutoSuspend: &wire.AutoSuspend{Enabled: true, Interval: 600, Mode: wire.SuspendMemory}}
	}
	e.starting(c, &b.record)
	return nil
}

// starting gives a new sandbox the state it begins in.
func (e *Emulator) starting(c *call, s *sandboxRecord) {
	switch c.fault.Sandbox {
	case "stuck":
		s.Doc.State, s.Pending = wire.StateCreating, &pending{Never: true}
	case "failed":
		s.Doc.State = wire.StateFailed
	default:
		if s.Pending = after(e.cfg.Pace.Create, wire.StateRunning, c.now); s.Pending != nil {
			s.Doc.State = wire.StateCreating
		}
	}
}

// register puts a sandbox into the state.
func (e *Emulator) register(tx *store.Tx, c *call, b *birth) (doc wire.Sandbox, err error) {
	s := &b.record
	if s.Seq, err = tx.Next(); err != nil {
		return doc, err
	}
	if len(b.env) > 0 {
		if s.Hidden, err = tx.Seal(purposeBoot, b.env); err != nil {
			return doc, err
		}
	}
	if b.policy != nil {
		if s.Egress, err = tx.Seal(purposeEgress, b.policy); err != nil {
			return doc, err
		}
	}
	if err := store.Put(tx, kindSandbox, append(c.groupKey(), s.Doc.ID), *s); err != nil {
		return doc, err
	}
	return e.show(tx, c, &b.group, s, true)
}

// boot is what the guest starts from.
func (e *Emulator) boot(c *call, id string, b *birth) Boot {
	boot := Boot{
		ID: id, Image: b.source.image, Entrypoint: b.body.Entrypoint, Cmd: b.body.Cmd, WorkDir: b.body.WorkingDirectory,
		CPUMillis: int(b.size.cpuMillis), MemoryBytes: b.size.memoryMi << 20, DiskBytes: b.size.diskMi << 20,
		Mounts: b.mounts, Egress: e.egressFor(c, b.policy),
	}
	for name, value := range b.env {
		boot.Env = append(boot.Env, name+"="+value)
	}
	slices.Sort(boot.Env)
	return boot
}

// sizeOf is how large the sandbox is: as asked, or as what it is made from.
func (b *birth) sizeOf() (size, error) {
	if b.source.resources == nil {
		return size{}, invalid("resources is required for a disk image")
	}
	s, err := readSize(b.source.resources)
	if err != nil {
		return s, err
	}
	if least := b.source.leastDiskMi; s.diskMi < least {
		if b.body.Resources != nil && b.body.Resources.Disk != "" {
			return s, refuse(http.StatusBadRequest, "DiskTooSmall", "the image needs a disk of %dMi", least)
		}
		s.diskMi = least
	}
	return s, nil
}

// environment is the sandbox's own, or that of the snapshot that it continues.
func (b *birth) environment(tx *store.Tx) (map[string]string, error) {
	env := b.body.Environment
	if len(b.source.hidden) > 0 {
		if err := tx.Unseal(purposeBoot, b.source.hidden, &env); err != nil {
			return nil, err
		}
	}
	return env, nil
}

// checkVNet holds a create to a connection that the group has.
func (e *Emulator) checkVNet(tx *store.Tx, c *call, b *wire.CreateSandbox) error {
	name := cmp.Or(b.CustomerVNetConnectionName, b.VNetConnectionName)
	if name == "" {
		return nil
	}
	for v, err := range store.Each[vnetRecord](tx, kindVNet, c.groupKey()) {
		if err != nil {
			return err
		}
		if v.VNet.Name == name {
			return nil
		}
	}
	return refuse(http.StatusNotFound, "VnetConnectionNotFound", "the group has no VNet connection of that name")
}
