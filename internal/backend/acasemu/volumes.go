package acasemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

const absentVolume = "VolumeNotFound"

func (c *call) volumeKey() store.Key { return append(c.groupKey(), c.seg[wire.SegVolume]) }

// dir is a directory of this machine for the files of one volume or package.
func (e *Emulator) dir(kind, id string) string { return filepath.Join(e.cfg.State+".d", kind, id) }

func checkVolume(c *call, v *wire.Volume) error {
	types := []string{wire.VolumeBlob, wire.VolumeDisk, wire.VolumeBlobByo}
	if c.version == wire.V0901 {
		types = append(types, wire.VolumeFileCIFS, wire.VolumeFileNFS, wire.VolumeElastic)
	}
	switch {
	case !slices.Contains(types, v.Type):
		return invalid("type is one of %s", strings.Join(types, ", "))
	case v.Type == wire.VolumeDisk && v.Size == "":
		return invalid("size is required for a DataDisk")
	}
	return checkLabels(v.Labels)
}

func (e *Emulator) volumePut(ctx context.Context, c *call) (answer, error) {
	var body wire.Volume
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	wire.Known(&body)
	if err := checkVolume(c, &body); err != nil {
		return answer{}, err
	}
	return e.makeVolume(ctx, c, c.seg[wire.SegVolume], body, "")
}

// makeVolume makes a volume, or changes the labels of one that is there. from is
// the directory of a volume whose files it begins with.
func (e *Emulator) makeVolume(ctx context.Context, c *call, name string, asked wire.Volume, from string) (answer, error) {
	var r volumeRecord
	var shown shownVolume
	status := http.StatusOK
	dir := e.dir("volumes", newID())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return answer{}, fmt.Errorf("making a volume: %w", err)
	}
	if from != "" {
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			return answer{}, fmt.Errorf("copying a volume: %w", err)
		}
	}
	used := false
	err := e.store.Update(ctx, func(tx *store.Tx) error {
		key := append(c.groupKey(), name)
		if _, err := e.dataGroup(tx, c); err != nil {
			return err
		}
		var err error
		if r, used, err = store.Get[volumeRecord](tx, kindVolume, key); err != nil {
			return err
		}
		used = !used
		switch status = http.StatusOK; {
		case used:
			status = http.StatusCreated
			r = volumeRecord{Dir: dir}
			if r.Seq, err = tx.Next(); err != nil {
				return err
			}
		case from != "":
			return refuse(http.StatusConflict, "VolumeAlreadyExists", "the group has a volume of that name")
		case r.Volume.Type != asked.Type:
			return refuse(http.StatusConflict, "VolumeTypeCannotChange", "the volume is of type %s", r.Volume.Type)
		}
		r.Volume = asked
		r.Volume.VolumeName, r.Volume.Name, r.Volume.ProvisioningState = name, "", wire.ARMSucceeded
		if err = store.Put(tx, kindVolume, key, r); err == nil {
			shown, err = showVolume(c)(tx, &r)
		}
		return err
	})
	if err != nil || !used {
		_ = os.RemoveAll(dir) // nothing refers to it
	}
	if err != nil {
		return answer{}, err
	}
	return answer{status: status, doc: shown}, nil
}

// attached are the sandboxes that have a volume.
func attached(tx *store.Tx, c *call, volume string) (sandboxes []string, err error) {
	for s, err := range store.Each[sandboxRecord](tx, kindSandbox, c.groupKey()) {
		if err != nil {
			return nil, err
		}
		if !s.Deleted && slices.ContainsFunc(s.Doc.Volumes, func(m wire.VolumeMount) bool { return m.VolumeName == volume }) {
			sandboxes = append(sandboxes, s.Doc.ID)
		}
	}
	return sandboxes, nil
}

// shownVolume is a volume as the service answers it: with what a request for one
// leaves out.
type shownVolume struct {
	wire.Volume
	IsAttached bool        `json:"isAttached"`
	Usage      volumeUsage `json:"usage"`
}

// volumeUsage is in bytes, as text. How much is available nobody counts here.
type volumeUsage struct {
	Used      string `json:"used"`
	Available string `json:"available"`
}

func showVolume(c *call) func(*store.Tx, *volumeRecord) (shownVolume, error) {
	return func(tx *store.Tx, r *volumeRecord) (shownVolume, error) {
		v := shownVolume{Volume: r.Volume}
		users, err := attached(tx, c, v.VolumeName)
		if err != nil {
			return v, err
		}
		if len(users) > 0 {
			v.IsAttached, v.AttachedSandboxID = true, users[0]
		}
		v.Usage.Used, err = bytesUnder(r.Dir)
		return v, err
	}
}

// bytesUnder is how much the files of a directory hold. One that goes meanwhile
// holds nothing.
func bytesUnder(dir string) (string, error) {
	total := int64(0)
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("measuring a volume: %w", err)
	}
	return strconv.FormatInt(total, 10), nil
}

func (e *Emulator) volumeGet(ctx context.Context, c *call) (answer, error) {
	return one(ctx, e, c, kindVolume, c.volumeKey(), absentVolume, showVolume(c))
}

func (e *Emulator) volumes(ctx context.Context, c *call) ([]shownVolume, error) {
	return every(ctx, e, c, kindVolume, func(r *volumeRecord) uint64 { return r.Seq }, showVolume(c))
}

func (e *Emulator) volumeList(ctx context.Context, c *call) (answer, error) {
	want, err := c.wanted()
	if err != nil {
		return answer{}, err
	}
	all, err := e.volumes(ctx, c)
	if err != nil {
		return answer{}, err
	}
	return dataPage(e, c, labelled(all, want, func(v shownVolume) wire.Labels { return v.Labels }))
}

func (e *Emulator) volumeCount(ctx context.Context, c *call) (answer, error) {
	all, err := e.volumes(ctx, c)
	if err != nil {
		return answer{}, err
	}
	counts := wire.VolumeCounts{}
	for _, v := range all {
		at := slices.IndexFunc(counts.Counts, func(n wire.VolumeTypeCount) bool { return n.Type == v.Type })
		if at < 0 {
			counts.Counts = append(counts.Counts, wire.VolumeTypeCount{Type: v.Type, Count: 1})
			continue
		}
		counts.Counts[at].Count++
	}
	return ok(counts)
}

func (e *Emulator) volumeDelete(ctx context.Context, c *call) (answer, error) {
	var dir string
	err := e.store.Update(ctx, func(tx *store.Tx) error {
		r, err := e.volume(tx, c, c.seg[wire.SegVolume])
		if err != nil {
			return err
		}
		users, err := attached(tx, c, r.Volume.VolumeName)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return refuse(http.StatusConflict, "VolumeInUse", "the volume is attached to a sandbox")
		}
		dir = r.Dir
		return tx.Delete(kindVolume, c.volumeKey())
	})
	if err != nil {
		return answer{}, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return answer{}, fmt.Errorf("removing a volume: %w", err)
	}
	return nothing()
}

func (e *Emulator) volume(tx *store.Tx, c *call, name string) (volumeRecord, error) {
	if _, err := e.dataGroup(tx, c); err != nil {
		return volumeRecord{}, err
	}
	r, exists, err := store.Get[volumeRecord](tx, kindVolume, append(c.groupKey(), name))
	if err == nil && !exists {
		err = absent(absentVolume)
	}
	return r, err
}

func (e *Emulator) volumeFork(ctx context.Context, c *call) (answer, error) {
	var body wire.VolumeForkBody
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	if wire.CheckSegment(body.DestinationVolumeName) != nil {
		return answer{}, invalid("destinationVolumeName is a volume's name")
	}
	var r volumeRecord
	err := e.store.View(ctx, func(tx *store.Tx) (err error) {
		r, err = e.volume(tx, c, c.seg[wire.SegVolume])
		return err
	})
	if err != nil {
		return answer{}, err
	}
	asked := r.Volume
	asked.Labels = body.Labels
	return e.makeVolume(ctx, c, body.DestinationVolumeName, asked, r.Dir)
}
