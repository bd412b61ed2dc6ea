package interp

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/memfs"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/wasi"
)

func TestScratch(t *testing.T) {
	path := os.Getenv("WASM")
	i := New(Options{Module: func() ([]byte, error) { return os.ReadFile(path) }, Yields: os.Getenv("YIELDS") != "", MemoryBytes: 256 << 20, CacheDir: os.Getenv("CACHE"), Concurrent: 2, Now: time.Now, Rand: rand.Reader,
		Compiled: func(d time.Duration) { t.Log("compiled", d) }})
	defer i.Close(context.Background())
	fs := memfs.New(memfs.Limits{Bytes: 64 << 20, FileBytes: 64 << 20, Entries: 1000}, time.Now)
	if err := fs.Root().Mkdir("work"); err != nil { t.Fatal(err) }
	w, _ := fs.Root().Dir("work")
	for n := 0; n < 3; n++ {
		for _, src := range os.Args[len(os.Args)-1:] {
			var out, errb bytes.Buffer
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			start := time.Now()
			args := []string{"program"}
			if os.Getenv("DASHC") != "" { args = []string{"python", "-c", src} }
			st, err := i.Run(ctx, Program{Args: args, Source: []byte(src), Mounts: []wasi.Mount{{Name: "/work", Dir: w}, {Name: ".", Dir: w}}, Stdout: &out, Stderr: &errb})
			cancel()
			t.Log(time.Since(start), st, err, out.String(), errb.String())
		}
	}
}
