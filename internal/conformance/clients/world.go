package clients

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cgi" //nolint:gosec // it is as old as git's own server, and Go's is mended
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egressworld"
)

// The hosts of the world: they serve the same things, so that only the rules can
// tell them apart.
const (
	Host      = "world.example"
	Neighbour = "neighbour.example"
)

// World is an internet with a package index, a package registry, a repository and
// a page that greets and takes news. It counts what it is asked.
type World struct {
	*egressworld.World

	mu    sync.Mutex
	asked map[string]int // by method and host
}

// NewWorld makes a world whose repository is made in a directory. It needs git.
func NewWorld(ctx context.Context, directory string) (*World, error) {
	inner, err := egressworld.New()
	if err != nil {
		return nil, err
	}
	w := &World{World: inner, asked: make(map[string]int)}
	handler, err := serve(ctx, directory)
	if err == nil {
		counted := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			w.mu.Lock()
			w.asked[r.Method+" "+r.Host]++
			w.mu.Unlock()
			handler.ServeHTTP(rw, r)
		})
		_, first := w.Site(Host, counted)
		_, second := w.Site(Neighbour, counted)
		err = errors.Join(first, second)
	}
	if err != nil {
		inner.Close()
		return nil, fmt.Errorf("make a world for clients: %w", err)
	}
	return w, nil
}

// Asked is how often a host was asked by any of the methods.
func (w *World) Asked(host string, methods ...string) (times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, method := range methods {
		times += w.asked[method+" "+host]
	}
	return times
}

func serve(ctx context.Context, directory string) (http.Handler, error) {
	wheel, err := demoWheel()
	if err != nil {
		return nil, err
	}
	tarball, err := demoTarball()
	if err != nil {
		return nil, err
	}
	repository, err := demoRepository(ctx, directory)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprintln(rw, greeting) })
	mux.HandleFunc("POST /hello", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprintln(rw, "taken") })
	mux.HandleFunc("GET /simple/demo/", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, `<!DOCTYPE html><a href="../../files/%[1]s">%[1]s</a>`, wheelName)
	})
	mux.HandleFunc("GET /files/"+wheelName, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(wheel) })
	mux.HandleFunc("POST /pypi", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/xml")
		fmt.Fprint(rw, `<?xml version="1.0"?><methodResponse><params><param><value><array><data/></array></value></param></params></methodResponse>`)
	})
	mux.HandleFunc("GET /npm/demo", func(rw http.ResponseWriter, r *http.Request) { packument(rw, r, tarball) })
	mux.HandleFunc("PUT /npm/demo", func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusCreated)
		fmt.Fprintln(rw, `{"ok":true}`)
	})
	mux.HandleFunc("GET /npm/demo/-/demo-1.0.0.tgz", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(tarball) })
	mux.Handle("/repo.git/", repository)
	return mux, nil
}

const wheelName = "demo-1.0-py3-none-any.whl"

// demoWheel is the smallest package that pip takes.
func demoWheel() ([]byte, error) {
	var wheel bytes.Buffer
	archive := zip.NewWriter(&wheel)
	for _, file := range [][2]string{
		{"demo.py", "greeting = 'hello'\n"},
		{"demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"},
		{"demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"demo-1.0.dist-info/RECORD", "demo.py,,\ndemo-1.0.dist-info/METADATA,,\ndemo-1.0.dist-info/WHEEL,,\ndemo-1.0.dist-info/RECORD,,\n"},
	} {
		w, err := archive.Create(file[0])
		if err != nil {
			return nil, err
		}
		if _, err := w.Write([]byte(file[1])); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return wheel.Bytes(), err
}

// demoTarball is the smallest package that npm takes.
func demoTarball() ([]byte, error) {
	var tarball bytes.Buffer
	zipped := gzip.NewWriter(&tarball)
	archive := tar.NewWriter(zipped)
	content := []byte(`{"name":"demo","version":"1.0.0"}`)
	err := archive.WriteHeader(&tar.Header{Name: "package/package.json", Mode: 0o644, Size: int64(len(content))})
	if err != nil {
		return nil, err
	}
	if _, err := archive.Write(content); err != nil {
		return nil, err
	}
	err = errors.Join(archive.Close(), zipped.Close())
	return tarball.Bytes(), err
}

// packument is how an npm registry describes a package.
func packument(rw http.ResponseWriter, r *http.Request, tarball []byte) {
	digest := sha512.Sum512(tarball)
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(map[string]any{
		"name":      "demo",
		"dist-tags": map[string]string{"latest": "1.0.0"},
		"versions": map[string]any{"1.0.0": map[string]any{
			"name": "demo", "version": "1.0.0",
			"dist": map[string]string{
				"tarball":   "https://" + r.Host + "/npm/demo/-/demo-1.0.0.tgz",
				"integrity": "sha512-" + base64.StdEncoding.EncodeToString(digest[:]),
			},
		}},
	})
}

// demoRepository makes a repository with one commit and serves it as git's own
// server does.
func demoRepository(ctx context.Context, directory string) (http.Handler, error) {
	repository := filepath.Join(directory, "repo.git")
	script := `set -e
git init -q --bare "$1"
tree=$(git -C "$1" mktree </dev/null)
commit=$(git -C "$1" -c user.name=world -c user.email=world@example.org commit-tree -m first "$tree")
git -C "$1" update-ref "$(git -C "$1" symbolic-ref HEAD)" "$commit"
git --exec-path`
	made := exec.CommandContext(ctx, "/bin/sh", "-c", script, "make", repository)
	var said bytes.Buffer
	made.Stderr = &said
	path, err := made.Output()
	if err != nil {
		return nil, fmt.Errorf("make a repository: %w: %s", err, said.String())
	}
	return &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Dir:  directory,
		Env:  []string{"GIT_PROJECT_ROOT=" + directory, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER="},
	}, nil
}
