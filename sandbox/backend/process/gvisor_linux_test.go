package process

import (
	"bytes"
	"testing"
	"fmt"
	"os"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

func TestGVisorFirst(t *testing.T) {
	t0 := time.Now()
	c := Config{StateDir: t.TempDir()+"/s", Runtime: RuntimeGVisor, Runsc: os.Getenv("SANDBOX_TEST_RUNSC")}
	if os.Geteuid() == 0 { c.Users = Users{1900000000, 100} }
	e, d, err := NewEngine(t.Context(), c)
	if err != nil { t.Fatalf("%v", err) }
	t.Logf("%+v", d)
	fmt.Println("opened", time.Since(t0)); t0 = time.Now()
	s, err := e.Start(t.Context(), engine.StartRequest{Name: "a", WorkDir: "/work"})
	if err != nil { t.Fatal(err) }
	fmt.Println("started", time.Since(t0)); t0 = time.Now()
	for _, c := range []string{"id; pwd; ls -la / /dev /etc; cat /proc/self/limits; mount | wc -l", "python3 -c 'print(1+1)'", "git init -q r && cd r && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && git log --oneline | wc -l", "busybox echo hi; curl -sS http://1.1.1.1; dd if=/dev/zero of=/dev/foo; env"} {
		var out, er bytes.Buffer
		t0 = time.Now()
		code, err := s.Guest.(engine.Execer).Exec(t.Context(), engine.ExecRequest{Args: []string{"/bin/bash","-c",c}, Dir:"/work", Stdout:&out, Stderr:&er})
		fmt.Println(c, "=>", code, err, time.Since(t0), out.String(), er.String())
	}
	t0 = time.Now()
	if err := e.Delete(t.Context(), s.Guest.ID()); err != nil { t.Fatal(err) }
	fmt.Println("deleted", time.Since(t0)); t0 = time.Now()
	if err := e.Close(t.Context()); err != nil { t.Fatal(err) }
	fmt.Println("closed", time.Since(t0)); t0 = time.Now()
}
