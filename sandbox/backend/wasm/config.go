// Package wasm runs programs in a language interpreter that is a WebAssembly
// module, inside the host process: isolation rung runtime, no network, nothing
// to install. A sandbox is a work directory in memory; each program runs in a
// fresh instance of the interpreter, so two programs of one sandbox share its
// files and nothing else.
//
// The interpreter is a JavaScript one of our own, embedded; package
// internal/backend/wasmguest documents what its programs may call. Another WASI
// interpreter, such as CPython, is configured by path and digest.
//
// Read [Config], then [New].
package wasm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/interp"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest/memfs"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
)

// Name is the backend's name.
const Name = "wasm"

// Config configures the backend. The zero value is complete.
type Config struct {
	// Interpreter replaces the embedded JavaScript interpreter.
	Interpreter *Interpreter

	// MemoryBytes bounds the memory of one running program; 0 is 256 MiB. It is
	// rounded down to whole WebAssembly pages of 64 KiB and must be below 4 GiB.
	// The host needs up to twice as much while a program's memory grows.
	MemoryBytes int64
	// StorageBytes bounds all files of one sandbox, FileBytes one file, both in
	// memory; 0 is 64 MiB each. Entries bounds its files and directories; 0 is
	// 4096.
	StorageBytes int64
	FileBytes    int64
	Entries      int
	// Concurrent bounds the programs that run at once over all sandboxes; the
	// others wait their turn. 0 is twice the number of CPUs.
	Concurrent int

	// CacheDir keeps compiled code between processes, some 45 MB an interpreter.
	// It must be private: the directory and what is in it owned by this user and
	// writable by nobody else, and nobody else able to replace a directory above
	// it. Empty is a directory below os.UserCacheDir, without which, or when that
	// is not private, code is compiled in each process anew.
	CacheDir string
	// NoCache keeps no compiled code on disk.
	NoCache bool

	// Notice is told what a person may want to know of the engine's start: a
	// default cache that is not used and why, and how long the interpreter took
	// to compile or to read from the cache. It may be nil, and is called from
	// any goroutine.
	Notice func(text string)
	// Clock tells guests the time; nil is time.Now.
	Clock func() time.Time
	// Rand gives guests randomness; nil is crypto/rand.
	Rand io.Reader
}

const (
	defaultMemory  = 256 << 20
	defaultStorage = 64 << 20
	defaultEntries = 4096
)

// Declarations are what a backend with a zero [Config] says of itself: the same
// facts that a plan decides with.
func Declarations() sandbox.Declarations {
	// The zero value of an unknown name would claim nothing and be refused by New.
	d, _ := facts.Lookup(Name)
	return d
}

// New makes the backend: an engine as [NewEngine] does, behind the confinement
// layer. Closing it closes the engine and ends every sandbox. Errors are
// [*sandbox.Refusal] or [sandbox.Refusals].
func New(config Config, options ...backend.Option) (*backend.Backend, error) {
	e, err := NewEngine(config)
	if err != nil {
		return nil, err
	}
	b, err := backend.New(e, e.declarations(), options...)
	if err != nil {
		return nil, errors.Join(err, e.Close(context.Background()))
	}
	return b, nil
}

// declarations lower the ceilings of file transfer where the storage is smaller.
func (e *Engine) declarations() sandbox.Declarations {
	d := Declarations()
	ceiling := sandbox.DefaultTransferLimits()
	for _, stated := range []**sandbox.TransferLimits{&d.FilesIn, &d.FilesOut} {
		limits := (*stated).Or(ceiling)
		limits.MaxBytesPerFile = min(limits.MaxBytesPerFile, e.settings.limits.FileBytes)
		limits.MaxTotalBytes = min(limits.MaxTotalBytes, e.settings.limits.Bytes)
		limits.MaxFiles = min(limits.MaxFiles, int64(e.settings.limits.Entries))
		*stated = &limits
	}
	return d
}

// settings are a Config with its defaults filled in and its bounds checked.
type settings struct {
	limits memfs.Limits
	clock  func() time.Time
	notice func(string)
	interp interp.Options
}

func (c Config) settings() (settings, error) {
	for _, bound := range []struct {
		name       string
		value, max int64
	}{
		{"MemoryBytes", c.MemoryBytes, math.MaxUint32},
		{"StorageBytes", c.StorageBytes, math.MaxInt64 / 4},
		{"FileBytes", c.FileBytes, math.MaxInt64 / 4},
		{"Entries", int64(c.Entries), math.MaxInt32},
		{"Concurrent", int64(c.Concurrent), math.MaxInt16},
	} {
		if bound.value < 0 || bound.value > bound.max {
			return settings{}, sandbox.Finding{
				Code:     sandbox.CodeOutOfRange,
				Path:     sandbox.Path(bound.name),
				Found:    fmt.Sprint(bound.value),
				Required: fmt.Sprintf("from 0, which is the default, to %d", bound.max),
				Remedy:   "change the wasm backend's configuration",
			}.Refusal(nil)
		}
	}
	s := settings{
		limits: memfs.Limits{
			Bytes:     or(c.StorageBytes, defaultStorage),
			FileBytes: or(c.FileBytes, or(c.StorageBytes, defaultStorage)),
			Entries:   or(c.Entries, defaultEntries),
		},
		clock:  c.Clock,
		notice: c.Notice,
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.notice == nil {
		s.notice = func(string) {}
	}
	s.interp = interp.Options{
		Module:      wasmguest.Module,
		Yields:      true,
		Fragile:     true,
		MemoryBytes: uint32(or(c.MemoryBytes, defaultMemory)) / interp.PageBytes * interp.PageBytes,
		Concurrent:  or(c.Concurrent, 2*runtime.GOMAXPROCS(0)),
		Compiled: func(took time.Duration) {
			s.notice(fmt.Sprintf("interpreter is ready after %v", took.Round(time.Millisecond)))
		},
		Now:  s.clock,
		Rand: c.Rand,
	}
	if s.interp.Rand == nil {
		s.interp.Rand = rand.Reader
	}
	var err error
	if s.interp.CacheDir, err = c.cacheDir(s.notice); err != nil {
		return settings{}, err
	}
	return s, nil
}

func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// cacheDir is the cache that may be used, empty for none. One that was asked for
// and is unfit is an error; the default one is merely not used, which costs time
// and nothing else.
func (c Config) cacheDir(notice func(string)) (string, error) {
	if c.NoCache {
		return "", nil
	}
	if c.CacheDir != "" {
		dir, err := interp.PrepareCacheDir(c.CacheDir)
		if err != nil {
			return "", sandbox.Finding{
				Code:     sandbox.CodeOptionsInvalid,
				Path:     sandbox.Path("CacheDir"),
				Found:    sandbox.Echo(c.CacheDir),
				Required: "a directory that only this user can write to: it holds code that this process runs",
				Remedy:   "name another directory, correct its owner and mode, or set NoCache",
			}.Refusal(err)
		}
		return dir, nil
	}
	return defaultCacheDir(notice), nil
}

func defaultCacheDir(notice func(string)) string {
	dir, err := os.UserCacheDir()
	if err == nil {
		dir, err = interp.PrepareCacheDir(filepath.Join(dir, "sandbox", "wasm"))
	}
	if err != nil {
		notice("no compiled code is kept: " + err.Error())
		return ""
	}
	return dir
}
