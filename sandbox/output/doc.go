// Package output takes declared outputs from a sandbox to a place of the host:
// declare, collect, land. It discovers nothing, decides nowhere where bytes go (a
// [Sink] does) and lets nothing cross half-way: names are judged before the guest
// is asked, all files are looked at before one is read, and what was read becomes
// visible only when all of it is there.
//
// Read [Collect] first, then [Sink] and [NewDirSink]. Object stores are landed in by
// package objectsink.
package output
