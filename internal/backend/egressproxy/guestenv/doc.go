// Package guestenv says what programs of a sandbox are told of its egress proxy:
// the variables that name the proxy, and the files with the certificates that they
// are to trust where TLS is opened. It makes text and bytes; it sets no variable,
// writes no file and decides nothing about what may be reached.
//
// Nothing here confines anybody: a program that ignores all of it reaches nothing.
//
// Start with [Proxy] and [Trust].
package guestenv
