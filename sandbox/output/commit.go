package output

import (
	"context"
	"errors"
	"io/fs"
	stdpath "path"
	"slices"
	"strconv"
)

// Commit moves everything staged into place. A directory that does not exist yet
// appears whole, in one rename. Into one that exists files are moved one by one,
// and back again if one cannot be; a host that dies in between leaves whole files
// only, but perhaps not all of them.
func (d *dirDelivery) Commit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root, staged := d.sink.root, stdpath.Join(d.staging, filesName)
	if d.base != "." {
		if _, err := root.Lstat(d.base); errors.Is(err, fs.ErrNotExist) {
			if err := root.Rename(staged, d.base); err == nil {
				return nil
			}
			// Somebody was faster; the files go in one by one.
		}
	}
	for i, name := range d.names {
		if err := d.move(i, name); err != nil {
			return errors.Join(err, d.rollBack())
		}
	}
	d.undo = nil
	return nil
}

// move puts one staged file into place and notes how to take it back.
func (d *dirDelivery) move(i int, name string) error {
	if err := d.free(name); err != nil {
		return err
	}
	root := d.sink.root
	from, to := stdpath.Join(d.staging, filesName, name), stdpath.Join(d.base, name)
	if err := d.makeParents(stdpath.Dir(to)); err != nil {
		return err
	}
	if d.sink.options.Existing == ExistingReplace {
		replaced, err := d.replace(i, from, to)
		if err != nil || replaced {
			return err
		}
	}
	// A hard link fails where something stands, which a rename would replace.
	switch err := root.Link(from, to); {
	case errors.Is(err, fs.ErrExist):
		return exists(name)
	case err != nil:
		return landingFailed("moving a file into place", err)
	}
	d.undo = append(d.undo, func() error { return root.Remove(to) })
	return nil
}

// replace puts a staged file in place of one that stands there, without a moment
// in which there is neither.
func (d *dirDelivery) replace(i int, from, to string) (replaced bool, err error) {
	root, backup := d.sink.root, stdpath.Join(d.staging, backupName, strconv.Itoa(i))
	switch err := root.Link(to, backup); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, landingFailed("keeping the file that is replaced", err)
	}
	if err := root.Rename(from, to); err != nil {
		return false, landingFailed("replacing a file", err)
	}
	d.undo = append(d.undo, func() error { return root.Rename(backup, to) })
	return true, nil
}

// makeParents makes directories one by one, so that those it made can be undone.
func (d *dirDelivery) makeParents(dir string) error {
	if dir == "." {
		return nil
	}
	if err := d.makeParents(stdpath.Dir(dir)); err != nil {
		return err
	}
	switch err := d.sink.root.Mkdir(dir, directoryMode); {
	case err == nil:
		d.undo = append(d.undo, func() error { return d.sink.root.Remove(dir) })
	case !errors.Is(err, fs.ErrExist):
		return landingFailed("making a directory", err)
	}
	return nil
}

// rollBack takes back what was moved, last first.
func (d *dirDelivery) rollBack() error {
	var failed error
	for _, undo := range slices.Backward(d.undo) {
		if err := undo(); err != nil {
			failed = errors.Join(failed, landingFailed("taking back what had landed", err))
		}
	}
	d.undo = nil
	return failed
}

// Abort removes the staging directory with all that is still in it.
func (d *dirDelivery) Abort() error {
	if err := d.sink.root.RemoveAll(d.staging); err != nil {
		return landingFailed("removing what was staged", err)
	}
	return nil
}
