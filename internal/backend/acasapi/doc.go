// Package acasapi speaks to Azure Container Apps Sandboxes: the ARM plane, where
// groups live, and the data plane of one group, where everything else does.
//
// It never guesses. A token goes to allowlisted hosts only; an answer that lacks
// what everything rests on is refused; a request that makes or runs something is
// not sent twice, and what became of a lost one is looked up by a label instead.
// What fails after something was made removes it again. It follows no redirect,
// buffers no file, logs nothing and keeps no secret in an error.
//
// It holds no policy, no owner and no Terraform: package sandbox/backend/acas
// confines, the provider declares. The documents it sends and receives are those of
// package wire, which the emulator shares.
//
// Read [Config] and [New] first, then [Client] for the ARM plane and [Group] and
// [Sandbox] for the data plane. Every error is a [sandbox.Refusal]; what the service
// itself said is the [Error] below it.
package acasapi
