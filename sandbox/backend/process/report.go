package process

import (
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/egressproxy/egresstrial"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Report is what a machine was seen to enforce.
type Report struct {
	// Declarations rest on the checks: the rung is container when every check
	// held, and os_process when limits are missing.
	Declarations sandbox.Declarations
	Checks       []Check
	// Egress is what was tried of sandboxes with an allowlist. The rung does not
	// depend on it; the egress modes and guarantees do.
	Egress []Check

	walls []egresstrial.Wall
}

// Check is one thing that was tried.
type Check struct {
	// Name is what was tried, Shown what was seen.
	Name, Shown string
	// Held says whether the machine did its part, and Remedy what would make it.
	Held   bool
	Remedy string
}

// held reports whether every check did.
func (r *Report) held() bool {
	for _, c := range r.Checks {
		if !c.Held {
			return false
		}
	}
	return true
}

func (r *Report) add(name string, held bool, shown, remedy string) {
	if held {
		remedy = ""
	}
	r.Checks = append(r.Checks, Check{Name: name, Shown: shown, Held: held, Remedy: remedy})
}

// reference tells in one line what was seen, what keeps the rung down, and what
// egress lacks.
func (r *Report) reference(version string) string {
	seen, missing := []string{"probed at start: " + version}, []string{}
	for _, c := range r.Checks {
		if c.Held {
			seen = append(seen, c.Name+" ("+c.Shown+")")
			continue
		}
		missing = append(missing, c.Name+": "+c.Shown+"; to have it, "+c.Remedy)
	}
	for _, c := range r.Egress {
		if !c.Held {
			missing = append(missing, "not of the rung, but of egress: "+c.Name+": "+c.Shown+"; to have it, "+c.Remedy)
		}
	}
	return strings.Join(append(seen, missing...), "; ")
}

// declare says of the machine what the checks bear out.
func (r *Report) declare(config Config, version string) {
	d := Declarations()
	d.Isolation = sandbox.IsolationOSProcess
	switch {
	case r.held() && config.Runtime == RuntimeGVisor:
		d.Isolation = sandbox.IsolationHardenedContainer
	case r.held():
		d.Isolation = sandbox.IsolationContainer
	}
	if config.Images != nil {
		// Paths are resolved by the kernel in one step, without a link.
		d.WriteAuthority = sandbox.WriteAuthorityRootConfined
		d.ImageSources = sandbox.SetOf(sandbox.ImageSources()...)
	}
	d.IsolationEvidence = sandbox.Evidence{Kind: sandbox.EvidenceProbed, Reference: r.reference(version)}
	r.declareEgress(&d)
	ceiling := sandbox.DefaultTransferLimits()
	for _, stated := range []**sandbox.TransferLimits{&d.FilesIn, &d.FilesOut} {
		limits := (*stated).Or(ceiling)
		limits.MaxBytesPerFile = min(limits.MaxBytesPerFile, config.WorkBytes)
		limits.MaxTotalBytes = min(limits.MaxTotalBytes, config.WorkBytes)
		*stated = &limits
	}
	r.Declarations = d
}
