// Package store keeps documents in one file that several processes share. The file
// is opened for the time of a transaction and let go again, so that no process
// keeps another waiting for longer than its own transactions take; who cannot get
// it within a bound is told so.
//
// Changes that arrive together are committed together: one flush to the disk
// serves them all. A change that returns an error leaves nothing.
//
// What must not stand in a file in clear is sealed with a key that lies beside it,
// see [Tx.Seal]: the file alone, copied or committed by mistake, gives no secret
// away. Whoever can read both can read all of it.
//
// Read [Store.View] and [Store.Update], then [Get] and [Put].
package store
