package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// errTold is a problem that another object has told already, for all.
var errTold = errors.New("told already")

// spoiledError is an object that is there and is no use to anybody: it leaves the state,
// so that the next plan makes another one.
type spoiledError struct{ object, why string }

func (e *spoiledError) Error() string { return e.object + " is of no use: " + e.why }

// look reads the object. gone is a 404 that was confirmed: the service that answers
// "not found" may be the wrong one, or not have heard of the object yet, and what it
// does not find would be made a second time.
func (r *remoteResource[M]) look(ctx context.Context, m *M) (gone bool, err error) {
	// Before the first question, which would make an empty file in its place.
	if lost, tell := r.home.lost(); lost {
		if !tell {
			return false, errTold
		}
		return false, r.home.lostFinding().Refusal(nil)
	}
	err = r.kind.read(ctx, r.home, m)
	if !errors.Is(err, sandbox.CodeServiceNotFound) {
		return false, err
	}
	group := r.kind.header(m).group
	if group == nil {
		again := r.kind.read(ctx, r.home, m)
		if errors.Is(again, sandbox.CodeServiceNotFound) && vanished(again) {
			return true, nil
		}
		return false, again
	}
	switch gone, err := r.home.groupGone(ctx, *group); {
	case err != nil:
		return false, err
	case gone:
		return true, nil // it went with its group
	}
	there, err := r.kind.listed(ctx, r.home, m)
	if err != nil {
		return false, fmt.Errorf("see whether the group still has it: %w", err)
	}
	if there {
		return false, r.kind.read(ctx, r.home, m)
	}
	return true, nil
}

// groupGone reports that ARM says the group does not exist. Who may not ask ARM does
// not know, and hears of it from the group's list.
func (h *home) groupGone(ctx context.Context, id acasapi.GroupID) (bool, error) {
	client, err := h.prompt()
	if err != nil {
		return false, err
	}
	_, err = client.GetGroup(ctx, id)
	switch {
	case err == nil, errors.Is(err, sandbox.CodeServiceForbidden):
		return false, nil
	case errors.Is(err, sandbox.CodeServiceNotFound) && vanished(err):
		h.forget(id)
		return true, nil
	default:
		return false, err
	}
}

// vanished reports that ARM knows the place and says that the thing is not in it. A
// subscription that is not found may be one that the signed-in identity cannot see.
func vanished(err error) bool {
	said := acasapi.ErrorOf(err)
	return said != nil && (said.Code == "ResourceNotFound" || said.Code == "ResourceGroupNotFound")
}

// refused reports an error after which nothing was made: the request that makes was
// turned away, and no request before it may have been carried out.
func refused(err error) bool {
	if acasapi.MayHaveRun(err) {
		return false
	}
	for _, code := range []sandbox.Code{
		sandbox.CodeServiceInvalid, sandbox.CodeServiceConflict, sandbox.CodeServiceForbidden, sandbox.CodeServiceUnauthenticated,
		sandbox.CodeServiceNotFound, sandbox.CodeServiceThrottled, sandbox.CodeCredentialFailed, sandbox.CodeCredentialInvalid,
		sandbox.CodeEndpointNotAllowed, sandbox.CodeInvalidText, sandbox.CodeServiceNoOperation,
	} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}
