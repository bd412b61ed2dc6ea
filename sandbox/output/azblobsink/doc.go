// Package azblobsink lands outputs in Azure Blob Storage: [Open] makes the store that
// package objectsink asks for, and [New] does from a container client that the host has
// configured. It chooses no credential, no endpoint and no retry policy, creates no
// container and takes no lease.
//
//	store, err := azblobsink.Open("https://ACCOUNT.blob.core.windows.net/CONTAINER", credential, nil)
//	sink, err := objectsink.New(store, objectsink.Options{Prefix: "outputs/"})
//
// The client's principal reads, writes, lists and deletes blobs of that container:
// with a shared access signature, permissions racwdl. What is staged are uncommitted
// blocks, which no reader and no listing shows, and which the service itself removes
// a week after the last was sent; there is no call to remove them earlier.
package azblobsink
