// Package egresstrial tries what an egress proxy and the sandbox around it
// enforce: from inside a guest, against an internet that exists in this process
// only. Each wall is tried with an allowed neighbour one step away, so that a
// proxy which refuses everything, or which is not there, passes no trial.
//
// It opens nothing to any network and takes no guest's word: a wall held if the
// guest was refused and the internet heard nothing.
//
// Start with [New]: a [Trial] is the internet, to be given to the proxy, and the
// rules of the sandbox; [Trial.Run] tries the walls.
package egresstrial
