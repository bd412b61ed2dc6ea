package cli

import (
	"errors"
	"fmt"
	"os"
	"path"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/learn"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress/eventlog"
)

// eventFile is a new file for what the proxies of a run decide.
type eventFile struct {
	file *os.File
	log  *eventlog.Writer
}

// createEvents makes the file, where nothing may stand.
func createEvents(name string) (*eventFile, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, os.ErrExist):
		return nil, badInput("--events %s: it is there already, and nothing is overwritten; name a new file", sandbox.Echo(name))
	case err != nil:
		return nil, badInput("--events %s: %w", sandbox.Echo(name), withoutPath(err))
	}
	return &eventFile{f, eventlog.NewWriter(f, eventlog.Options{})}, nil
}

// closeEvents ends the file. One that is empty after a run that failed goes, so that
// the next try finds its place free.
func (a *app) closeEvents(f *eventFile, failed error) error {
	allowed, refused := f.log.Untold()
	err := errors.Join(f.log.Close(), f.file.Sync())
	info, statErr := f.file.Stat()
	err = errors.Join(err, statErr, f.file.Close())
	switch {
	case err != nil || info.Size() > 0:
	case failed != nil:
		err = os.Remove(f.file.Name())
	default:
		fmt.Fprintln(a.errs, "sandboxctl: there are no events; a workload that is closed has no proxy that could tell, and learn --run gives it one")
	}
	if allowed+refused > 0 {
		fmt.Fprintln(a.errs, "sandboxctl: the events of "+show.Count(int64(min(allowed+refused, 1<<62)))+
			" decisions were too many for the file, and stand in it as a sum")
	}
	if err != nil {
		return badInput("write --events: %w", withoutPath(err))
	}
	return nil
}

// watchers are the observers of the sandboxes of one run. Nothing else was started in
// them than the program, so that the events are its own and its children's.
func (o runOptions) watchers(backend string, args []string) func(id string) egress.Observer {
	return func(id string) egress.Observer {
		return watcher{
			of: eventlog.Entry{
				Sandbox: eventlog.Sandbox{Workload: o.workload, Backend: backend, ID: id}, Program: path.Base(args[0]),
			},
			tell: o.watch,
		}
	}
}

// watches reports whether the workload's sandboxes have proxies that can be heard.
func (a *app) watches(in run, o runOptions) bool {
	spec, known := unjudged(in.document, o.workload)
	b, ok, err := a.backend(a.backendFor(in.document, o))
	return known && spec.Egress.Mode == sandbox.EgressAllowlist && ok && err == nil && b.Watch != nil
}

// refusals counts what the proxy of a run refused. Its memory is bounded.
type refusals struct {
	mu    sync.Mutex
	tally learn.Tally
}

func (r *refusals) note(e eventlog.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tally.Add(e)
}

// maxRefused is how many refused requests are shown after a run.
const maxRefused = 10

// printRefused says what the proxy refused, once nothing more can come: a program that
// lacks a host often only says that something went wrong. JSON is printed with it.
func (a *app) printRefused(o runOptions, refused *refusals) error {
	refused.mu.Lock()
	defer refused.mu.Unlock()
	list, beside := refused.tally.Refused(maxRefused)
	if a.format == "json" {
		o.ran.DecisionsLost = refused.tally.Lost()
		if o.ran.Refused, o.ran.RefusedBeside = list, beside; !o.ran.happened {
			return nil
		}
		return a.printJSON(o.ran)
	}
	page := show.NewPage(0, len("refused "))
	for _, r := range list {
		text := r.Request + ", " + show.Times(r.Count) + ", " + string(r.Code)
		if r.Change != "" {
			text += ": " + r.Change
		}
		page.Line("refused " + text) // unbroken, to be pasted
	}
	if beside > 0 {
		page.Row("refused", "others, "+show.Times(beside))
	}
	if lost := refused.tally.Lost(); lost > 0 {
		page.Row("note", learn.LostText(lost))
	}
	if len(list) > 0 || beside > 0 {
		page.Row("", o.learning())
	}
	fmt.Fprint(a.errs, page.String())
	return nil
}

// learning is how to get from refusals to an allowlist.
func (o runOptions) learning() string {
	if o.events != "" {
		return "for the whole list: sandboxctl learn " + o.events + " --manifest " + o.manifest + " --workload " + o.workload
	}
	return "for the whole list run it again as sandboxctl learn --run, or with --events FILE for sandboxctl learn FILE"
}

// watcher puts the sandbox and the program beside each event.
type watcher struct {
	of   eventlog.Entry
	tell []func(eventlog.Entry)
}

func (w watcher) Observe(e egress.Event) {
	entry := w.of
	entry.Event = e
	for _, tell := range w.tell {
		tell(entry)
	}
}
