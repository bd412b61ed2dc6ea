package acasemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

func (e *Emulator) packageList(ctx context.Context, c *call) (answer, error) {
	want, err := c.wanted()
	if err != nil {
		return answer{}, err
	}
	all, err := every(ctx, e, c, kindPackage, func(r *packageRecord) uint64 { return r.Seq },
		func(_ *store.Tx, r *packageRecord) (wire.Package, error) { return r.Package, nil })
	if err != nil {
		return answer{}, err
	}
	return dataPage(e, c, labelled(all, want, func(p wire.Package) wire.Labels { return p.Labels }))
}

func (e *Emulator) packageUpload(ctx context.Context, c *call) (answer, error) {
	labels, err := c.wanted()
	if err != nil {
		return answer{}, err
	}
	if err := errors.Join(checkLabels(labels), e.inGroup(ctx, c)); err != nil {
		return answer{}, err
	}
	content, size, err := e.upload(c)
	if err != nil {
		return answer{}, err
	}
	r := packageRecord{File: e.dir("packages", newID())}
	if err := keepFile(r.File, content, size); err != nil {
		return answer{}, err
	}
	r.Package = wire.Package{
		ID: newID(), Size: float64(size), Labels: labels, ContentType: c.request.Header.Get("Content-Type"), CreatedOn: stamp(c.now),
	}
	err = e.store.Update(ctx, func(tx *store.Tx) (err error) {
		if _, err := e.dataGroup(tx, c); err != nil {
			return err
		}
		if r.Seq, err = tx.Next(); err != nil {
			return err
		}
		return store.Put(tx, kindPackage, append(c.groupKey(), r.Package.ID), r)
	})
	if err != nil {
		return answer{}, errors.Join(err, os.Remove(r.File))
	}
	return created(r.Package)
}

// keepFile writes a file of exactly so many bytes, or none.
func keepFile(name string, content io.Reader, size int64) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("keeping a package: %w", err)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("keeping a package: %w", err)
	}
	n, err := io.Copy(file, content)
	if err := errors.Join(err, file.Close()); err != nil || n != size {
		return errors.Join(refuse(http.StatusBadRequest, "InvalidRequestContent", "the body did not arrive whole"), os.Remove(name))
	}
	return nil
}

type packageTarget struct {
	ContentPackageID string `json:"contentPackageId"`
	TargetPath       string `json:"targetPath"`
}

// packageDownload writes a package into a running sandbox.
func (e *Emulator) packageDownload(ctx context.Context, c *call) (answer, error) {
	var body packageTarget
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	var r packageRecord
	err := e.store.View(ctx, func(tx *store.Tx) error {
		if _, err := e.dataGroup(tx, c); err != nil {
			return err
		}
		var exists bool
		var err error
		if r, exists, err = store.Get[packageRecord](tx, kindPackage, append(c.groupKey(), body.ContentPackageID)); err == nil && !exists {
			err = absent("ContentPackageNotFound")
		}
		return err
	})
	if err != nil {
		return answer{}, err
	}
	guest, p, err := e.inside(ctx, c, body.TargetPath)
	if err != nil {
		return answer{}, err
	}
	file, err := os.Open(r.File)
	if err != nil {
		return answer{}, fmt.Errorf("opening a package: %w", err)
	}
	defer file.Close()
	if err := guest.Write(ctx, p, file, int64(r.Package.Size), Writing{Parents: true}); err != nil {
		return answer{}, e.guestFailure(ctx, c, c.seg[wire.SegSandbox], err)
	}
	return ok(wire.Done{Success: new(true)})
}
