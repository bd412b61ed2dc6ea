package provider

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

var (
	errNotRegular = errors.New("not a regular file")
	errTooLarge   = fmt.Errorf("larger than %d bytes", manifest.MaxDocument)
)

// readPolicyFile reads a policy file. A path can come from the configuration
// that is planned, so what would block or never end is refused: a pipe, a
// device, a file larger than any document.
func readPolicyFile(name string) ([]byte, error) {
	// Looked at before it is opened: opening a pipe waits for its other end.
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	document, err := io.ReadAll(io.LimitReader(f, manifest.MaxDocument+1))
	if err != nil {
		return nil, err
	}
	if len(document) > manifest.MaxDocument {
		return nil, errTooLarge
	}
	return document, nil
}
