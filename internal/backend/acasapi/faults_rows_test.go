package acasapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// What runs leaves a line, and the lines are counted.
const (
	ranOnce   = "echo ran >>/tmp/ran"
	countRuns = "cat /tmp/ran 2>/dev/null | wc -l"
)

// faultRows is every operation that the other server has, each through the door a
// caller uses.
func faultRows() []faultRow {
	return slices.Concat(armRows(), sandboxRows(), fileRows(), imageRows(), storageRows())
}

func plain(op wire.Op, run func(context.Context, *cell) error) faultRow {
	return faultRow{op: op, run: run}
}

func armRows() []faultRow {
	var none acasapi.Wait
	return []faultRow{
		plain(wire.GroupGet, func(ctx context.Context, c *cell) error { return second(c.GetGroup(ctx, groupID(c.name))) }),
		plain(wire.GroupPut, func(ctx context.Context, c *cell) error {
			return second(c.PutGroup(ctx, groupID(c.name), wire.Group{Location: "swedencentral"}, none))
		}),
		plain(wire.GroupPatch, func(ctx context.Context, c *cell) error {
			return second(c.PatchGroup(ctx, groupID(c.name), wire.GroupPatchBody{Tags: map[string]string{"a": "b"}}, none))
		}),
		{
			op: wire.GroupDelete, run: func(ctx context.Context, c *cell) error { return c.DeleteGroup(ctx, groupID(c.name), none) },
			leaves: func(s *state) { *s = state{} },
		},
		plain(wire.GroupList, func(ctx context.Context, c *cell) error {
			return second(gathered(c.ListGroups(ctx, subscription, "rg")))
		}),
		plain(wire.GroupListSubscription, func(ctx context.Context, c *cell) error { return second(gathered(c.ListGroups(ctx, subscription, ""))) }),
		plain(wire.VNetPut, func(ctx context.Context, c *cell) error {
			return second(c.PutVNetConnection(ctx, groupID(c.name), "net", subnet(), none))
		}),
		{op: wire.VNetGet, before: putVNet, run: func(ctx context.Context, c *cell) error {
			return second(c.GetVNetConnection(ctx, groupID(c.name), "net"))
		}},
		{op: wire.VNetList, before: putVNet, run: func(ctx context.Context, c *cell) error {
			return second(gathered(c.ListVNetConnections(ctx, groupID(c.name))))
		}},
		{op: wire.VNetDelete, before: putVNet, run: func(ctx context.Context, c *cell) error {
			return c.DeleteVNetConnection(ctx, groupID(c.name), "net", none)
		}},
	}
}

func sandboxRows() []faultRow {
	var none acasapi.Wait
	var making acasapi.Making
	return []faultRow{
		{
			op: wire.SandboxCreate, run: func(ctx context.Context, c *cell) error { return second(c.g.CreateSandbox(ctx, smallest(), making)) },
			leaves: func(s *state) { s.sandboxes++ },
		},
		plain(wire.SandboxGet, func(ctx context.Context, c *cell) error { return second(c.s.Get(ctx)) }),
		plain(wire.SandboxList, func(ctx context.Context, c *cell) error { return second(gathered(c.g.Sandboxes(ctx, nil))) }),
		plain(wire.SandboxCount, func(ctx context.Context, c *cell) error { return second(c.g.CountSandboxes(ctx)) }),
		{
			op: wire.SandboxDelete, run: func(ctx context.Context, c *cell) error { return c.s.Delete(ctx, none) },
			leaves: func(s *state) { s.sandboxes--; s.ports = 0 },
		},
		plain(wire.SandboxStop, func(ctx context.Context, c *cell) error { return second(c.s.Stop(ctx, none)) }),
		{op: wire.SandboxResume, before: stop, run: func(ctx context.Context, c *cell) error { return second(c.s.Resume(ctx, none)) }},
		plain(wire.SandboxDisable, func(ctx context.Context, c *cell) error { return second(c.s.Disable(ctx, none)) }),
		plain(wire.SandboxEnable, func(ctx context.Context, c *cell) error { return c.s.Enable(ctx) }),
		plain(wire.SandboxStats, func(ctx context.Context, c *cell) error { return second(c.s.Stats(ctx)) }),
		plain(wire.SandboxLifecycle, func(ctx context.Context, c *cell) error {
			return second(c.s.SetLifecycle(ctx, wire.Lifecycle{AutoSuspend: &wire.AutoSuspend{Enabled: true, Interval: 60}}))
		}),
		{
			op: wire.SandboxSnapshot, run: makeSnapshot,
			leaves: func(s *state) { s.snapshots++ },
		},
		{
			op: wire.SandboxCommit, run: func(ctx context.Context, c *cell) error { return second(c.s.Commit(ctx, nil, making)) },
			leaves: func(s *state) { s.images++ },
		},
		{
			op: wire.ExecShell, runs: true, leaves: func(s *state) { s.ran++ },
			run: func(ctx context.Context, c *cell) error {
				return second(c.s.ExecShell(ctx, wire.ShellCommand{Command: ranOnce}))
			},
		},
		{
			op: wire.ExecCommand, runs: true, leaves: func(s *state) { s.ran++ },
			run: func(ctx context.Context, c *cell) error {
				return second(c.s.ExecCommand(ctx, wire.Command{Command: "sh", Args: []string{"-c", ranOnce}}))
			},
		},
	}
}

func fileRows() []faultRow {
	return []faultRow{
		{op: wire.FileRead, before: writeFile, run: readFile},
		{op: wire.FileWrite, run: func(ctx context.Context, c *cell) error {
			if err := writeFile(ctx, c); err != nil {
				return err
			}
			return readFile(ctx, c)
		}},
		{op: wire.FileStat, before: writeFile, run: func(ctx context.Context, c *cell) error { return second(c.s.StatFile(ctx, filePath)) }},
		{op: wire.FileList, before: writeFile, run: func(ctx context.Context, c *cell) error { return second(c.s.ListFiles(ctx, "/app")) }},
		{op: wire.FileMkdir, run: func(ctx context.Context, c *cell) error { return c.s.MakeDir(ctx, "/app/dir") }},
		{op: wire.FileDelete, before: writeFile, run: func(ctx context.Context, c *cell) error { return c.s.DeleteFile(ctx, filePath, false) }},
	}
}

func imageRows() []faultRow {
	var none acasapi.Wait
	return []faultRow{
		{
			op: wire.ImageCreate, leaves: func(s *state) { s.images++ },
			run: makeImage,
		},
		{op: wire.ImageGet, before: makeImage, run: func(ctx context.Context, c *cell) error { return second(c.g.Image(ctx, c.made)) }},
		{op: wire.ImageList, before: makeImage, run: func(ctx context.Context, c *cell) error { return second(gathered(c.g.Images(ctx, nil))) }},
		{
			op: wire.ImageDelete, before: makeImage, leaves: func(s *state) { s.images-- },
			run: func(ctx context.Context, c *cell) error { return c.g.DeleteImage(ctx, c.made, none) },
		},
		{op: wire.ImagePublicList, run: func(ctx context.Context, c *cell) error { return second(gathered(c.g.PublicImages(ctx))) }},
		{op: wire.ImagePublicGet, run: func(ctx context.Context, c *cell) error { return second(c.g.PublicImage(ctx, "python-3.13")) }},
		{op: wire.SnapshotGet, before: makeSnapshot, run: func(ctx context.Context, c *cell) error { return second(c.g.Snapshot(ctx, c.made)) }},
		{
			op: wire.SnapshotDelete, before: makeSnapshot, leaves: func(s *state) { s.snapshots-- },
			run: func(ctx context.Context, c *cell) error { return c.g.DeleteSnapshot(ctx, c.made, none) },
		},
		{op: wire.SnapshotList, run: func(ctx context.Context, c *cell) error { return second(gathered(c.g.Snapshots(ctx, nil))) }},
		{op: wire.SnapshotCount, run: func(ctx context.Context, c *cell) error { return second(c.g.CountSnapshots(ctx)) }},
	}
}

func storageRows() []faultRow {
	var none acasapi.Wait
	return []faultRow{
		{
			op: wire.VolumePut, leaves: func(s *state) { s.volumes++ },
			run: putVolume,
		},
		{op: wire.VolumeGet, before: putVolume, run: func(ctx context.Context, c *cell) error { return second(c.g.Volume(ctx, "vol-1")) }},
		{op: wire.VolumeList, before: putVolume, run: func(ctx context.Context, c *cell) error { return second(gathered(c.g.Volumes(ctx, nil))) }},
		{
			op: wire.VolumeDelete, before: putVolume, leaves: func(s *state) { s.volumes-- },
			run: func(ctx context.Context, c *cell) error { return c.g.DeleteVolume(ctx, "vol-1", none) },
		},
		{op: wire.VolumeAttach, before: putVolume, run: func(ctx context.Context, c *cell) error {
			return c.s.AttachVolume(ctx, wire.VolumeMount{VolumeName: "vol-1", Mountpoint: "/data"})
		}},
		{op: wire.SecretPut, leaves: func(s *state) { s.secrets++ }, run: putSecret},
		{op: wire.SecretList, before: putSecret, run: func(ctx context.Context, c *cell) error { return second(gathered(c.g.Secrets(ctx))) }},
		{op: wire.SecretKeys, before: putSecret, run: func(ctx context.Context, c *cell) error { return second(c.g.SecretKeys(ctx, "svc-1")) }},
		{op: wire.SecretPeek, before: putSecret, run: func(ctx context.Context, c *cell) error { return second(c.g.PeekSecret(ctx, "svc-1")) }},
		{
			op: wire.SecretDelete, before: putSecret, leaves: func(s *state) { s.secrets-- },
			run: func(ctx context.Context, c *cell) error { return c.g.DeleteSecret(ctx, "svc-1") },
		},
		{op: wire.PortList, run: func(ctx context.Context, c *cell) error { return second(c.s.Ports(ctx)) }},
		{op: wire.PortAdd, run: addPort, leaves: func(s *state) { s.ports++ }},
		{
			op: wire.PortRemove, before: addPort, leaves: func(s *state) { s.ports-- },
			run: func(ctx context.Context, c *cell) error { return second(c.s.RemovePort(ctx, 8080)) },
		},
		{
			op: wire.PortReplace, leaves: func(s *state) { s.ports++ },
			run: func(ctx context.Context, c *cell) error {
				return second(c.s.ReplacePorts(ctx, []wire.Port{{Port: 8080}}))
			},
		},
		{op: wire.EgressSet, run: func(ctx context.Context, c *cell) error {
			return second(c.s.SetEgress(ctx, wire.EgressPolicy{DefaultAction: wire.EgressDeny}))
		}},
		{op: wire.EgressDecisions, run: func(ctx context.Context, c *cell) error { return second(c.s.EgressDecisions(ctx)) }},
		{op: wire.ConnectionList, run: func(ctx context.Context, c *cell) error { return second(gathered(c.g.Connections(ctx))) }},
		{op: wire.ConnectionAttach, run: func(ctx context.Context, c *cell) error { return c.s.AttachConnection(ctx, "conn-1") }},
	}
}

const filePath = "/app/file"

func subnet() wire.VNetConnection {
	return wire.VNetConnection{Location: "swedencentral", Properties: wire.VNetProperties{SubnetID: "/subscriptions/x/subnets/y"}}
}

func putVNet(ctx context.Context, c *cell) error {
	return second(c.PutVNetConnection(ctx, groupID(c.name), "net", subnet(), acasapi.Wait{}))
}

func stop(ctx context.Context, c *cell) error { return second(c.s.Stop(ctx, acasapi.Wait{})) }

var content = bytes.Repeat([]byte("0123456789abcdef"), 8<<10)

func writeFile(ctx context.Context, c *cell) error {
	return c.s.WriteFile(ctx, filePath, bytes.NewReader(content), acasapi.Writing{Size: int64(len(content))})
}

func readFile(ctx context.Context, c *cell) error {
	file, err := c.s.ReadFile(ctx, filePath)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return &sandbox.Refusal{Finding: sandbox.Finding{Code: sandbox.CodeServiceUnavailable}, Err: &acasapi.Error{ClientRequestID: "x", Err: err}}
	}
	if !bytes.Equal(got, content) {
		return fmt.Errorf("read %d bytes of %d", len(got), len(content))
	}
	return nil
}

func makeImage(ctx context.Context, c *cell) error {
	image, err := c.g.CreateImage(ctx, wire.CreateImage{Image: &wire.ImageSource{Base: "registry.example.test/app:1"}}, acasapi.Making{})
	c.made = image.ID
	return err
}

func makeSnapshot(ctx context.Context, c *cell) error {
	snapshot, err := c.s.CreateSnapshot(ctx, nil, acasapi.Making{})
	c.made = snapshot.ID
	return err
}

func putVolume(ctx context.Context, c *cell) error {
	return second(c.g.PutVolume(ctx, "vol-1", wire.Volume{Type: wire.VolumeDisk, Size: "1Gi"}, acasapi.Wait{}))
}

func putSecret(ctx context.Context, c *cell) error {
	return second(c.g.PutSecret(ctx, "svc-1", map[string]string{"k": "v"}))
}

func addPort(ctx context.Context, c *cell) error {
	return second(c.s.AddPort(ctx, wire.Port{Port: 8080}))
}
