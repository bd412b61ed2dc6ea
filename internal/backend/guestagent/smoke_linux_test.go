package guestagent_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

func TestSmoke(t *testing.T) {
	for _, as := range principals {
		t.Run(as.name, func(t *testing.T) {
			b := start(t, as, guestagent.Options{})
			var out, err bytes.Buffer
			code, e := b.Exec(t.Context(), engine.ExecRequest{Args: []string{"sh", "-c", "cat; echo err >&2; id -u; pwd; env; ls -l /proc/self/fd; exit 7"}, Dir: b.dir, Env: []string{"A=b"}, Stdin: strings.NewReader("hello\n"), Stdout: &out, Stderr: &err})
			t.Log(code, e, out.String(), err.String())
			data := strings.Repeat("x", 3<<20)
			if err := b.Write(t.Context(), b.ref("f"), strings.NewReader(data), int64(len(data))); err != nil {
				t.Fatal(err)
			}
			t.Log(b.Stat(t.Context(), b.ref("f")))
			r, info, e := b.Open(t.Context(), b.ref("f"))
			if e != nil {
				t.Fatal(e)
			}
			got, e := io.ReadAll(r)
			if e != nil || string(got) != data {
				t.Fatal(e, len(got))
			}
			r.Close()
			t.Log(info)
			if e := b.Mkdir(t.Context(), b.ref("d")); e != nil {
				t.Fatal(e)
			}
			t.Log(b.List(t.Context(), b.ref(""), func(i engine.Info) bool { t.Log(i); return true }))
			t.Log(b.Remove(t.Context(), b.ref("d"), false), b.Remove(t.Context(), b.ref("d"), true))
		})
	}
}
