// Package imageregistry asks a registry what a reference names: the digest, the
// platforms behind it, and the user that each is configured to run as. It reads
// manifests and configurations, never a layer, and writes nothing.
//
// Whoever answers is not trusted. A registry is asked only if it is named
// beforehand; no other host is followed to unless it is named too; addresses that
// only this machine can reach are not dialled, credentials are not looked for and
// TLS is not left out unless that registry's [Access] says so. What is read is
// bounded in bytes, requests, platforms and time, and everything below the first
// manifest is held to its digest.
//
// Read [Access] and [Client.Look] first; guard.go is where every request passes.
package imageregistry
