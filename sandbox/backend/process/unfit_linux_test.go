package process

import (
	"errors"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestAMachineWithoutSandboxesIsToldWhatItLacks(t *testing.T) {
	t.Parallel()
	for said, remedy := range map[string]string{
		`bubblewrap says "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"`:                  "/proc is not masked",
		`bubblewrap says "bwrap: No permissions to create a new namespace"`:                                    "user namespaces",
		`bubblewrap says "bwrap: setting up uid map: Permission denied"`:                                       "user namespaces",
		`bubblewrap says "bwrap: Creating new namespace failed: Operation not permitted"`:                      "user namespaces",
		`bubblewrap ended before it made process 1; bubblewrap says "bwrap: Can't find source path /usr/lib3"`: "underlying error",
	} {
		err := unfit(errors.New(said))
		if !errors.Is(err, sandbox.CodeBackendUnfit) || !strings.Contains(sandbox.RefusalOf(err).Remedy, remedy) {
			t.Errorf("%s: %v", said, err)
		}
	}
}
