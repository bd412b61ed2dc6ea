package cli

import (
	"errors"
	"fmt"
	"os"
	"path"

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
	if err == nil && failed != nil && info.Size() == 0 {
		err = os.Remove(f.file.Name())
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
