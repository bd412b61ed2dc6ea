package acasguests

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
)

// shelf is the directory of what outlives guests: for each name an archive of files
// and a document of what else belongs to the image.
type shelf struct{ dir string }

// label is that document.
type label struct {
	User    string   `json:"user,omitempty"`
	Env     []string `json:"env,omitempty"`
	WorkDir string   `json:"work_dir,omitempty"`
	Machine bool     `json:"machine,omitempty"`
}

// place is a file of that name, which may be any text.
func (s shelf) place(name, kind string) string {
	return filepath.Join(s.dir, hex.EncodeToString([]byte(name))+kind)
}

const (
	files = ".tar"
	about = ".json"
)

// image is what a guest is made from that starts where another was kept.
func (s shelf) image(name string) (process.Image, error) {
	content, err := os.ReadFile(s.place(name, about))
	if err != nil {
		return process.Image{}, fmt.Errorf("read a snapshot: %w", err)
	}
	var l label
	if err := json.Unmarshal(content, &l); err != nil {
		return process.Image{}, fmt.Errorf("read a snapshot: %w", err)
	}
	return process.Image{
		User: l.User, Env: l.Env, WorkDir: l.WorkDir, Machine: l.Machine,
		Files: func(context.Context) (io.ReadCloser, error) { return os.Open(s.place(name, files)) },
	}, nil
}

// write keeps what fill writes. The document comes last: without it there is no
// such name.
func (s shelf) write(name string, image process.Image, fill func(io.Writer) error) (size int64, err error) {
	f, err := os.OpenFile(s.place(name, files), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, fmt.Errorf("keep a snapshot: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.remove(name))
		}
	}()
	counted := &counter{to: f}
	if err := errors.Join(fill(counted), f.Close()); err != nil {
		return 0, fmt.Errorf("keep a snapshot: %w", err)
	}
	content, err := json.Marshal(label{User: image.User, Env: image.Env, WorkDir: image.WorkDir, Machine: image.Machine})
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(s.place(name, about), content, 0o600); err != nil {
		return 0, fmt.Errorf("keep a snapshot: %w", err)
	}
	return counted.n, nil
}

// copy keeps on another shelf, under another name, what is kept.
func (s shelf) copy(from string, on shelf, to string) (int64, error) {
	image, err := s.image(from)
	if err != nil {
		return 0, err
	}
	f, err := os.Open(s.place(from, files))
	if err != nil {
		return 0, fmt.Errorf("read a snapshot: %w", err)
	}
	defer f.Close()
	return on.write(to, image, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}

// remove forgets a name. One that is not there is success.
func (s shelf) remove(name string) error {
	var errs []error
	for _, kind := range []string{about, files} {
		if err := os.Remove(s.place(name, kind)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}
