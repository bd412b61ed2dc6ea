// Package operate is what an operator does to a sandbox group from outside: find the
// sandboxes that are too old, remove them and see them gone, and import an image once.
//
// It judges by what the service says and errs towards leaving things: what carries no
// marker of ours is somebody else's, what does not say when it was made is not old,
// and a sandbox is gone only when the group that it was in still answers. It prints
// nothing, and keeps nothing between calls.
//
// Read [Criteria], [Look] and [Remove] first, then [Import].
package operate
