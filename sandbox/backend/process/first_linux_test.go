package process

import (
	"bytes"
	"testing"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

func TestFirst(t *testing.T) {
	e, d, err := NewEngine(t.Context(), Config{Users: Users{1900000000, 100}, StateDir: t.TempDir()+"/s"})
	if err != nil { t.Fatal(err) }
	t.Logf("%+v", d)
	s, err := e.Start(t.Context(), engine.StartRequest{Name: "a", WorkDir: "/work"})
	if err != nil { t.Fatal(err) }
	for _, c := range []string{"id; pwd; ls -la / /dev /etc; cat /proc/self/limits; mount | wc -l", "python3 -c 'print(1+1)'", "node -e 'console.log(6*7)'", "cat > a.c <<< 'int main(){return 7;}' ; gcc a.c && ./a.out; echo $?", "git init -q r && cd r && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && git log --oneline | wc -l", "java -version 2>&1; echo 'public class A { public static void main(String[] a){System.out.println(42);} }' > A.java; java -Xmx256m A.java", "busybox echo hi; curl -sS http://1.1.1.1; dd if=/dev/zero of=/dev/foo; env"} {
		var out, er bytes.Buffer
		code, err := s.Guest.(engine.Execer).Exec(t.Context(), engine.ExecRequest{Args: []string{"/bin/bash","-c",c}, Dir:"/work", Stdout:&out, Stderr:&er})
		fmt.Println(c, "=>", code, err, out.String(), er.String())
	}
	if err := e.Delete(t.Context(), s.Guest.ID()); err != nil { t.Fatal(err) }
	if err := e.Close(t.Context()); err != nil { t.Fatal(err) }
}
