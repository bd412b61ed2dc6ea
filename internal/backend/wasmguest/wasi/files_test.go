package wasi

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/memfs"
)

func TestVectorsAreBounded(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	h.must(errInval, "fd_write", 1, 0, maxVectors+1, 8)
	h.must(errInval, "fd_write", 1, 0, math.MaxUint32, 8)
	h.must(errFault, "fd_write", 1, memorySize-4, 1, 8)
	ptr, count := h.vector(memorySize-1, 2)
	h.must(errFault, "fd_write", 1, ptr, count, 8)
	ptr, count = h.vector(0, math.MaxUint32)
	h.must(errFault, "fd_read", 0, ptr, count, 8)
	ptr, count = h.vector(100, 3)
	h.must(errFault, "fd_write", 1, ptr, count, memorySize)
}

func TestFullDiskIsNoSpace(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	fd, e := h.open("f", 1, readWrite, 0)
	if e != success {
		t.Fatal(e)
	}
	ptr, count := h.vector(100, 1001)
	h.must(errNospc, "fd_write", fd, ptr, count, 8)
	h.must(errNospc, "fd_pwrite", fd, ptr, count, 1<<50, 8)
	h.must(errNospc, "fd_filestat_set_size", fd, 1001)
	h.must(errNospc, "fd_allocate", fd, 500, 501)
	h.must(errInval, "fd_allocate", fd, math.MaxInt64, math.MaxInt64)
	h.must(errInval, "fd_filestat_set_size", fd, math.MaxUint64)
	ptr, count = h.vector(100, 1000)
	h.must(success, "fd_write", fd, ptr, count, 8)
}

func TestPathsAreBoundedAndStayInside(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	h.must(errNametoolong, "path_create_directory", 3, 0, maxPath+1)
	h.must(errNametoolong, "path_create_directory", 3, 0, math.MaxUint32)
	h.must(errFault, "path_create_directory", 3, memorySize-1, 2)
	for path, want := range map[string]errno{
		"..": errNotcapable, "/x": errNotcapable, "a/../../x": errNoent, "": errInval, "x\x00y": errInval, "ok": success,
	} {
		h.put(4096, []byte(path))
		h.must(want, "path_create_directory", 3, 4096, uint64(len(path)))
	}
	h.must(errPerm, "path_symlink", 0, 0, 3, 0, 0)
	h.must(errPerm, "path_link", 3, 0, 0, 0, 3, 0, 0)
	h.put(4096, []byte("ok"))
	h.must(errInval, "path_readlink", 3, 4096, 2, 0, 0, 0)
	h.must(errNotdir, "path_create_directory", 1, 4096, 2)
	h.must(errBadf, "path_create_directory", 9, 4096, 2)
}

func TestDescriptorsAreBoundedAndReused(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	last := uint64(0)
	for {
		fd, e := h.open("f", 1, readWrite, 0)
		if e == errMfile {
			break
		}
		if e != success || fd >= maxDescriptors {
			t.Fatalf("descriptor %d, errno %d", fd, e)
		}
		last = fd
	}
	if last != maxDescriptors-1 {
		t.Errorf("the last descriptor is %d", last)
	}
	h.must(success, "fd_close", 7)
	h.must(errBadf, "fd_close", 7)
	if fd, e := h.open("f", 1, readWrite, 0); e != success || fd != 7 {
		t.Errorf("descriptor %d, errno %d", fd, e)
	}
	h.must(success, "fd_renumber", 8, 9)
	h.must(errBadf, "fd_read", 8, 0, 0, 8)
	h.must(success, "fd_renumber", 9, 9)
	h.must(errBadf, "fd_renumber", 9, 8)
	h.must(errBadf, "fd_close", math.MaxUint32)
}

func TestLeftOpenFilesAreClosedWithTheProcess(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	fd, _ := h.open("f", 1, readWrite, 0)
	ptr, count := h.vector(100, 500)
	h.must(success, "fd_write", fd, ptr, count, 8)
	h.put(4096, []byte("f"))
	h.must(success, "path_unlink_file", 3, 4096, 1)
	if h.fs.Usage().Bytes != 500 {
		t.Error("the open file costs nothing")
	}
	if err := h.p.Close(); err != nil {
		t.Fatal(err)
	}
	if u := h.fs.Usage(); u != (memfs.Usage{}) {
		t.Errorf("usage %+v", u)
	}
}

func TestOpenSaysWhatItIs(t *testing.T) {
	t.Parallel()
	const create, directory, exclusive = 1, 2, 4
	h := newHost(t, nil)
	if err := h.fs.Root().Mkdir("d"); err != nil {
		t.Fatal(err)
	}
	if err := h.fs.Root().Replace("f", []byte("text")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path          string
		flags, rights uint64
		want          errno
	}{
		{"f", 0, rightRead, success},
		{"d", 0, rightRead, success},
		{"d", directory, rightRead, success},
		{"f", directory, rightRead, errNotdir},
		{"none", directory, rightRead, errNoent},
		{"none", 0, rightRead, errNoent},
		{"d", 0, readWrite, errIsdir},
		{"d", create, readWrite, errIsdir},
		{"f", create | exclusive, readWrite, errExist},
		{"new", create | exclusive, readWrite, success},
		{"f/x", create, readWrite, errNotdir},
	} {
		if _, e := h.open(c.path, c.flags, c.rights, 0); e != c.want {
			t.Errorf("%s with flags %d: errno %d, want %d", c.path, c.flags, e, c.want)
		}
	}
	fd, _ := h.open("f", 8, rightRead, 0) // truncation needs the right to write
	ptr, count := h.vector(100, 10)
	h.must(success, "fd_read", fd, ptr, count, 8)
	if h.u32(8) != 4 {
		t.Error("a reader truncated the file")
	}
	h.must(errBadf, "fd_write", fd, ptr, count, 8)
	h.must(errNotsock, "sock_send", fd, 0, 0, 0, 8)
	h.must(errSpipe, "fd_seek", 0, 0, 0, 8)
	h.must(errSpipe, "fd_tell", 1, 8)
}

func TestDirectoriesAreReadInPieces(t *testing.T) {
	t.Parallel()
	h := newHost(t, nil)
	var want []string
	for i := range 40 {
		name := strings.Repeat("x", i+1)
		want = append(want, name)
		if err := h.fs.Root().Mkdir(name); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for cookie := uint64(0); ; {
		h.must(success, "fd_readdir", 3, 5000, 100, cookie, 8)
		b, _ := h.memory.Read(5000, h.u32(8))
		full := len(b) == 100
		for len(b) >= 24 {
			size := binary.LittleEndian.Uint32(b[16:])
			if uint64(len(b)) < 24+uint64(size) {
				break
			}
			cookie = binary.LittleEndian.Uint64(b)
			got = append(got, string(b[24:24+size]))
			b = b[24+size:]
		}
		if !full {
			break
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%q", got)
	}
	h.must(errInval, "fd_readdir", 3, 5000, 100, 41, 8)
	h.must(errInval, "fd_readdir", 3, 5000, 100, math.MaxUint64, 8)
	h.must(errNotdir, "fd_readdir", 1, 5000, 100, 0, 8)
}
