package main

import (
	"context"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/wasmguest"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/wasm"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/router"
)

// backends are those that need nothing installed.
func backends() map[string]cli.Backend {
	return map[string]cli.Backend{
		wasm.Name: {Declarations: wasm.Declarations, Start: startWASM},
	}
}

func startWASM(notice func(string)) (router.Backend, func(context.Context) error, error) {
	b, err := wasm.New(wasm.Config{Notice: notice})
	if err != nil {
		return nil, nil, err
	}
	return b, b.Close, nil
}

// guests are the digests of the guests in this binary, unpacked.
func guests() map[string]string {
	return map[string]string{"javascript": "sha256:" + wasmguest.RawSHA256}
}
