package wasi

import (
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/memfs"
)

// maxDescriptors bounds what one run has open.
const maxDescriptors = 256

type stream uint8

const (
	streamNone stream = iota
	streamIn
	streamOut
	streamErr
)

// descriptor is one open stream, file or directory.
type descriptor struct {
	stream stream
	to     io.Writer
	file   *memfs.File
	dir    memfs.Dir
	isDir  bool
	mount  string
	// entries is the directory as it was when its reading began.
	entries []memfs.Info
}

const (
	typeUnknown   = 0
	typeDirectory = 3
	typeRegular   = 4

	flagAppend = 1

	rightRead  = 1 << 1
	rightWrite = 1 << 6
	rightsAll  = 1<<30 - 1
)

func (p *Process) descriptor(fd uint32) (*descriptor, errno) {
	if uint64(fd) >= uint64(len(p.fds)) || p.fds[fd] == nil {
		return nil, errBadf
	}
	return p.fds[fd], success
}

func (p *Process) insert(d *descriptor) (uint32, errno) {
	for fd, open := range p.fds {
		if open == nil {
			p.fds[fd] = d
			return uint32(fd), success
		}
	}
	if len(p.fds) >= maxDescriptors {
		return 0, errMfile
	}
	p.fds = append(p.fds, d)
	return uint32(len(p.fds) - 1), success
}

func withFD(run func(call, *descriptor) errno) func(call) errno {
	return func(c call) errno {
		d, e := c.p.descriptor(c.u32(0))
		if e != success {
			return e
		}
		return run(c, d)
	}
}

// withFile is for what only regular files can do.
func withFile(run func(call, *memfs.File) errno) func(call) errno {
	return withFD(func(c call, d *descriptor) errno {
		switch {
		case d.isDir:
			return errIsdir
		case d.file == nil:
			return errSpipe
		}
		return run(c, d.file)
	})
}

func fdClose(c call) errno {
	d, e := c.p.descriptor(c.u32(0))
	if e != success {
		return e
	}
	c.p.fds[c.u32(0)] = nil
	if d.file != nil {
		return errnoOf(d.file.Close())
	}
	return success
}

func fdRenumber(c call) errno {
	d, e := c.p.descriptor(c.u32(0))
	if e != success {
		return e
	}
	to, e := c.p.descriptor(c.u32(1))
	if e != success || to == d {
		return e
	}
	c.p.fds[c.u32(1)], c.p.fds[c.u32(0)] = d, nil
	if to.file != nil {
		return errnoOf(to.file.Close())
	}
	return success
}

func fdStat(c call, d *descriptor) errno {
	var kind byte
	var flags uint16
	rights := uint64(rightsAll)
	switch {
	case d.isDir:
		kind = typeDirectory
	case d.file != nil:
		kind = typeRegular
		mode := d.file.Mode()
		if mode.Append {
			flags = flagAppend
		}
		if !mode.Read {
			rights &^= rightRead
		}
		if !mode.Write {
			rights &^= rightWrite
		}
	case d.stream == streamIn:
		kind, rights = typeUnknown, rightRead
	default:
		kind, rights = typeUnknown, rightWrite
	}
	b := make([]byte, 24)
	b[0] = kind
	binary.LittleEndian.PutUint16(b[2:], flags)
	binary.LittleEndian.PutUint64(b[8:], rights)
	binary.LittleEndian.PutUint64(b[16:], rights)
	return c.put(1, b)
}

func fdSetFlags(c call, d *descriptor) errno {
	if d.file != nil {
		d.file.SetAppend(c.u32(1)&flagAppend != 0)
	}
	return success
}

// filestat is the record that the stat functions answer.
func filestat(kind byte, info memfs.Info) []byte {
	b := make([]byte, 64)
	binary.LittleEndian.PutUint64(b[8:], info.Inode)
	b[16] = kind
	b[24] = 1 // links
	binary.LittleEndian.PutUint64(b[32:], uint64(info.Size))
	if !info.Modified.IsZero() {
		for at := 40; at < 64; at += 8 {
			binary.LittleEndian.PutUint64(b[at:], uint64(info.Modified.UnixNano()))
		}
	}
	return b
}

func kindOf(info memfs.Info) byte {
	if info.Dir {
		return typeDirectory
	}
	return typeRegular
}

func fdFilestat(c call, d *descriptor) errno {
	switch {
	case d.isDir:
		info, err := d.dir.Stat(".")
		if err != nil {
			return errnoOf(err)
		}
		return c.put(1, filestat(typeDirectory, info))
	case d.file != nil:
		info, err := d.file.Stat()
		if err != nil {
			return errnoOf(err)
		}
		return c.put(1, filestat(typeRegular, info))
	default:
		return c.put(1, filestat(typeUnknown, memfs.Info{}))
	}
}

func fdSetSize(c call, f *memfs.File) errno { return errnoOf(f.Truncate(int64(c.u64(1)))) }

func fdAllocate(c call, f *memfs.File) errno {
	end := int64(c.u64(1)) + int64(c.u64(2))
	if int64(c.u64(1)) < 0 || int64(c.u64(2)) < 0 || end < 0 {
		return errInval
	}
	info, err := f.Stat()
	if err == nil && end > info.Size {
		err = f.Truncate(end)
	}
	return errnoOf(err)
}

func fdSetTimes(c call, f *memfs.File) errno {
	if t, set := c.modified(2, 3); set {
		return errnoOf(f.SetModified(t))
	}
	return success
}

// modified reads a modification time and the flags that say whether it is set.
func (c call) modified(at, flags int) (time.Time, bool) {
	const set, now = 1 << 2, 1 << 3
	switch {
	case c.u32(flags)&now != 0:
		return c.p.Now(), true
	case c.u32(flags)&set != 0:
		return time.Unix(0, int64(c.u64(at))), true
	default:
		return time.Time{}, false
	}
}

func fdPread(c call, f *memfs.File) errno {
	off := int64(c.u64(3))
	return c.transfer(4, func(b []byte) (int, errno) {
		n, err := f.ReadAt(b, off)
		off += int64(n)
		return n, readErrno(err)
	})
}

func fdPwrite(c call, f *memfs.File) errno {
	off := int64(c.u64(3))
	return c.transfer(4, func(b []byte) (int, errno) {
		n, err := f.WriteAt(b, off)
		off += int64(n)
		return n, errnoOf(err)
	})
}

func fdRead(c call, d *descriptor) errno {
	switch {
	case d.isDir:
		return errIsdir
	case d.file != nil:
		return c.transfer(3, func(b []byte) (int, errno) {
			n, err := d.file.Read(b)
			return n, readErrno(err)
		})
	case d.stream != streamIn:
		return errBadf
	}
	return c.transfer(3, func(b []byte) (int, errno) {
		n, err := c.p.input.read(c.ctx, b)
		if errors.Is(err, errEnded) {
			c.p.check(c.ctx)
		}
		return n, readErrno(err)
	})
}

func fdWrite(c call, d *descriptor) errno {
	switch {
	case d.isDir:
		return errIsdir
	case d.file != nil:
		return c.transfer(3, func(b []byte) (int, errno) {
			n, err := d.file.Write(b)
			return n, errnoOf(err)
		})
	case d.to == nil:
		return errBadf
	}
	return c.transfer(3, func(b []byte) (int, errno) {
		c.p.check(c.ctx)
		n, err := d.to.Write(b)
		if err != nil {
			c.p.end(err)
		}
		return n, success
	})
}

// transfer runs over the vector in arguments 1 and 2 and answers the sum at the
// pointer in the given one.
func (c call) transfer(sum int, use func(b []byte) (int, errno)) errno {
	n, e := c.vectors(1, 2, use)
	if e != success {
		return e
	}
	return c.put32(sum, n)
}

func readErrno(err error) errno {
	if errors.Is(err, io.EOF) {
		return success
	}
	return errnoOf(err)
}

func fdSeek(c call, d *descriptor) errno {
	switch {
	case d.isDir:
		return errIsdir
	case d.file == nil:
		return errSpipe
	}
	at, err := d.file.Seek(int64(c.u64(1)), int(c.u32(2)))
	if err != nil {
		return errnoOf(err)
	}
	return c.put64(3, uint64(at))
}

func fdTell(c call, f *memfs.File) errno {
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return errnoOf(err)
	}
	return c.put64(1, uint64(at))
}
