// Package unfinished remembers, on this machine's disk, what a provider set out to
// make and Terraform may not have put into its state: a process that is killed takes
// everything else that it knew with it.
//
// A [Journal] is a folder with a file for each process that makes something. A file
// is locked for as long as its process lives, so what a locked one holds is somebody
// else's affair, and what one that is not locked holds was left by a process that
// ended without a word. A process that ends in order forgets what it has made, since
// Terraform has written that down before it lets a provider go.
//
// The folder lies in a working directory, where others put files too: who proposes a
// change to a repository chooses what is in its check-out. So each line is signed with
// a key that lies in the user's own folder, for the one place it was written at, and
// whatever is not so signed is as good as not there.
//
// It knows nothing of the service and decides nothing: whether an object that exists
// is the one that was begun is for the caller to see, by its mark.
//
// Read [Creation], [Journal.Begin] and [Journal.Take].
package unfinished
