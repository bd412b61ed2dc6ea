// Package eventlog keeps the decisions of sandboxes' proxies as lines of JSON, and
// reads them again: the input of `sandboxctl learn` and `sandboxctl why`.
//
// A line is an [Entry]: one [egress.Event], and of whose sandbox and program it is,
// as far as the host knows. [Writer] is an [egress.Observer] that writes them,
// [Reader] reads them one by one. What stands in an entry is what a guest asked for:
// it is bounded and well formed, and nothing else about it is to be believed.
//
// The package opens no files and rotates none, and never writes more than it was
// told it may.
package eventlog
