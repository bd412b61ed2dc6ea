// Package filelock locks open files among processes. It opens nothing and decides
// nothing: a file is opened by who knows how it may be, and is unlocked by closing it.
//
// No kept library is used: those that there are open a path, and these files are
// opened beneath an [os.Root], or without following a link.
//
// Read [Try].
package filelock
