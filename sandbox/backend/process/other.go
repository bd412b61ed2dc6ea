//go:build !linux

package process

import (
	"context"
	"runtime"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend"
)

// New refuses with [sandbox.CodeBackendUnfit]: sandboxes are made of what only
// the Linux kernel has.
func New(context.Context, Config, ...backend.Option) (*backend.Backend, error) {
	return nil, notHere()
}

// Probe refuses as [New] does.
func Probe(context.Context, Config) (Report, error) { return Report{}, notHere() }

func notHere() error {
	return sandbox.Finding{
		Code: sandbox.CodeBackendUnfit, Found: "backend process on " + runtime.GOOS,
		Required: "Linux", Remedy: "use the docker or the wasm backend on this system",
	}.Refusal(nil)
}
