package output

import (
	"context"
	"errors"
	"io/fs"
	stdpath "path"
)

// Commit moves everything staged into place, while no other landing commits in the
// same area. A directory that does not exist yet appears whole, in one rename. Into
// one that exists files go one by one, and back again if one cannot: by this call, or
// if its host dies by the next landing, from a journal. Only a reader who looks at
// that moment, or before that next landing, can see some of them without the others.
func (d *dirDelivery) Commit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	unlock, err := d.sink.lockArea(ctx, d.area)
	if err != nil {
		return err
	}
	defer unlock()
	if err := d.stillFits(); err != nil {
		return err
	}
	done := false
	if d.base != "." {
		done, err = d.appear()
	}
	if !done && err == nil {
		err = d.merge(ctx)
	}
	d.landed = err == nil
	return err
}

// appear lets a directory that is not there yet be there, with everything in it.
func (d *dirDelivery) appear() (done bool, err error) {
	root, staged := d.sink.root, d.staging.in(filesName)
	if _, err := root.Lstat(d.base); !errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err := d.sync(staged, ""); err != nil {
		return false, err
	}
	if err := root.Mkdir(d.area, directoryMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, landingFailed("making a directory", err)
	}
	if renamed := root.Rename(staged, d.base) == nil; !renamed {
		// Made by somebody who takes no locks; the files go in one by one.
		return false, nil
	}
	if err := d.syncDirs(d.area, "."); err != nil {
		return false, errors.Join(err, root.Rename(d.base, staged))
	}
	return true, nil
}

// merge moves files one by one into a directory that others see.
func (d *dirDelivery) merge(ctx context.Context) (err error) {
	j := &journal{Area: d.area, Base: d.base, Names: d.names, Dirs: d.missingDirs()}
	if err := j.keep(d.staging, !d.sink.options.SkipSync); err != nil {
		return landingFailed("writing down what is about to be moved", err)
	}
	defer func() {
		if err != nil {
			undone := j.undo(d.staging)
			d.stuck = undone != nil
			err = errors.Join(err, undone)
		}
	}()
	for _, dir := range j.Dirs {
		if err := d.sink.root.Mkdir(dir, directoryMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return landingFailed("making a directory", err)
		}
	}
	for i, name := range d.names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.move(d.staging.place(d.base, i, name), name); err != nil {
			return err
		}
	}
	if err := d.sync(d.base, d.base); err != nil {
		return err
	}
	// From here on it has landed.
	if err := d.sink.root.Remove(d.staging.in(journalName)); err != nil {
		return landingFailed("ending the commit", err)
	}
	return nil
}

// missingDirs lists the directories that the names need and that are not there,
// each after the one above it.
func (d *dirDelivery) missingDirs() []string {
	var missing []string
	seen := map[string]bool{".": true}
	var add func(dir string)
	add = func(dir string) {
		if seen[dir] {
			return
		}
		seen[dir] = true
		add(stdpath.Dir(dir))
		if _, err := d.sink.root.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, dir)
		}
	}
	for _, name := range d.names {
		add(stdpath.Dir(stdpath.Join(d.base, name)))
	}
	return missing
}

// move puts one staged file into place. The staged name stays beside it, by which an
// undo knows it.
func (d *dirDelivery) move(p place, name string) error {
	if err := d.free(name); err != nil {
		return err
	}
	root := d.sink.root
	if d.sink.options.Existing == ExistingReplace {
		switch err := root.Link(p.lands, p.backup); {
		case err == nil:
			return d.replace(p)
		case !errors.Is(err, fs.ErrNotExist):
			return landingFailed("keeping the file that is replaced", err)
		}
	}
	// A hard link fails where something stands, which a rename would replace.
	switch err := root.Link(p.staged, p.lands); {
	case errors.Is(err, fs.ErrExist):
		return exists(name)
	case err != nil:
		return landingFailed("moving a file into place", err)
	}
	return nil
}

// replace puts a file in place of one that stands there, without a moment in which
// there is neither.
func (d *dirDelivery) replace(p place) error {
	root := d.sink.root
	if err := root.Link(p.staged, p.spare); err != nil {
		return landingFailed("replacing a file", err)
	}
	if err := root.Rename(p.spare, p.lands); err != nil {
		return landingFailed("replacing a file", err)
	}
	return nil
}

// sync makes the names below dir survive a power cut, as their content does since it
// was staged; above, if not empty, is a directory whose own name may be new.
func (d *dirDelivery) sync(dir, above string) error {
	dirs := map[string]bool{dir: true}
	for _, name := range d.names {
		for at := stdpath.Dir(name); at != "."; at = stdpath.Dir(at) {
			dirs[stdpath.Join(dir, at)] = true
		}
	}
	if above != "" && above != "." {
		dirs[stdpath.Dir(above)] = true
	}
	for dir := range dirs {
		if err := d.syncDirs(dir); err != nil {
			return err
		}
	}
	return nil
}

func (d *dirDelivery) syncDirs(dirs ...string) error {
	if d.sink.options.SkipSync {
		return nil
	}
	for _, dir := range dirs {
		f, err := d.sink.root.Open(dir)
		if err != nil {
			return landingFailed("making it last", err)
		}
		err = syncDir(f)
		_ = f.Close()
		if err != nil {
			return landingFailed("making it last", err)
		}
	}
	return nil
}

// Abort removes the staging directory with all that is still in it. One whose commit
// could not be taken back is let go of instead, as if its host had died: the next
// landing tries again, from the journal.
func (d *dirDelivery) Abort() error {
	if d.stuck {
		_ = d.staging.owner.Close()
		return nil
	}
	if err := d.staging.remove(); !d.landed {
		return err
	}
	return nil
}
