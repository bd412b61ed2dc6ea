package provider

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/auth"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const (
	// defaultStatePath is the embedded service's file, from Terraform's directory.
	defaultStatePath = ".sandbox/state.db"
	// embeddedEndpoint is reserved never to resolve: nothing outside this process
	// reaches the embedded service, and nobody takes its groups for Azure's.
	embeddedEndpoint = "https://embedded.invalid"

	embeddedSubscription  = "00000000-0000-0000-0000-000000000000"
	embeddedResourceGroup = "embedded"
	embeddedLocation      = "local"
)

// newEmbedded is a home in a file of this machine. The emulator touches the file
// when it is first asked.
func newEmbedded(path string, faults []string, clock acasapi.Clock) *home {
	if path == "" {
		path = filepath.FromSlash(defaultStatePath)
	}
	h := &home{subscription: embeddedSubscription, resourceGroup: embeddedResourceGroup, location: embeddedLocation, file: path}
	h.open = sync.OnceValues(func() (acasapi.Config, error) {
		// No pace: what the service takes minutes for is done at once.
		cfg := acasemu.Config{State: path, Pace: &acasemu.Pace{}, Faults: faults}
		if clock != nil {
			cfg.Clock = clock
		}
		emulator, err := acasemu.New(cfg)
		if err != nil {
			return acasapi.Config{}, sandbox.Finding{
				Code: sandbox.CodeInvalidText, Subject: "provider block embedded", Found: err.Error(),
				Required: "faults in the notation of sandboxctl emulate", Remedy: "correct embedded.faults",
			}.Refusal(err)
		}
		return acasapi.Config{
			ARMEndpoint: embeddedEndpoint, DataEndpoint: embeddedEndpoint, ExactEndpoints: []string{embeddedEndpoint},
			Transport: &inFolder{path: filepath.Dir(path), next: emulator.Transport()}, Credential: auth.Emulator{}, Clock: clock, UserAgent: userAgent,
		}, nil
	})
	return h
}

// inFolder makes the folder of the state file for the first request: a plan that asks
// nothing leaves nothing behind.
type inFolder struct {
	path string
	once sync.Once
	err  error
	next *acasemu.Transport
}

// Do answers a request.
func (f *inFolder) Do(r *http.Request) (*http.Response, error) {
	f.once.Do(func() {
		if err := os.MkdirAll(f.path, 0o700); err != nil {
			f.err = fmt.Errorf("make the folder of the embedded service's file: %w", withoutPath(err))
		}
	})
	if f.err != nil {
		return nil, f.err
	}
	return f.next.Do(r)
}

// lost reports, once, that the file in which Terraform's objects were made is not
// there: then nothing was deleted, and every object would seem so.
func (h *home) lost() (gone, tell bool) {
	if h.file == "" {
		return false, false
	}
	if _, err := os.Stat(h.file); !errors.Is(err, fs.ErrNotExist) {
		return false, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	tell = !h.told
	h.told = true
	return true, tell
}

// lostFinding says which file is missing.
func (h *home) lostFinding() sandbox.Finding {
	return sandbox.Finding{
		Code: sandbox.CodeRemoteStateFile, Found: "no file " + sandbox.Echo(h.file), Required: "the file in which the objects of this state were made",
		Remedy: "restore it, or name it in embedded.path; to begin anew, remove the objects from Terraform's state with terraform state rm",
	}
}

// withoutPath is an error of the file system without the path, which is said already
// or is nobody's business.
func withoutPath(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}
