// Package wire is the contract of Azure Container Apps Sandboxes as data: the
// table of operations with the verb and the path each api-version gives them, and
// the documents that travel. The client speaks it and the emulator answers in it,
// so the two cannot drift apart.
//
// It sends nothing, keeps nothing and decides nothing. Its documents are not the
// vocabulary of this module and not a Terraform model: whoever needs one of those
// maps it at its own boundary.
//
// Read [Op] and its table first, then [Decode] for how strictly answers are read.
package wire
