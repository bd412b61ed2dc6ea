package output_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

// childPlan is the environment variable that makes this test binary another host,
// which lands what the variable says.
const childPlan = "SANDBOX_OUTPUT_TEST_CHILD"

// childLandings are the landings of another host. It writes a line before each step,
// and one that begins with "landed" or "refused" after each landing.
type childLandings struct {
	Root     string
	Existing output.Existing
	Flat     bool
	SkipSync bool
	Quota    output.Quota
	Scope    string
	Landings int // each under a call of its own
	Files    int
	Bytes    int // of each file
	FileCap  uint64
}

func child(encoded string) int {
	var p childLandings
	if err := json.Unmarshal([]byte(encoded), &p); err != nil {
		fmt.Println(err)
		return 1
	}
	if err := capFileSize(p.FileCap); err != nil {
		fmt.Println(err)
		return 1
	}
	sink, err := output.NewDirSink(p.Root, p.options())
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = sink.Close() }()
	for i := range p.Landings {
		err := p.land(sink, i)
		refusal := sandbox.RefusalOf(err)
		switch {
		case err == nil:
			fmt.Println("landed")
		case refusal != nil:
			fmt.Println("refused", refusal.Code, errors.Unwrap(refusal))
		default:
			fmt.Println(err)
			return 1
		}
	}
	return 0
}

func (p *childLandings) options() output.DirOptions {
	return output.DirOptions{Existing: p.Existing, Flat: p.Flat, SkipSync: p.SkipSync, Quota: p.Quota}
}

// land lands files that hold the landing's number, over and over.
func (p *childLandings) land(sink output.Sink, number int) (err error) {
	ctx := context.Background()
	from := output.Origin{Owner: "o", Key: sandbox.Key{Scope: p.Scope}, Call: fmt.Sprint(os.Getpid(), number)}
	d, err := sink.Begin(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Abort()) }()
	content := strings.Repeat(string(rune('a'+number%26)), p.Bytes)
	for i := range p.Files {
		fmt.Println("staging")
		a := output.Artifact{Name: fmt.Sprintf("d%d/f%d", i%3, i), Size: int64(p.Bytes)}
		if _, err := d.Stage(ctx, a, strings.NewReader(content)); err != nil {
			return err
		}
	}
	fmt.Println("committing")
	return d.Commit(ctx)
}

// start runs another host, whose lines come over the channel until it ends.
func (p *childLandings) start(t *testing.T) (host *exec.Cmd, lines <-chan string) {
	t.Helper()
	encoded, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host = exec.CommandContext(t.Context(), self)
	host.Env = append(os.Environ(), childPlan+"="+string(encoded))
	host.Stderr = os.Stderr
	pipe, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	out := make(chan string)
	go func() {
		defer close(out)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			out <- lines.Text()
		}
	}()
	return host, out
}
