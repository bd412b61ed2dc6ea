package memfs

import (
	"io"
	"strings"
	"time"
)

// Mode says how a file is opened.
type Mode struct {
	Read, Write, Append bool
	// Create makes the file if nothing is there; with Exclusive, something there
	// is [ErrExist].
	Create, Exclusive bool
	Truncate          bool
}

// File is one open file. Close it once.
type File struct {
	fs     *FS
	node   *node
	mode   Mode
	offset int64
	closed bool
}

// Open opens the regular file at path; a directory is [ErrIsDirectory].
func (d Dir) Open(path string, mode Mode) (*File, error) {
	d.fs.mu.Lock()
	defer d.fs.mu.Unlock()
	at, err := d.fs.walk(d.node, path)
	switch {
	case err != nil:
		return nil, err
	case at.node == nil && !mode.Create:
		return nil, ErrNotExist
	case at.node == nil && strings.HasSuffix(path, "/"):
		return nil, ErrIsDirectory
	case at.node == nil:
		if at.node, err = d.fs.add(at, false); err != nil {
			return nil, err
		}
	case mode.Create && mode.Exclusive:
		return nil, ErrExist
	case at.node.isDir():
		return nil, ErrIsDirectory
	case mode.Truncate:
		if err := d.fs.resize(at.node, 0); err != nil {
			return nil, err
		}
	}
	at.node.open++
	return &File{fs: d.fs, node: at.node, mode: mode}, nil
}

// use locks the file system and answers whether the file may be used.
func (f *File) use(allowed bool) (unlock func(), err error) {
	f.fs.mu.Lock()
	if f.closed || !allowed {
		f.fs.mu.Unlock()
		return nil, ErrClosed
	}
	return f.fs.mu.Unlock, nil
}

// Read reads from the file's offset and moves it. At the end it is [io.EOF].
func (f *File) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.offset)
	f.offset += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

// ReadAt reads at off and leaves the file's offset alone.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	unlock, err := f.use(f.mode.Read)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if off < 0 {
		return 0, ErrInvalid
	}
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Write writes all of p or nothing: at the end when the file is in append mode,
// else at the file's offset, which moves. [ErrNoSpace] is the caps.
func (f *File) Write(p []byte) (int, error) {
	unlock, err := f.use(f.mode.Write)
	if err != nil {
		return 0, err
	}
	defer unlock()
	off := f.offset
	if f.mode.Append {
		off = int64(len(f.node.data))
	}
	if err := f.fs.writeAt(f.node, p, off); err != nil {
		return 0, err
	}
	f.offset = off + int64(len(p))
	return len(p), nil
}

// WriteAt writes all of p at off or nothing, and leaves the offset alone.
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	unlock, err := f.use(f.mode.Write)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if err := f.fs.writeAt(f.node, p, off); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Seek moves the offset, which may lie beyond the end.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	unlock, err := f.use(true)
	if err != nil {
		return 0, err
	}
	defer unlock()
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += int64(len(f.node.data))
	default:
		return 0, ErrInvalid
	}
	if offset < 0 {
		return 0, ErrInvalid
	}
	f.offset = offset
	return offset, nil
}

// Truncate sets the file's length. What is new reads as zero.
func (f *File) Truncate(size int64) error {
	unlock, err := f.use(f.mode.Write)
	if err != nil {
		return err
	}
	defer unlock()
	if size < 0 {
		return ErrInvalid
	}
	return f.fs.resize(f.node, size)
}

// SetAppend switches append mode.
func (f *File) SetAppend(on bool) { f.mode.Append = on }

// Mode is how the file is open.
func (f *File) Mode() Mode { return f.mode }

// SetModified sets the modification time.
func (f *File) SetModified(t time.Time) error {
	unlock, err := f.use(true)
	if err != nil {
		return err
	}
	defer unlock()
	f.node.modified = t
	return nil
}

// Stat describes the open file, which may have been removed.
func (f *File) Stat() (Info, error) {
	unlock, err := f.use(true)
	if err != nil {
		return Info{}, err
	}
	defer unlock()
	return f.node.info(), nil
}

// Close ends the use of the file. A removed file gives back its bytes with its
// last close.
func (f *File) Close() error {
	unlock, err := f.use(true)
	if err != nil {
		return err
	}
	defer unlock()
	f.closed = true
	f.node.open--
	f.fs.free(f.node)
	return nil
}
