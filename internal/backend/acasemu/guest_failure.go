package acasemu

import (
	"context"
	"errors"
	"net/http"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// guestFailure is what the service would answer where a guest answers err. None of
// the statuses is one that clients repeat by themselves, except where the guest
// itself is the trouble.
func (e *Emulator) guestFailure(ctx context.Context, c *call, id string, err error) error {
	for _, known := range []struct {
		err    error
		status int
		code   string
		detail string
	}{
		{engine.ErrNotExist, http.StatusNotFound, "FileNotFound", "nothing stands at the path"},
		{engine.ErrNotDirectory, http.StatusNotFound, "FileNotFound", "a component of the path is not a directory"},
		{engine.ErrIsDirectory, http.StatusBadRequest, "IsDirectory", "the path is a directory"},
		{engine.ErrNotRegular, http.StatusBadRequest, "NotAFile", "the path is not a regular file"},
		{engine.ErrThroughLink, http.StatusBadRequest, "TooManyLinks", "the path goes through too many links"},
		{engine.ErrNoSpace, http.StatusConflict, "DiskFull", "the sandbox's disk is full"},
		{engine.ErrPermission, http.StatusBadRequest, "NotPermitted", "the guest's file system declined"},
		{engine.ErrSize, http.StatusBadRequest, "InvalidRequestContent", "the body did not arrive whole"},
	} {
		if errors.Is(err, known.err) {
			return refuse(known.status, known.code, "%s", known.detail)
		}
	}
	if !errors.Is(err, engine.ErrGone) {
		return err
	}
	// A guest may be gone because its sandbox was stopped or deleted meanwhile.
	f, look := e.sandbox(ctx, c)
	switch {
	case look != nil:
		return look
	case !wire.SameState(f.sandbox.Doc.State, wire.StateRunning):
		return notRunning(id, wire.TitleNotRunning)
	}
	_, failed := e.change(ctx, c, false, func(_ *store.Tx, f *found) error {
		f.sandbox.Doc.State, f.sandbox.Pending = wire.StateFailed, nil
		return nil
	})
	return errors.Join(notRunning(id, wire.TitleNotRunning), failed)
}
