package provider

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/policy"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

// The environment variables by which a runner imposes a policy on every root
// that it plans, whatever the provider block says.
const (
	envPolicyFile   = "SANDBOX_POLICY_FILE"
	envPolicyDigest = "SANDBOX_POLICY_DIGEST"
)

// platformPolicy is what the provider's configuration imposes on every object. The
// zero value imposes nothing.
type platformPolicy struct {
	// policy is the effective policy, nil when none is imposed or it is not known
	// yet.
	policy *sandbox.Policy
	// open says that the configuration names a policy that is not known yet.
	open bool
	// findings say why what is imposed cannot be used. They are kept here and shown
	// at every object's plan: an error returned while the provider is configured
	// comes with advice that misleads.
	findings []sandbox.Finding
}

// layers are the imposed policies as a decision takes them.
func (g *platformPolicy) layers() []policy.Layer {
	if g == nil || len(g.findings) > 0 {
		return nil
	}
	var layers []policy.Layer
	if g.policy != nil {
		layers = append(layers, policy.Layer{Source: manifest.PlatformPolicy, Policy: *g.policy})
	}
	if g.open {
		nothing := sandbox.Known{}.Unknown(sandbox.FieldPath{})
		layers = append(layers, policy.Layer{Source: manifest.PlatformPolicy, Known: nothing})
	}
	return layers
}

// problems say why what is imposed cannot be used.
func (g *platformPolicy) problems() []sandbox.Finding {
	if g == nil {
		return nil
	}
	return g.findings
}

// effective is the imposed policy as the manifest carries it, nil without one.
func (g *platformPolicy) effective() *sandbox.Policy {
	if g == nil || len(g.findings) > 0 {
		return nil
	}
	return g.policy
}

// policySource is one place that can impose a policy: the provider block or the
// environment.
type policySource struct {
	file, digest string
	// fileName and digestName are what the two settings are called.
	fileName, digestName string
}

// readPlatformPolicy reads what the sources impose. With two of them the strictest of
// each rule holds: the plan judges by that one policy and the manifest carries
// it, so that plan and host agree.
func readPlatformPolicy(sources []policySource, readFile func(string) ([]byte, error)) *platformPolicy {
	g := &platformPolicy{}
	for _, source := range sources {
		imposed, findings := source.read(readFile)
		g.findings = append(g.findings, findings...)
		switch {
		case imposed == nil:
		case g.policy == nil:
			g.policy = imposed
		default:
			both, conflicts := policy.Strictest(*g.policy, *imposed)
			g.policy = &both
			for _, f := range conflicts {
				g.findings = append(g.findings, platformFinding(
					"two imposed policies, with "+f.Path.String()+" "+f.Found, f.Required, "impose only one of the two files"))
			}
		}
	}
	return g
}

func (s policySource) read(readFile func(string) ([]byte, error)) (*sandbox.Policy, []sandbox.Finding) {
	switch {
	case s.file == "" && s.digest == "":
		return nil, nil
	case s.file == "":
		return nil, []sandbox.Finding{platformFinding("a digest without a file", s.fileName+" beside "+s.digestName,
			"set "+s.fileName+", or remove "+s.digestName)}
	}
	document, err := readFile(s.file)
	if err != nil {
		return nil, []sandbox.Finding{platformFinding(fmt.Sprintf("%s: %s", sandbox.Echo(s.file), reason(err)),
			"a policy document that can be read", "check the path, which counts from the directory that Terraform runs in")}
	}
	if digest := string(manifest.DigestOf(document)); s.digest != "" && digest != s.digest {
		return nil, []sandbox.Finding{platformFinding(sandbox.Echo(s.file)+" has digest "+digest,
			sandbox.Echo(s.digest)+", by "+s.digestName,
			"restore the file, or set "+s.digestName+" where the policy was changed on purpose")}
	}
	imposed, err := manifest.ParsePolicy(document)
	if err != nil {
		return nil, s.inside(sandbox.FindingsAt(err, nil))
	}
	return &imposed, nil
}

func platformFinding(found, required, remedy string) sandbox.Finding {
	return sandbox.Finding{Code: sandbox.CodePlatformPolicy, Subject: manifest.PlatformPolicy, Found: found, Required: required, Remedy: remedy}
}

// inside reports what is wrong inside the file. The path lies in the file, not
// in the object at which this is shown, so it stands in the text.
func (s policySource) inside(problems []sandbox.Finding) []sandbox.Finding {
	findings := make([]sandbox.Finding, 0, len(problems))
	for _, f := range problems {
		found := []string{sandbox.Echo(s.file)}
		if len(f.Path) > 0 {
			found = append(found, f.Path.String())
		}
		findings = append(findings, platformFinding(strings.Join(append(found, f.Found), ": "), f.Required, f.Remedy))
	}
	return findings
}

// reason is an error of the file system without the path that is said already.
func reason(err error) string {
	var failed *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.As(err, &failed):
		return failed.Err.Error()
	default:
		return err.Error()
	}
}
