package acasapi

import (
	"context"
	"io"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func (g *Group) volumeFile(op wire.Op, volume, path string, more ...param) (call, error) {
	c, err := g.volume(op, volume)
	if err != nil {
		return call{}, err
	}
	c.object = "file " + sandbox.Echo(path) + " of " + c.object
	c.query = append([]param{{"path", path}}, more...)
	return c, checkPath(c.object, path)
}

// ListVolumeFiles describes what stands in a directory of a volume. The contract
// says no more than that there is such an operation, so entries are given as they
// came.
func (g *Group) ListVolumeFiles(ctx context.Context, volume, path string) (wire.Document, error) {
	c, err := g.volumeFile(wire.VolumeFileList, volume, path)
	if err != nil {
		return nil, err
	}
	return ask[wire.Document](ctx, g.plane, c, nil)
}

// ReadVolumeFile opens a file of a volume. Close it.
func (g *Group) ReadVolumeFile(ctx context.Context, volume, path string) (*Content, error) {
	c, err := g.volumeFile(wire.VolumeFileRead, volume, path)
	if err != nil {
		return nil, err
	}
	return g.plane.open(ctx, c)
}

// WriteVolumeFile puts a file into a volume, of exactly size bytes. Without
// overwrite one that exists is service.conflict, and a lost answer cannot be told
// from one: it is service.outcome_unknown.
func (g *Group) WriteVolumeFile(ctx context.Context, volume, path string, content io.Reader, size int64, overwrite bool) error {
	c, err := g.volumeFile(wire.VolumeFileWrite, volume, path, param{"overwrite", strconv.FormatBool(overwrite)})
	if err != nil {
		return err
	}
	if c.upload, err = newUpload(content, size, c.object); err != nil {
		return err
	}
	return once(g.do(ctx, c))
}

// MakeVolumeDir makes a directory in a volume.
func (g *Group) MakeVolumeDir(ctx context.Context, volume, path string) error {
	c, err := g.volumeFile(wire.VolumeFileMkdir, volume, path)
	if err != nil {
		return err
	}
	return g.do(ctx, c)
}

// DeleteVolumeFile removes a file, or with recursive a tree, from a volume. A path
// where nothing stands is success.
func (g *Group) DeleteVolumeFile(ctx context.Context, volume, path string, recursive bool) error {
	c, err := g.volumeFile(wire.VolumeFileDelete, volume, path, param{"recursive", strconv.FormatBool(recursive)})
	if err != nil {
		return err
	}
	return gone(g.do(ctx, c))
}
