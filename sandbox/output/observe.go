package output

import (
	"context"
	"errors"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// OutputsCollected tells of one collection, however it ended. It holds names, sizes
// and handles, and no content.
type OutputsCollected struct {
	Origin Origin
	// Declared counts the outputs that were meant, those named at call time among
	// them; Present those that were there when they were looked at and could land.
	Declared, Present int
	// Limits are those that it was held to.
	Limits sandbox.TransferLimits
	// Landed is what landed: all of it, or nothing.
	Landed []Landed
	// Refusal is the code of what went wrong. It is empty on success, and when the
	// caller cancelled or a sink answered no refusal: Failed says so.
	Refusal sandbox.Code
	Failed  bool
	// Cancelled: the caller's context ended it.
	Cancelled bool
}

// Observed has the function told of the collection when it is over, success or not,
// by the calling goroutine.
func Observed(observe func(OutputsCollected)) CollectOption {
	return func(c *collection) { c.observe = observe }
}

func (c *collection) record(landed []Landed, err error) OutputsCollected {
	record := OutputsCollected{
		Origin: c.origin(), Declared: len(c.spec.Outputs) + len(c.named), Present: c.found,
		Limits: c.spec.FilesOut.Or(sandbox.DefaultTransferLimits()), Landed: landed, Failed: err != nil,
		Cancelled: errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded),
	}
	if refusal := sandbox.RefusalOf(err); refusal != nil {
		record.Refusal = refusal.Code
	}
	return record
}
