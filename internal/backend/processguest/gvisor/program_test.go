package gvisor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain also is the program that tests take for runsc: it says what stands
// beside it, or nothing for ever.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		os.Exit(say())
	}
	os.Exit(m.Run())
}

func say() int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	words, err := os.ReadFile(self + ".says")
	if err != nil {
		return block()
	}
	if _, err := os.Stdout.Write(words); err != nil {
		return 1
	}
	return 0
}

// block returns when it is killed.
func block() int {
	r, w, err := os.Pipe()
	if err != nil {
		return 1
	}
	defer w.Close()
	_, _ = r.Read(make([]byte, 1)) // nobody writes
	return 1
}

// program is one that says something when it is asked for its version.
func program(t *testing.T, said string, mode os.FileMode) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "runsc")
	if err := errors.Join(
		os.WriteFile(path, content, 0o600), os.Chmod(path, mode), os.WriteFile(path+".says", []byte(said), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRunscOfADayIsAcceptedAndOlderOnesAreNot(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"runsc version release-" + Oldest + ".0":                      "release-" + Oldest + ".0",
		"runsc version release-20270101.2":                            "release-20270101.2",
		"runsc version v0.0.0-20260905035102-160fafc42237":            "v0.0.0-20260905035102-160fafc42237",
		"runsc version v0.0.0-20260905035102-160fafc42237\nspec: 1.2": "v0.0.0-20260905035102-160fafc42237",

		"runsc version release-20260904.0":   "",
		"runsc version release-20220101.0":   "",
		"runsc version VERSION_MISSING":      "",
		"runsc version 1.2.3":                "",
		"runc version 20260905":              "",
		"":                                   "",
		"runsc version release-99999999\x1b": "",
	} {
		t.Run(said, func(t *testing.T) {
			t.Parallel()
			v, err := version([]byte(said), strings.NewReader(""))
			if v != want || (err == nil) != (want != "") {
				t.Errorf("version is %q, error %v", v, err)
			}
			if _, ok := errors.AsType[*Unfit](err); err != nil && !ok {
				t.Errorf("%v says not what is required", err)
			}
		})
	}
}

func TestProgramIsTakenOnlyAsRunsc(t *testing.T) {
	t.Parallel()
	good := "runsc version release-" + Oldest + ".0"
	p, err := Open(t.Context(), program(t, good, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	wrapper := filepath.Join(t.TempDir(), "runsc")
	if err := os.WriteFile(wrapper, []byte("#!/bin/sh\necho "+good+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"nothing":            filepath.Join(t.TempDir(), "runsc"),
		"directory":          t.TempDir(),
		"file":               program(t, good, 0o644),
		"others' program":    program(t, good, 0o777),
		"script":             wrapper,
		"another program":    program(t, "runc version 1.1", 0o755),
		"an old one":         program(t, "runsc version release-20200101.0", 0o755),
		"one without a word": program(t, "", 0o755),
	} {
		p, err := Open(t.Context(), path)
		if _, ok := errors.AsType[*Unfit](err); !ok {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

func TestRunscThatNeverAnswersIsLeftWithItsCaller(t *testing.T) {
	t.Parallel()
	path := program(t, "", 0o755)
	if err := os.Remove(path + ".says"); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("the host has gone")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, gone)
	defer cancel()
	if _, err := Open(ctx, path); !errors.Is(err, gone) {
		t.Errorf("error is %v", err)
	}
}
