package frame_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/frame"
)

const token = "TOKEN"

func FuzzAScriptReadsBackAsItsProgram(f *testing.F) {
	f.Add("printf", "it's \"$HOME\" `id`\n", "A=x y'z", "/work", "/tmp/in")
	f.Add("odd-\xff\xfe'x", "a\ufffdb\ufffd\xff", "", "/", frame.NoStdin)
	f.Add("", ") <'x' 3>&-", "=", "' 2>/dev/null || { echo ", "")
	f.Fuzz(func(t *testing.T, name, arg, variable, dir, stdin string) {
		p := frame.Program{Args: []string{name, arg}, Dir: dir, Stdin: stdin, Token: token}
		if strings.Contains(variable, "=") && !strings.Contains(name, "=") { // of both, no script is written
			p.Env = []string{variable}
		}
		got, most, ok := frame.Read(frame.Script(p, 7))
		if !ok || most != 7 || !reflect.DeepEqual(got, p) {
			t.Errorf("%+v came back as %+v, %d, %v", p, got, most, ok)
		}
	})
}

func TestAnyOtherScriptIsNotRead(t *testing.T) {
	t.Parallel()
	script := frame.Script(frame.Program{Args: []string{"true"}, Dir: "/", Stdin: frame.NoStdin, Token: token}, 1)
	if _, _, ok := frame.Read(script); !ok {
		t.Fatal("its own is not read")
	}
	for name, other := range map[string]string{
		"nothing": "", "a command": "echo hello", "more behind it": script + "rm x\n", "cut short": script[:len(script)-2],
		"another token at the end": strings.Replace(script, token+" $rc", "OTHER $rc", 1), "a bare word": strings.Replace(script, "'true'", "true", 1),
	} {
		if p, _, ok := frame.Read(other); ok {
			t.Errorf("%s is read as %+v", name, p)
		}
	}
}
