// Package acasemu is Azure Container Apps Sandboxes on one machine: both planes of
// the service, answered as its clients were seen to need them, over a state file
// and whatever runs the guests.
//
// Its routes are the client's own table of operations (package wire), so the two
// cannot drift apart. Quirks of the service are kept, because the layers above are
// to be tested against the hazards that are really there: deletion takes its time,
// the file plane follows links, lists have no keys. What the service was not seen
// to do is not invented.
//
// It confines nothing and decides nothing about policies. It is no security
// boundary either: whoever reaches it and can make up a token can do everything,
// which is why package listener offers it to this machine only unless it is given tokens.
//
// Read [Config] and [New]; package listener puts it behind a port. [Guests] is the
// door behind which sandboxes run, [NoGuests] what stands there when none do.
package acasemu
