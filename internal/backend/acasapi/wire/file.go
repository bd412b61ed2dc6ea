package wire

import "errors"

// FileInfo is one entry of a guest's file system, not followed if it is a link.
type FileInfo struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// Size is in bytes; 4096 for a directory, the length of its target for a link.
	Size *int64 `json:"size"`
	// Mode is the permission bits as a decimal number, without any bits of type.
	Mode      *int  `json:"mode,omitzero"`
	IsDir     *bool `json:"isDir,omitzero"`
	IsSymlink *bool `json:"isSymlink,omitzero"`
	// SymlinkTarget is only on links.
	SymlinkTarget string `json:"symlinkTarget,omitempty"`
	// ModifiedTime is in seconds since 1970.
	ModifiedTime *int64 `json:"modifiedTime,omitzero"`
	Extra        Extra  `json:",embed"`
}

// Check reports an entry whose kind or size is not known. Guessing "regular file"
// there would make a link readable.
func (f *FileInfo) Check() error {
	switch {
	case f.IsDir == nil:
		return errors.New("an entry without isDir")
	case f.IsSymlink == nil:
		return errors.New("an entry without isSymlink")
	case f.Size == nil || *f.Size < 0:
		return errors.New("an entry without size")
	case f.Path == "":
		return errors.New("an entry without path")
	}
	return nil
}

// Directory reports a directory. It and Link are both false for a regular file, and
// also for a pipe, a socket and a device: the service does not tell those apart.
func (f *FileInfo) Directory() bool { return f.IsDir != nil && *f.IsDir }

// Link reports a symbolic link.
func (f *FileInfo) Link() bool { return f.IsSymlink != nil && *f.IsSymlink }

// Listing is the entries of one directory.
type Listing struct {
	Path    string      `json:"path"`
	Entries *[]FileInfo `json:"entries"`
	Extra   Extra       `json:",embed"`
}

// Check reports a listing without entries, or with one that says too little.
func (l *Listing) Check() error {
	if l.Entries == nil {
		return errors.New("a listing without entries")
	}
	for i := range *l.Entries {
		if err := (*l.Entries)[i].Check(); err != nil {
			return err
		}
	}
	return nil
}

// Mkdir makes a directory and what is missing above it.
type Mkdir struct {
	Path          string `json:"path"`
	CreateParents *bool  `json:"createParents,omitzero"`
	Mode          *int   `json:"mode,omitzero"`
	Extra         Extra  `json:",embed"`
}

// Done is the answer to a change of the guest's files.
type Done struct {
	Success      *bool  `json:"success"`
	BytesWritten *int64 `json:"bytesWritten,omitzero"`
	Extra        Extra  `json:",embed"`
}

// Check reports a change that says it did not succeed.
func (d *Done) Check() error {
	if d.Success != nil && !*d.Success {
		return errors.New("an answer that says success is false")
	}
	return nil
}
