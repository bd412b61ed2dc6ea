package main

import (
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/cli"
)

func backends() map[string]cli.Backend { return map[string]cli.Backend{} }

func guests() map[string]string { return map[string]string{} }
