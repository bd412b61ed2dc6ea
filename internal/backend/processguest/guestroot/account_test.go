package guestroot

import (
	"archive/tar"
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestAnImagesUserIsFoundAsRuntimesFindIt(t *testing.T) {
	t.Parallel()
	files := Accounts{
		Passwd: []byte("root:x:0:0::/root:/bin/sh\napp:x:10:20::/srv/app:\nlost:x:11:21::relative:\n"),
		Group:  []byte("root:x:0:\nstaff:x:50:app,other\nwheel:x:51:app\n"),
	}
	for name, want := range map[string]Account{
		"":          {Home: "/root"},
		"0":         {Home: "/root"},
		"root":      {Home: "/root"},
		"app":       {UID: 10, GID: 20, Groups: []uint32{50, 51}, Home: "/srv/app"},
		"10":        {UID: 10, GID: 20, Groups: []uint32{50, 51}, Home: "/srv/app"},
		"app:staff": {UID: 10, GID: 50, Home: "/srv/app"},
		"77":        {UID: 77, Home: "/"},
		"77:78":     {UID: 77, GID: 78, Home: "/"},
		"lost":      {UID: 11, GID: 21, Home: "/"},
	} {
		if got, err := Lookup(name, files); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{"nosuch", "app:nosuch", "-1", "4294967295", "99999999999999999999", "a b"} {
		if got, err := Lookup(name, files); err == nil {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

func TestAccountsAreReadFromAnArchiveAndOnlyFromFiles(t *testing.T) {
	t.Parallel()
	write := func(headers ...tar.Header) *bytes.Buffer {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		for _, h := range headers {
			if h.Typeflag == tar.TypeReg {
				h.Size = 1
			}
			_ = w.WriteHeader(&h)
			if h.Typeflag == tar.TypeReg {
				_, _ = w.Write([]byte(h.Name[len(h.Name)-1:]))
			}
		}
		_ = w.Close()
		return &out
	}
	reg := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }
	got, err := Read(write(reg("etc/passwd/x"), reg("./etc/passwd"), reg("/etc/group")))
	if err != nil || string(got.Passwd) != "d" || string(got.Group) != "p" {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = Read(write(tar.Header{Typeflag: tar.TypeSymlink, Name: "etc/passwd", Linkname: "/etc/shadow"}))
	if err != nil || got.Passwd != nil {
		t.Errorf("%+v, %v", got, err)
	}
	var long bytes.Buffer
	w := tar.NewWriter(&long)
	err = errors.Join(w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Size: maxAccounts + 1}), func() error {
		_, err := w.Write(make([]byte, maxAccounts+1))
		return err
	}())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(&long); err == nil {
		t.Error("a file of users without end is read")
	}
	if _, err := Read(strings.NewReader(strings.Repeat("x", 1024))); err == nil {
		t.Error("what is no archive is read")
	}
}

func TestANewGuestKnowsWhomItsProgramsRunAs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Account{
		"": {Home: "/root"}, "1654": {UID: 1654, GID: 1654, Home: "/home/sandbox"}, "sandbox": {UID: 1000, GID: 1000, Home: "/home/sandbox"},
		"5:6": {UID: 5, GID: 6, Home: "/home/sandbox"}, "0:6": {GID: 6, Home: "/root"},
	} {
		files, err := NewAccounts(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Lookup(name, files); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v in %s", name, got, err, files.Passwd)
		}
	}
	if _, err := NewAccounts("nosuch"); err == nil {
		t.Error("a name that nobody has")
	}
}

// FuzzAccounts reads what anybody may have put into an image.
func FuzzAccounts(f *testing.F) {
	f.Add("app:staff", []byte("app:x:1:2::/:\n"), []byte("staff:x:3:app\n"))
	f.Add("5", []byte(":::::\n\n"), []byte("::"))
	f.Fuzz(func(t *testing.T, name string, passwd, group []byte) {
		a, err := Lookup(name, Accounts{passwd, group})
		if err == nil && (a.UID > 1<<31-1 || a.GID > 1<<31-1 || !strings.HasPrefix(a.Home, "/")) {
			t.Errorf("%+v", a)
		}
	})
}
