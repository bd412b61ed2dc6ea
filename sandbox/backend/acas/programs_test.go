package acas_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/acas"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/sandboxtest"
)

// beside is a program's door into a sandbox of an emulator with such guests.
func beside(t *testing.T, options sandboxtest.ACASOptions) engine.Execer {
	t.Helper()
	emulator := sandboxtest.StartACAS(t, options)
	group := emulator.Group(t, "g")
	w := &world{ACAS: emulator, config: acas.Config{
		Subscription: group.Subscription, ResourceGroup: group.ResourceGroup, Group: group.Group, Location: group.Location,
		Endpoint: emulator.URL, Transport: emulator, Credential: emulator.Credential(),
	}}
	return execer(t, w)
}

func TestATestsProgramsAreGivenWhatTheHostAskedFor(t *testing.T) {
	t.Parallel()
	var got engine.ExecRequest
	x := beside(t, sandboxtest.ACASOptions{Exec: func(_ context.Context, _ *sandboxtest.ACASFiles, req engine.ExecRequest) (int, error) {
		got = req
		if req.Stdin == nil {
			return 0, nil
		}
		_, err := io.Copy(req.Stdout, req.Stdin)
		fmt.Fprint(req.Stderr, "\xff\x00")
		return 42, err
	}})
	var stdout, stderr bytes.Buffer
	code, err := x.Exec(t.Context(), engine.ExecRequest{
		Args: []string{"it's", "a\nb", ""}, Env: []string{"A=x y"}, Dir: "/tmp", Stdin: strings.NewReader("in\xff"), Stdout: &stdout, Stderr: &stderr,
	})
	if err != nil || code != 42 || stdout.String() != "in\xff" || stderr.String() != "\xff\x00" {
		t.Errorf("%d, %q, %q, %v", code, stdout.String(), stderr.String(), err)
	}
	if !slices.Equal(got.Args, []string{"it's", "a\nb", ""}) || !slices.Contains(got.Env, "A=x y") || got.Dir != "/tmp" {
		t.Errorf("the program was given %q, %q, %s", got.Args, got.Env, got.Dir)
	}
	if code, err := x.Exec(t.Context(), engine.ExecRequest{Args: []string{"p"}, Dir: "/tmp"}); err != nil || code != 0 || got.Stdin != nil {
		t.Errorf("without streams: %d, %v", code, err)
	}
	if _, err := x.Exec(t.Context(), engine.ExecRequest{Args: []string{"p"}, Dir: "/nowhere"}); !errors.Is(err, engine.ErrNotDirectory) {
		t.Errorf("in a directory that is not there: %v", err)
	}
}

func TestATestsProgramThatFloodsIsStoppedAsAShellWould(t *testing.T) {
	t.Parallel()
	x := beside(t, sandboxtest.ACASOptions{Exec: func(_ context.Context, _ *sandboxtest.ACASFiles, req engine.ExecRequest) (int, error) {
		for {
			if _, err := io.WriteString(req.Stdout, strings.Repeat("x", 64<<10)); err != nil {
				return 0, err
			}
		}
	}})
	if _, err := x.Exec(t.Context(), engine.ExecRequest{Args: []string{"flood"}, Dir: "/", Stdout: io.Discard}); !errors.Is(err, engine.ErrNoSpace) {
		t.Errorf("%v", err)
	}
}

func TestAShellThatDoesNotSpeakTheFrameIsToldFromOneThatWasKilled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		code int
		want error
		says string
	}{
		{"no shell", 0, engine.ErrRefused, "POSIX shell"},
		{"not found", 127, engine.ErrRefused, "POSIX shell"},
		{"killed", 137, engine.ErrCrashed, "did not come to its end"},
	} {
		x := beside(t, sandboxtest.ACASOptions{Shell: func(context.Context, *sandboxtest.ACASFiles, engine.ExecRequest) (int, error) {
			return c.code, nil
		}})
		_, err := x.Exec(t.Context(), engine.ExecRequest{Args: []string{"true"}, Dir: "/"})
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
