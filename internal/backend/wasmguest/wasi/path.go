package wasi

import (
	"encoding/binary"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/memfs"
)

func withDir(run func(call, *descriptor) errno) func(call) errno {
	return withFD(func(c call, d *descriptor) errno {
		if !d.isDir {
			return errNotdir
		}
		return run(c, d)
	})
}

func fdPrestat(c call, d *descriptor) errno {
	if d.mount == "" {
		return errBadf
	}
	b := make([]byte, 8) // tag 0: a directory
	binary.LittleEndian.PutUint32(b[4:], uint32(len(d.mount)))
	return c.put(1, b)
}

func fdPrestatName(c call, d *descriptor) errno {
	if d.mount == "" {
		return errBadf
	}
	if int(c.u32(2)) < len(d.mount) {
		return errNametoolong
	}
	return c.put(1, []byte(d.mount))
}

// fdReaddir writes directory entries from a cookie on. The last one may be cut,
// which is how the caller learns that there are more.
func fdReaddir(c call, d *descriptor) errno {
	if !d.isDir {
		return errNotdir
	}
	cookie := c.u64(3)
	if cookie == 0 || d.entries == nil {
		entries, err := d.dir.List(".")
		if err != nil {
			return errnoOf(err)
		}
		d.entries = entries
	}
	if cookie > uint64(len(d.entries)) {
		return errInval
	}
	out, ok := c.bytes(1, 2)
	if !ok {
		return errFault
	}
	used := 0
	for i, info := range d.entries[cookie:] {
		if used == len(out) {
			break
		}
		entry := make([]byte, 24, 24+len(info.Name))
		binary.LittleEndian.PutUint64(entry, cookie+uint64(i)+1)
		binary.LittleEndian.PutUint64(entry[8:], info.Inode)
		binary.LittleEndian.PutUint32(entry[16:], uint32(len(info.Name)))
		entry[20] = kindOf(info)
		used += copy(out[used:], append(entry, info.Name...))
	}
	return c.put32(4, uint32(used))
}

func pathMkdir(c call, d *descriptor) errno {
	path, e := c.path(1, 2)
	if e != success {
		return e
	}
	return errnoOf(d.dir.Mkdir(path))
}

func pathRmdir(c call, d *descriptor) errno {
	path, e := c.path(1, 2)
	if e != success {
		return e
	}
	return errnoOf(d.dir.Rmdir(path))
}

func pathUnlink(c call, d *descriptor) errno {
	path, e := c.path(1, 2)
	if e != success {
		return e
	}
	return errnoOf(d.dir.Remove(path))
}

func pathRename(c call, d *descriptor) errno {
	from, e := c.path(1, 2)
	if e != success {
		return e
	}
	target, e := c.p.descriptor(c.u32(3))
	if e != success {
		return e
	}
	if !target.isDir {
		return errNotdir
	}
	to, e := c.path(4, 5)
	if e != success {
		return e
	}
	return errnoOf(d.dir.Rename(from, target.dir, to))
}

func pathStat(c call, d *descriptor) errno {
	path, e := c.path(2, 3)
	if e != success {
		return e
	}
	info, err := d.dir.Stat(path)
	if err != nil {
		return errnoOf(err)
	}
	return c.put(4, filestat(kindOf(info), info))
}

func pathSetTimes(c call, d *descriptor) errno {
	path, e := c.path(2, 3)
	if e != success {
		return e
	}
	if t, set := c.modified(5, 6); set {
		return errnoOf(d.dir.SetModified(path, t))
	}
	_, err := d.dir.Stat(path)
	return errnoOf(err)
}

// pathReadlink: there are no links, so what exists is none.
func pathReadlink(c call, d *descriptor) errno {
	path, e := c.path(1, 2)
	if e != success {
		return e
	}
	if _, err := d.dir.Stat(path); err != nil {
		return errnoOf(err)
	}
	return errInval
}

func pathOpen(c call, d *descriptor) errno {
	const create, directory, exclusive, truncate = 1, 2, 4, 8
	path, e := c.path(2, 3)
	if e != success {
		return e
	}
	how, rights := c.u32(4), c.u64(5)
	opened := &descriptor{}
	write := rights&rightWrite != 0
	info, err := d.dir.Stat(path)
	switch {
	case err == nil && info.Dir && how&create == 0:
		if write {
			return errIsdir
		}
		if opened.dir, err = d.dir.Dir(path); err != nil {
			return errnoOf(err)
		}
		opened.isDir = true
	case how&directory != 0:
		if err != nil {
			return errnoOf(err)
		}
		return errNotdir
	default:
		opened.file, err = d.dir.Open(path, memfs.Mode{
			Read: rights&rightRead != 0, Write: write,
			Append: c.u32(7)&flagAppend != 0,
			Create: how&create != 0, Exclusive: how&exclusive != 0, Truncate: write && how&truncate != 0,
		})
		if err != nil {
			return errnoOf(err)
		}
	}
	return c.install(8, opened)
}

// install gives the guest a new descriptor or, failing that, closes it.
func (c call) install(out int, d *descriptor) errno {
	fd, e := c.p.insert(d)
	if e == success {
		if e = c.put32(out, fd); e != success {
			c.p.fds[fd] = nil
		}
	}
	if e != success && d.file != nil {
		return max(e, errnoOf(d.file.Close()))
	}
	return e
}
