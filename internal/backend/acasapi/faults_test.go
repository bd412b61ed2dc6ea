package acasapi_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

var update = flag.Bool("update", false, "write FAULTS.md from what is measured")

const faultPage = "FAULTS.md"

// faultColumn is one way in which the server misbehaves towards one operation.
type faultColumn struct {
	name, spec string
	// permanent faults must end in a refusal; the others pass, and an operation
	// that may be repeated must survive them.
	permanent bool
	// hides says that the server may have done it although it did not say so.
	hides bool
}

var faultColumns = []faultColumn{
	{name: "500 once", spec: "status=500,times=1"},
	{name: "503 empty, once", spec: "status=503,body=empty,times=1"},
	{name: "502 HTML, once", spec: "status=502,body=html,times=1"},
	{name: "429, once", spec: "status=429,retry-after=3,times=1"},
	{name: "cut before it ran", spec: "drop=before,times=1"},
	{name: "cut after it ran", spec: "drop=after,times=1", hides: true},
	{name: "cut in mid answer", spec: "drop=mid,times=1", hides: true},
	{name: "broken JSON, once", spec: "truncate=1,times=1", hides: true},
	{name: "403 empty, 3 times", spec: "status=403,body=empty,times=3"},
	{name: "wrong type", spec: "content-type=text/html"},
	{name: "500 for ever", spec: "status=500", permanent: true},
	{name: "403 for ever", spec: "token=forbidden", permanent: true},
	{name: "401", spec: "token=reject", permanent: true},
	{name: "redirect", spec: "status=307,location=https://elsewhere.example/", permanent: true},
}

// state is what a cell may leave in its group: how many of each thing.
type state struct{ sandboxes, images, snapshots, volumes, secrets, ports, ran int }

// look reads the state with requests of its own, past the client.
func (c *cell) look(t *testing.T) state {
	t.Helper()
	ctx := t.Context()
	var st state
	for range count(t, c.g.Sandboxes(ctx, nil)) {
		st.sandboxes++
	}
	st.images = len(count(t, c.g.Images(ctx, nil)))
	st.snapshots = len(count(t, c.g.Snapshots(ctx, nil)))
	st.volumes = len(count(t, c.g.Volumes(ctx, nil)))
	st.secrets = len(count(t, c.g.Secrets(ctx)))
	if ports, err := c.s.Ports(ctx); err == nil {
		st.ports = len(ports)
	}
	if c.row.runs {
		result, err := c.s.ExecShell(ctx, wire.ShellCommand{Command: countRuns})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(result.Stdout, &st.ran); err != nil {
			t.Fatal(err)
		}
	}
	return st
}

func count[T any](t *testing.T, items func(func(T, error) bool)) []T {
	t.Helper()
	all, err := gathered[T](items)
	if err != nil && !errors.Is(err, sandbox.CodeServiceNotFound) { // the group itself may be gone
		t.Fatal(err)
	}
	return all
}

// cell is one operation under one fault, in a group of its own.
type cell struct {
	*world
	row  faultRow
	s    *acasapi.Sandbox
	made string // by before
}

// measure runs one cell, holds it to what must never happen, and says what did.
func (c *cell) measure(t *testing.T, col faultColumn) string {
	t.Helper()
	ctx := t.Context()
	if c.row.before != nil {
		if err := c.row.before(ctx, c); err != nil {
			t.Fatalf("%s: before: %v", c.row.op, err)
		}
	}
	atOnce := c.look(t)
	form, _ := c.row.op.Form(wire.V0201)
	c.other.fault(t, col.spec+",method="+form.Method+",path="+c.glob(form.Path))
	c.other.forget(t)
	err := c.row.run(ctx, c)
	c.calm(t)
	requests := c.arrived(t, form)
	after := c.look(t)

	c.judge(t, col, err, requests)
	want := atOnce
	done := err == nil || (c.row.runs && col.hides)
	if c.row.leaves != nil && done {
		c.row.leaves(&want)
	}
	if after != want {
		t.Errorf("%s, %s: the group holds %+v, not %+v (%v)", c.row.op, col.name, after, want, err)
	}
	return verdict(err, requests)
}

// glob matches the operation's path in this cell's group.
func (c *cell) glob(template string) string {
	path, err := wire.Expand(template, wire.Segments{
		wire.SegSubscription: subscription, wire.SegResourceGroup: "rg", wire.SegGroup: c.name, wire.SegVNet: "net",
		wire.SegSandbox: "ANY", wire.SegImage: c.imageSegment(), wire.SegSnapshot: "ANY", wire.SegVolume: "ANY", wire.SegSecret: "ANY",
	})
	if err != nil {
		return "*"
	}
	return strings.ReplaceAll(path, "ANY", "*-*")
}

// arrived counts the operation's requests as the server saw them, which is more than
// the client knows of: Go's transport sends a GET again by itself when a connection
// that it kept turns out to be closed.
func (c *cell) arrived(t *testing.T, form wire.Form) int {
	t.Helper()
	path := regexp.MustCompile("^" + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(form.Path, "[^/]+") + "$")
	n := 0
	for _, s := range c.other.trace(t, "") {
		if s.Request.Method == form.Method && path.MatchString(s.Request.Path) {
			n++
		}
	}
	return n
}

func (c *cell) imageSegment() string {
	if c.row.op == wire.ImagePublicGet {
		return "python-3.13"
	}
	return "ANY"
}

// calm ends the faults of this cell, before anything is looked at.
func (c *cell) calm(t *testing.T) {
	t.Helper()
	c.other.calm(t)
}

// judge holds a cell to the promises of the client.
func (c *cell) judge(t *testing.T, col faultColumn, err error, requests int) {
	t.Helper()
	where := c.row.op.String() + ", " + col.name
	safe := c.row.op.Operation().Repeat == wire.RepeatSafe
	e := acasapi.ErrorOf(err)
	switch {
	case err == nil && col.permanent:
		t.Errorf("%s: passed", where)
	case err != nil && e == nil:
		t.Errorf("%s: %v is not what the service said", where, err)
	case err != nil && sandbox.RefusalOf(err) == nil:
		t.Errorf("%s: %v is no refusal", where, err)
	case err != nil && !col.permanent && (safe || !c.row.runs) && !(c.row.op == wire.FileRead && col.name == "cut in mid answer"): // handed over already
		t.Errorf("%s: %v, though it passes", where, err)
	case err != nil && (e.ClientRequestID == "" || (e.Status != 0 && e.RequestID == "")):
		t.Errorf("%s: no correlation in %v", where, err)
	}
	if c.row.runs && requests > 1 && !strings.HasPrefix(col.spec, "status=403") && col.name != "403 for ever" {
		t.Errorf("%s: what runs was sent %d times", where, requests)
	}
	if _, sum := c.clock.waited(); sum > 20*time.Minute {
		t.Errorf("%s: waited %s", where, sum)
	}
}

func verdict(err error, requests int) string {
	times := ""
	if requests != 1 {
		times = fmt.Sprintf(", %d requests", requests)
	}
	switch r := sandbox.RefusalOf(err); {
	case r != nil:
		return "refused: " + strings.TrimPrefix(string(r.Code), "service.") + times
	case err != nil:
		return "failed" + times
	case requests > 1:
		return fmt.Sprintf("repeated, %d requests", requests)
	default:
		return "done"
	}
}

func TestEveryFaultOfEveryOperationIsRetriedRefusedOrRecovered(t *testing.T) {
	t.Parallel()
	onEach(t, how{loosePorts: true}, everyFault)
}

func everyFault(t *testing.T, o *other) {
	t.Helper()
	var page strings.Builder
	page.WriteString(faultHead)
	page.WriteString("| operation |")
	for _, col := range faultColumns {
		page.WriteString(" " + col.name + " |")
	}
	page.WriteString("\n|" + strings.Repeat("---|", len(faultColumns)+1) + "\n")
	for _, row := range faultRows() {
		page.WriteString("| `" + row.op.String() + "` |")
		for _, col := range faultColumns {
			c := &cell{world: newWorld(t, o), row: row}
			c.s = c.sandbox(t)
			page.WriteString(" " + c.measure(t, col) + " |")
			c.Close()
		}
		page.WriteString("\n")
	}
	page.WriteString(endings(t, o))
	if *update {
		if err := os.WriteFile(faultPage, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(faultPage)
	if err != nil || string(want) != page.String() {
		t.Errorf("%s is not what was measured; run the test with -update and read the difference (%v)", faultPage, err)
	}
}

const faultHead = `# Faults

What the client does when the service misbehaves, measured against this module's own emulator and, where there is one, against a second server
that was written by somebody else: both have to give this page. Written by
` + "`go test -run TestEveryFault -update`" + `; the test fails when this page is not what it measures. After every cell the group is
looked at: nothing was made twice, nothing was left behind by what failed, and no command ran twice.

Requests are counted as they arrived. *done*: one request, as if nothing were wrong. *repeated*: the same request again, which is safe for what reads or names what it writes,
and for a 403. Where something is made, requests after the first are sent only when a look by the marker label found nothing; "done" under a
lost answer means that the look found what the lost request had made. *refused*: an error of that code.

`

// endings is what becomes of things that the service takes and does not finish.
func endings(t *testing.T, o *other) string {
	t.Helper()
	var page strings.Builder
	page.WriteString("\n## What never gets ready\n\n| what | the service | the client | left behind |\n|---|---|---|---|\n")
	for _, e := range []struct {
		what, how, fault string
		run              func(context.Context, *cell) error
	}{
		{"sandbox", "stays in Creating", "sandbox=stuck,method=PUT,path=*/sandboxes", func(ctx context.Context, c *cell) error {
			return second(c.g.CreateSandbox(ctx, smallest(), acasapi.Making{}))
		}},
		{"sandbox", "ends in Failed", "sandbox=failed,method=PUT,path=*/sandboxes", func(ctx context.Context, c *cell) error {
			return second(c.g.CreateSandbox(ctx, smallest(), acasapi.Making{}))
		}},
		{"disk image", "builds for 20 looks", "image=slow:20,method=PUT,path=*/diskimages", makeImage},
		{"disk image", "stays in Building", "image=stuck,method=PUT,path=*/diskimages", makeImage},
		{"disk image", "ends in Failed", "image=fail,method=PUT,path=*/diskimages", makeImage},
		{"group", "an operation that never ends", "arm=stuck,method=PUT", func(ctx context.Context, c *cell) error {
			return second(c.PutGroup(ctx, groupID(c.name), wire.Group{Location: "swedencentral"}, acasapi.Wait{}))
		}},
		{"group", "an operation that fails", "arm=fail,method=PUT", func(ctx context.Context, c *cell) error {
			return second(c.PutGroup(ctx, groupID(c.name), wire.Group{Location: "swedencentral"}, acasapi.Wait{}))
		}},
		{"group deletion", "an operation that never ends", "arm=stuck,method=DELETE", func(ctx context.Context, c *cell) error {
			return c.DeleteGroup(ctx, groupID(c.name), acasapi.Wait{})
		}},
		{"group deletion", "an operation that fails", "arm=fail,method=DELETE", func(ctx context.Context, c *cell) error {
			return c.DeleteGroup(ctx, groupID(c.name), acasapi.Wait{})
		}},
	} {
		c := &cell{world: newWorld(t, o)}
		c.s = c.sandbox(t)
		before := c.look(t)
		o.fault(t, e.fault)
		err := e.run(t.Context(), c)
		c.calm(t)
		after := c.look(t)
		left := "nothing"
		if err == nil {
			left = "what was asked for"
		} else if after != before {
			t.Errorf("%s that %s: the group holds %+v, not %+v", e.what, e.how, after, before)
		}
		fmt.Fprintf(&page, "| %s | %s | %s | %s |\n", e.what, e.how, verdict(err, 1), left)
		c.Close()
	}
	return page.String()
}

type faultRow struct {
	op     wire.Op
	before func(context.Context, *cell) error
	run    func(context.Context, *cell) error
	// leaves is what a success adds to the group.
	leaves func(*state)
	// runs marks what must never be sent twice.
	runs bool
}
