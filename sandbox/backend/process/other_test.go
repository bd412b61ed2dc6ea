//go:build !linux

package process

import (
	"errors"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestOtherSystemsAreToldWhatToUse(t *testing.T) {
	t.Parallel()
	_, err := New(t.Context(), Config{})
	if !errors.Is(err, sandbox.CodeBackendUnfit) || !strings.Contains(sandbox.RefusalOf(err).Remedy, "wasm") {
		t.Error(err)
	}
	if _, err := Probe(t.Context(), Config{}); !errors.Is(err, sandbox.CodeBackendUnfit) {
		t.Error(err)
	}
}
