package acas_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

func execer(t *testing.T, w *world) engine.Execer {
	t.Helper()
	x, ok := w.start(t, w.engine(t), request()).Guest.(engine.Execer)
	if !ok {
		t.Fatal("no exec")
	}
	return x
}

func TestAProgramsBytesAreCarriedAsTheyAre(t *testing.T) {
	t.Parallel()
	x := execer(t, newWorld(t))
	every := make([]byte, 0, 1024)
	for i := range cap(every) {
		every = append(every, byte(i))
	}
	for name, c := range map[string]struct {
		args           []string
		env            []string
		stdin          []byte
		code           int
		stdout, stderr string
	}{
		"nothing":          {args: []string{"true"}},
		"an exit code":     {args: []string{"sh", "-c", "exit 42"}, code: 42},
		"both streams":     {args: []string{"sh", "-c", `printf 'a\0b'; printf '\377\n' >&2; exit 1`}, code: 1, stdout: "a\x00b", stderr: "\xff\n"},
		"every byte":       {args: []string{"cat"}, stdin: every, stdout: string(every)},
		"no input":         {args: []string{"cat"}},
		"hard words":       {args: []string{"printf", "%s|", `'`, `"`, "$HOME", "`id`", "a\nb", "", "*", `\`}, stdout: `'|"|$HOME|` + "`id`|a\nb||*|\\|"},
		"no text":          {args: []string{"printf", "%s|", "odd-\xff\xfe'x", "\xff", "a\ufffdb", "\ufffd\xff"}, stdout: "odd-\xff\xfe'x|\xff|a\ufffdb|\ufffd\xff|"},
		"variables":        {args: []string{"sh", "-c", `printf %s "$A-$B"`}, env: []string{"A=x y'z", "B="}, stdout: "x y'z-"},
		"no shell's words": {args: []string{"exit", "0"}, code: 127},
		"the token's like": {args: []string{"echo", "TOKEN 0"}, stdout: "TOKEN 0\n"},
	} {
		var stdout, stderr bytes.Buffer
		req := engine.ExecRequest{Args: c.args, Env: c.env, Dir: "/", Stdout: &stdout, Stderr: &stderr}
		if c.stdin != nil {
			req.Stdin = bytes.NewReader(c.stdin)
		}
		code, err := x.Exec(t.Context(), req)
		if err != nil || code != c.code || stdout.String() != c.stdout || c.code != 127 && stderr.String() != c.stderr {
			t.Errorf("%s: %d, %q, %q, %v", name, code, stdout.String(), stderr.String(), err)
		}
	}
}

func TestAProgramThatCannotBeRunSaysWhy(t *testing.T) {
	t.Parallel()
	x := execer(t, newWorld(t))
	var out bytes.Buffer
	if _, err := x.Exec(t.Context(), engine.ExecRequest{Args: []string{"true"}, Dir: "/no/such/place"}); !errors.Is(err, engine.ErrNotDirectory) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := x.Exec(t.Context(), engine.ExecRequest{Args: []string{"head", "-c", "3000000", "/dev/zero"}, Dir: "/", Stdout: &out}); !errors.Is(err, engine.ErrNoSpace) || out.Len() != 2<<20 {
		t.Errorf("%d bytes of output: %v", out.Len(), err)
	}
	if _, err := x.Exec(t.Context(), engine.ExecRequest{Args: []string{"echo", strings.Repeat("x", 200_000)}, Dir: "/"}); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("a long command: %v", err)
	}
	if code, err := x.Exec(t.Context(), engine.ExecRequest{Args: []string{"true"}, Dir: "/"}); code != 0 || err != nil {
		t.Errorf("and then: %d, %v", code, err)
	}
}

// signIn is a credential that is asked with every request, and fails when
// the test says so.
type signIn struct{ err error }

func (s *signIn) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if s.err != nil {
		return azcore.AccessToken{}, s.err
	}
	token, err := auth.Emulator{}.GetToken(ctx, o)
	token.ExpiresOn = time.Unix(0, 0) // asked for again with every request
	return token, err
}

// A program that was never asked for runs nowhere, so its sandbox stays.
func TestASandboxIsKeptWhenTheProgramWasNeverSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		signIn error
		arg    string
		want   error
	}{
		"a sign-in that is refused":      {sandbox.Finding{Code: sandbox.CodeCredentialFailed, Subject: "sign-in"}.Refusal(nil), "x", sandbox.CodeCredentialFailed},
		"a sign-in that fails by itself": {errors.New("the login has expired"), "x", sandbox.CodeServiceUnreachable},
		"a credential that has no program": {
			azidentity.NewCredentialUnavailableError("AzureCLICredential: executable not found on path"), "x", sandbox.CodeCredentialFailed,
		},
		"a credential that is refused":    {&azidentity.AuthenticationFailedError{}, "x", sandbox.CodeCredentialFailed},
		"a command that no request holds": {nil, "a\x00b", sandbox.CodeInvalidText},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			credential := &signIn{}
			w.config.Credential = credential
			x := execer(t, w)
			credential.err = c.signIn
			if _, err := x.Exec(t.Context(), engine.ExecRequest{Args: []string{"echo", c.arg}, Dir: "/"}); !errors.Is(err, c.want) || errors.Is(err, engine.ErrGone) {
				t.Errorf("%v", err)
			}
			credential.err = nil
			if left := w.Guests(); len(left) != 1 {
				t.Fatalf("left are %q", left)
			}
			if code, err := x.Exec(t.Context(), engine.ExecRequest{Args: []string{"true"}, Dir: "/"}); code != 0 || err != nil {
				t.Errorf("and then: %d, %v", code, err)
			}
		})
	}
}

// A host reads what its credential said, and not of an endpoint that was never asked.
func TestACredentialThatFailsIsToldAsItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	credential := &signIn{}
	w.config.Credential = credential
	x := execer(t, w)
	credential.err = azidentity.NewCredentialUnavailableError("AzureCLICredential: executable not found on path")
	_, err := x.Exec(t.Context(), engine.ExecRequest{Args: []string{"true"}, Dir: "/"})
	if r := sandbox.RefusalOf(err); r == nil || !strings.Contains(r.Found, "executable not found on path") || !strings.Contains(r.Remedy, "az login") ||
		errors.Is(err, sandbox.CodeServiceUnreachable) || errors.Is(err, engine.ErrUnreachable) || !errors.Is(err, credential.err) {
		t.Errorf("%v", err)
	}
}

// cancelled runs a program, and cancels the call once it has begun.
func (w *world) cancelled(t *testing.T, x engine.Execer, out *bytes.Buffer, script string) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	select {
	case <-w.began: // by what came before
	default:
	}
	sign := filepath.Join(t.TempDir(), "begun")
	ended := make(chan error, 1)
	go func() {
		_, err := x.Exec(ctx, engine.ExecRequest{Args: []string{"sh", "-c", script, "sh", sign}, Dir: "/", Stdout: out})
		ended <- err
	}()
	<-w.began
	for _, err := os.Stat(sign); err != nil; _, err = os.Stat(sign) {
		runtime.Gosched()
	}
	cancel()
	return <-ended
}

func TestACancelledProgramIsEndedWithAllItStartedAndItsSandboxGoesOn(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"a program":            `echo begun; : >"$1"; exec sleep 3600`,
		"deaf to signals":      `trap '' TERM INT HUP; echo begun; : >"$1"; while :; do sleep 3600; done`,
		"stopped":              `echo begun; : >"$1"; kill -STOP $$`,
		"children of its own":  `echo begun; (sleep 3600 & sleep 3600) & : >"$1"; wait`,
		"a name like a status": `echo begun; : >"$1"; exec sh -c 'sleep 3600; true' ') Z 1 1 1'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			x := execer(t, w)
			var out bytes.Buffer
			if err := w.cancelled(t, x, &out, script); !errors.Is(err, context.Canceled) || errors.Is(err, engine.ErrGone) || out.String() != "begun\n" {
				t.Errorf("%v, with output %q", err, out.String())
			}
			if code, err := x.Exec(t.Context(), engine.ExecRequest{Args: []string{"true"}, Dir: "/"}); code != 0 || err != nil || len(w.Guests()) != 1 {
				t.Errorf("and then: %d, %v, left are %q", code, err, w.Guests())
			}
		})
	}
}

// Nothing else could end it, so the sandbox goes.
func TestASandboxInWhichAProgramCannotBeEndedIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := execer(t, w)
	w.unstoppable.Store(true)
	if err := w.cancelled(t, x, nil, `: >"$1"; exec sleep 5`); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if left := w.Guests(); len(left) != 0 {
		t.Errorf("left are %q", left)
	}
	if _, err := x.Exec(t.Context(), engine.ExecRequest{Args: []string{"true"}, Dir: "/"}); !errors.Is(err, engine.ErrGone) {
		t.Errorf("%v", err)
	}
}

// zeros has no end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestInputWithoutEndIsForProgramsThatDoNotReadItAll(t *testing.T) {
	t.Parallel()
	x := execer(t, newWorld(t))
	var out bytes.Buffer
	code, err := x.Exec(t.Context(), engine.ExecRequest{Args: []string{"head", "-c", "5"}, Dir: "/", Stdin: zeros{}, Stdout: &out})
	if code != 0 || err != nil || out.String() != "\x00\x00\x00\x00\x00" {
		t.Errorf("a program that read the beginning: %d, %q, %v", code, out.String(), err)
	}
	if _, err := x.Exec(t.Context(), engine.ExecRequest{Args: []string{"sh", "-c", "cat >/dev/null"}, Dir: "/", Stdin: zeros{}}); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("a program that read it all: %v", err)
	}
}
