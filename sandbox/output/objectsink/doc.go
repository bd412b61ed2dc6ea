// Package objectsink lands outputs in an object store. It knows none: a [Store] is
// what it asks of one, and a package per store answers it.
//
// Object stores have no rename, so a landing becomes visible through an index. The
// objects of a landing have names of their own that nothing else ever uses; the last
// thing written, under a condition, is the index of the call, which says under which
// name each of them landed. Who reads through the index, with [Sink.Landed], sees all
// of a landing or nothing, also where it replaces an earlier one. Who lists the store
// instead can see objects of a landing whose index is not written yet, and those that
// a host left behind when it died between the two. Such objects are never read as
// outputs, count against the quota, and go when a host calls [Sink.Sweep].
//
// Read [Sink] first, then [Store].
package objectsink
