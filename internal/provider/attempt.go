package provider

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/unfinished"
)

// attempt is one creation of an object, and what ended processes left of earlier
// ones: an object that is there already may be theirs, and is then taken over instead
// of standing in the way. See docs/decisions/0014.
type attempt struct {
	journal *unfinished.Journal
	clock   acasapi.Clock
	wait    acasapi.Wait
	// object is what creations of the same are written down under.
	object string

	// since is when an object that can carry no mark was not there, by the service's
	// clock.
	since time.Time

	// creation is what stands written down now; without a mark nothing does.
	creation unfinished.Creation
	// resumed says that creation is an earlier one, whose object was found.
	resumed bool
	earlier []unfinished.Creation
}

// begin writes the creation down, before the service is asked, and gives the mark that
// the object is to carry. A disk that takes nothing keeps nobody from creating.
func (a *attempt) begin(ctx context.Context) (mark string) {
	a.creation = unfinished.Creation{Object: a.object, Mark: rand.Text(), Begun: a.since}
	a.note(ctx, a.journal.Begin(a.creation))
	return a.creation.Mark
}

// resumes reports that an object which is there was made by an earlier creation that
// nobody finished: one for which proves holds.
func (a *attempt) resumes(ctx context.Context, proves func(unfinished.Creation) bool) bool {
	for _, c := range a.earlier {
		if proves(c) {
			a.creation, a.resumed = c, true
			return true
		}
	}
	for _, wait := range []bool{false, true} {
		for c := range a.left(ctx, wait) {
			if proves(c) {
				a.creation, a.resumed = c, true
				return true
			}
		}
	}
	return false
}

// marked is the proof of an object that carries this mark.
func marked(mark string) func(unfinished.Creation) bool {
	return func(c unfinished.Creation) bool { return mark != "" && c.Mark == mark }
}

// overwritten reports that somebody else made the object at the same time: the service
// keeps the last of what it is given under one name, and whoever is not this provider
// gives no mark.
func (a *attempt) overwritten(labels map[string]string) bool {
	return labels[acasapi.MarkerLabel] != a.creation.Mark
}

// left gives what ended processes left, one by one.
func (a *attempt) left(ctx context.Context, wait bool) func(func(unfinished.Creation) bool) {
	return func(yield func(unfinished.Creation) bool) {
		for {
			c, found, err := a.journal.Take(ctx, a.object, wait)
			a.note(ctx, err)
			if !found {
				return
			}
			a.earlier = append(a.earlier, c)
			if !yield(c) {
				return
			}
		}
	}
}

// readBack bounds the look after something that was interrupted.
const readBack = 30 * time.Second

// afterwards looks, after a failure that may have made the object, whether it exists:
// the caller's own context may have ended. The service goes on with what it was asked
// after its client went away, so one look may be too early.
func (a *attempt) afterwards(ctx context.Context, failed error, look func(context.Context) error) (made bool) {
	if refused(failed) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readBack)
	defer cancel()
	for pause := 500 * time.Millisecond; pause <= 8*time.Second; pause *= 2 {
		if look(ctx) == nil {
			return true
		}
		if a.clock.Sleep(ctx, pause) != nil {
			return false
		}
	}
	return look(ctx) == nil
}

// end writes down what came of it. What may or may not have been made stays written
// down, for the next process to find.
func (a *attempt) end(ctx context.Context, made bool, id string, err error) {
	_, exists := errors.AsType[*existsError](err)
	if !made && (a.resumed || (!exists && !refused(err))) {
		return
	}
	for _, c := range a.earlier {
		if c.Mark != a.creation.Mark {
			a.note(ctx, a.journal.Drop(c.Mark))
		}
	}
	switch {
	case made:
		a.note(ctx, a.journal.Made(a.creation, id))
	case a.creation.Mark != "":
		a.note(ctx, a.journal.Drop(a.creation.Mark))
	}
}

// note tells the log of a disk that fails: what is lost is only that a killed apply
// is taken up again by itself.
func (a *attempt) note(ctx context.Context, err error) {
	if err != nil {
		tflog.Warn(ctx, "creations are not written down", map[string]any{"error": err.Error()})
	}
}
