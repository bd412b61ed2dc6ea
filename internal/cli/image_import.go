package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/operate"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// imageImportOptions are the flags of image import.
type imageImportOptions struct {
	azure

	name          string
	identity      string
	username      string
	passwordFile  string
	noWait        bool
	replaceFailed bool
	timeout       span
}

const imageImportLong = `import makes a disk image of a registry reference in the group, and waits until it
is built. It looks first: where the group has an image of exactly that reference, that
one is it, and nothing is made. A later push to a tag changes no image that was
imported; a reference with a digest says what it is.

When it is interrupted, or --timeout ends, the service goes on building; the same
command again finds the image and waits for it. A build that fails is removed again,
after what the service said of it was printed.

With --format json each line of standard output is one event: "found" or "started",
"building" at each look, and last "ready" or "failed".`

const imageImportExitHelp = `Exit codes:
  0    the group has the image; with --no-wait it may still be building
  1    not permitted, or the group has several images of the reference
  2    there is no answer: bad input, or the service gave none
  5    the image is not ready: its build failed, or did not end in time
  130  interrupted; what is being built is named`

func (a *app) imageImportCommand() *cobra.Command {
	var o imageImportOptions
	cmd := &cobra.Command{
		Use:   "import --group NAME REFERENCE",
		Short: "Make a disk image of a registry reference, once",
		Long:  imageImportLong + "\n\n" + azureHelp + "\n\n" + imageImportExitHelp,
		Example: `  sandboxctl image import --group agents registry.example.com/bicep:0.46.1
  sandboxctl image import --group agents --identity system registry.example.com/bicep@sha256:…`,
		Args: one("REFERENCE: a registry, a repository, and a tag or a digest"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.imageImport(cmd.Context(), o, args[0]) },
	}
	o.flags(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&o.name, "name", "", "the image's name, a label (default: made of the reference)")
	flags.StringVar(&o.identity, "identity", "", `the group's identity that pulls: "system", or a resource id`)
	flags.StringVar(&o.username, "registry-user", "", "who pulls, where the registry wants a name and a password")
	flags.StringVar(&o.passwordFile, "registry-password-file", "", "a file with the password, or - for standard input")
	flags.BoolVar(&o.noWait, "no-wait", false, "return as soon as the image is being built")
	flags.BoolVar(&o.replaceFailed, "replace-failed", false, "remove images of this reference whose build failed, first")
	flags.Var(&o.timeout, "timeout", "how long to wait for the build (default 15m)")
	a.formatFlag(cmd, "text", "json")
	return cmd
}

func (a *app) imageImport(ctx context.Context, o imageImportOptions, reference string) error {
	body, err := a.importBody(o, reference)
	if err != nil {
		return err
	}
	r, closed, err := a.reach(ctx, o.azure)
	if err != nil {
		return err
	}
	defer closed()
	told := a.importTeller(r, reference)
	found, err := operate.Import{
		Body: body, NoWait: o.noWait, ReplaceFailed: o.replaceFailed,
		Wait: acasapi.Wait{Limit: o.timeout.Duration, Progress: told.building},
		Told: told.found,
	}.Run(ctx, r.Group)
	if err == nil {
		return told.done(found)
	}
	told.failed(found, err, o)
	switch {
	case ctx.Err() != nil:
		return err
	case errors.Is(err, sandbox.CodeServiceNotFound) && told.image != "":
		return &exit{ExitUnfinished, advise(err, sandbox.CodeServiceNotFound, "somebody deleted the image while it was being built: run the same command again")}
	case errors.Is(err, sandbox.CodeServiceNotFound):
		return advise(err, sandbox.CodeServiceNotFound, wrongGroup)
	case errors.Is(err, sandbox.CodeServiceConflict):
		return &exit{ExitRefused, err}
	case errors.Is(err, sandbox.CodeServiceFailed):
		return &exit{ExitUnfinished, advise(err, sandbox.CodeServiceFailed, pullRemedy(reference))}
	case errors.Is(err, sandbox.CodeServiceTimeout):
		return &exit{ExitUnfinished, advise(err, sandbox.CodeServiceTimeout, "the build goes on: run the same command again, or give it more time with --timeout")}
	default:
		return advise(err, sandbox.CodeServiceInvalid, pullRemedy(reference))
	}
}

// pullRemedy is what makes most imports fail, which the service often does not say.
func pullRemedy(reference string) string {
	registry, _, _ := strings.Cut(reference, "/")
	return "look at the reference; if " + sandbox.Echo(registry) + " is private, attach an identity to the group, give it the role AcrPull there " +
		"(Container Registry Repository Reader where the registry has roles for repositories), and name it with --identity, " +
		"or give --registry-user and --registry-password-file"
}

// importBody is the image to ask for.
func (a *app) importBody(o imageImportOptions, reference string) (wire.CreateImage, error) {
	if err := checkReference(reference); err != nil {
		return wire.CreateImage{}, err
	}
	name := cmp.Or(o.name, nameOf(reference))
	if err := (wire.Labels{"name": name}).Check(); err != nil {
		return wire.CreateImage{}, badInput("--name: %w", err)
	}
	body := wire.CreateImage{
		Image: &wire.ImageSource{Base: reference}, Labels: wire.Labels{"name": name}, ManagedIdentityResourceID: o.identity,
	}
	switch {
	case (o.username == "") != (o.passwordFile == ""):
		return body, badInput("--registry-user and --registry-password-file belong together")
	case o.username == "":
		return body, nil
	case o.identity != "":
		return body, badInput("--identity and --registry-user: one of them pulls; give one")
	}
	password, err := a.readFile(o.passwordFile, maxToken)
	if err != nil {
		return body, err
	}
	body.RegistryCredentials = &wire.RegistryCredentials{Username: o.username, Token: strings.TrimSpace(string(password))}
	if body.RegistryCredentials.Token == "" {
		return body, badInput("--registry-password-file %s is empty", sandbox.Echo(o.passwordFile))
	}
	return body, nil
}

// checkReference holds a reference to the one form that means the same to everybody:
// the registry stated, and a tag or a digest.
func checkReference(reference string) error {
	registry, rest, slash := strings.Cut(reference, "/")
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	f := sandbox.Finding{
		Code: sandbox.CodeImageInvalid, Subject: "image " + sandbox.Echo(reference),
		Required: "REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@sha256:…",
	}
	switch {
	case reference == "" || len(reference) > maxReference || strings.ContainsFunc(reference, odd) || strings.Contains(reference, "://"):
		f.Found = "no reference"
	case !slash && !strings.Contains(reference, ":"):
		f.Found, f.Remedy = "the form of a catalogue name", "a prebuilt image needs no import; sandboxctl image catalogue lists them"
	case !slash || (!strings.ContainsAny(registry, ".:") && registry != "localhost"):
		f.Found, f.Remedy = "no registry", "put the registry's host in front, as registry.example.com/app:1"
	case rest == "" || !strings.Contains(rest[strings.LastIndex(rest, "/")+1:], ":"):
		f.Found, f.Remedy = "no tag and no digest", "say which one, at best by digest"
	default:
		return nil
	}
	return f.Refusal(nil)
}

const (
	maxReference = 512
	// maxImageName is how long a name is that is made of a reference.
	maxImageName = 60
)

// nameOf is the last segment of a reference, as a name.
func nameOf(reference string) string {
	last := reference[strings.LastIndex(reference, "/")+1:]
	name := strings.NewReplacer(":", "-", "@", "-").Replace(last)
	return name[:min(len(name), maxImageName)]
}
