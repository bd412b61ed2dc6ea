package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/listener"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// GuestEngine makes what runs inside an emulator's sandboxes.
type GuestEngine func(ctx context.Context, o GuestOptions) (acasemu.Guests, error)

// GuestOptions are what an engine for an emulator is told.
type GuestOptions struct {
	// Resolve gives host names the address that guests reach them at, through their
	// egress rules.
	Resolve map[string]string
	// Dir is where they keep what outlives a guest, beside the emulator's state. It
	// may not be there yet.
	Dir string
	// Notice may be called with lines for a person.
	Notice func(text string)
}

// noEngine is the engine of sandboxes with nothing inside.
const noEngine = "none"

const emulateExitHelp = `Exit codes:
  0  it served until it was interrupted
  2  it could not be started`

// emulateOptions are the flags of emulate.
type emulateOptions struct {
	listen, caOut, engine, state, tokenFile string
	names, faults, resolve, images          []string
	onlyKnown, loosePorts                   bool
}

const emulateLong = `emulate serves Azure Container Apps Sandboxes on this machine, both planes on one
address, as the service's own clients need it answered. It speaks TLS with an
authority that it makes at every start and that is good for its own address alone;
clients trust the file that --ca-out names.

It prints one line of JSON when it is ready, and serves until it is interrupted.

It takes any token that is for the right audience: nobody can sign one for it. So it
listens on this machine alone, unless --token-file says which tokens it takes. Whoever
works on this machine can use it, read its secrets and run commands in its sandboxes:
where others do, give it a --token-file.

Everything it knows is kept in --state, which several emulators may use at once.
Values of secrets are sealed there with the key that lies beside it. Without --state
it forgets everything when it ends.

With --engine none sandboxes are made, listed and deleted, and have nothing inside:
a command or a file in one is answered 501, also to this project's own backend.
With --engine process, on Linux, they are sandboxes of this machine with a root of
their own: an image is this machine's programs, or what is in the OCI layout that
--image names, and commands run as the image's user. An image whose user is not root,
and volumes, need an emulator that root runs. Guests end with it, and are known to no
other.

A fault makes it misbehave. It is words joined with commas: whom it meets (op=,
method=, path=, times=, skip=) and what happens (status=, drop=, latency=, …), or one
of the names below. A request asks for one of its own in the header
X-Emulator-Fault; POST /_emulator/faults switches one on, and
GET /_emulator/requests tells what arrived.

  %s`

func (a *app) emulateCommand() *cobra.Command {
	var o emulateOptions
	cmd := &cobra.Command{
		Use:   "emulate [flags]",
		Short: "Serve Azure Container Apps Sandboxes on this machine",
		Long:  fmt.Sprintf(emulateLong, strings.Join(acasemu.FaultNames(), "\n  ")) + "\n\n" + emulateExitHelp,
		Example: `  sandboxctl emulate --ca-out ca.pem
  sandboxctl emulate --listen 127.0.0.1:8443 --ca-out ca.pem --state .sandbox/state.db
  sandboxctl emulate --ca-out ca.pem --fault throttle,op=exec.shell,times=2`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.emulate(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "where to listen; port 0 is a free one")
	flags.StringVar(&o.caOut, "ca-out", "", "write the certificate that clients have to trust to this file")
	flags.StringVar(&o.engine, "engine", noEngine, "what runs inside: "+strings.Join(append([]string{noEngine}, sortedKeys(a.env.GuestEngines)...), " or "))
	flags.StringVar(&o.state, "state", "", "keep the state in this file (default: in a temporary one)")
	flags.StringVar(&o.tokenFile, "token-file", "", "take the tokens of this file alone, one a line; needed to listen for other machines")
	flags.StringArrayVar(&o.names, "name", nil, "a host name that clients call it by, such as management.azure.com (repeatable)")
	flags.StringArrayVar(&o.faults, "fault", nil, "a fault to switch on (repeatable)")
	flags.StringArrayVar(&o.resolve, "resolve", nil, "NAME=ADDR:PORT, where guests reach a host that their rules allow (repeatable)")
	flags.StringArrayVar(&o.images, "image", nil, "REFERENCE[,user=USER][,layout=DIR][,fails=TEXT], what a disk image turns out to be (repeatable)")
	flags.BoolVar(&o.loosePorts, "loose-ports", false, "take a new list of ports without their addresses, which the service was last seen to refuse")
	flags.BoolVar(&o.onlyKnown, "only-known-images", false, "let builds from references fail that no --image names")
	return cmd
}

func (a *app) emulate(ctx context.Context, o emulateOptions) (err error) {
	config, err := o.config()
	if err != nil {
		return err
	}
	if o.state == "" {
		dir, err := os.MkdirTemp("", "sandbox-emulator-")
		if err != nil {
			return badInput("a place for the state: %w", withoutPath(err))
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		config.State = filepath.Join(dir, "state.db")
	}
	if config.Guests, err = a.guestsFor(ctx, o, config.State+".guests"); err != nil {
		return err
	}
	emulator, err := acasemu.New(config)
	if err != nil {
		return badInput("%w", err)
	}
	if err := emulator.Check(ctx); err != nil {
		return errors.Join(unusableState(config.State, err), closeBounded(ctx, emulator.Close))
	}
	server, err := listener.Listen(ctx, emulator, listener.Options{Address: o.listen, Names: o.names})
	if err != nil {
		return errors.Join(a.refuseToListen(o, err), closeBounded(ctx, emulator.Close))
	}
	defer func() { err = errors.Join(err, closeBounded(ctx, server.Close)) }()
	if o.caOut != "" {
		if err := replaceFile(o.caOut, server.CA()); err != nil {
			return fmt.Errorf("--ca-out: %w", err)
		}
	}
	if err := a.announceEmulator(server.URL(), o.caOut); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// unusableState is a state file that the emulator could keep nothing in.
func unusableState(path string, err error) error {
	return badInput("--state %s: %w; name a file that an emulator made, or one that is not there yet in a directory that you may write to",
		sandbox.Echo(path), withoutPath(err))
}

// closeBounded closes what a command started, although its context has ended.
func closeBounded(ctx context.Context, closing func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopBound)
	defer cancel()
	return closing(ctx)
}

func (a *app) refuseToListen(o emulateOptions, err error) error {
	if errors.Is(err, listener.ErrNeedsTokens) {
		return badInput("--listen %s: %w; give it a --token-file, or listen on 127.0.0.1", sandbox.Echo(o.listen), err)
	}
	return badInput("--listen %s: %w", sandbox.Echo(o.listen), err)
}

// announceEmulator says that the emulator is ready, in a line for programs.
func (a *app) announceEmulator(url, ca string) error {
	line, err := json.Marshal(struct {
		URL string `json:"url"`
		CA  string `json:"ca,omitempty"`
	}{url, ca})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s\n", plaintext.JSON(line))
	return a.out.Flush()
}

// guestsFor makes the engine that was asked for.
func (a *app) guestsFor(ctx context.Context, o emulateOptions, dir string) (acasemu.Guests, error) {
	resolve := map[string]string{}
	for _, pair := range o.resolve {
		name, at, ok := strings.Cut(pair, "=")
		if !ok || name == "" || at == "" {
			return nil, badInput("--resolve %s: write NAME=ADDR:PORT", sandbox.Echo(pair))
		}
		resolve[name] = at
	}
	if o.engine == noEngine {
		if len(resolve) > 0 {
			return nil, badInput("--resolve: there are no guests with --engine %s", noEngine)
		}
		return acasemu.NoGuests{}, nil
	}
	make, ok := a.env.GuestEngines[o.engine]
	if !ok {
		return nil, badInput("--engine %s: this binary has %s", sandbox.Echo(o.engine), strings.Join(append([]string{noEngine}, sortedKeys(a.env.GuestEngines)...), ", "))
	}
	return make(ctx, GuestOptions{Resolve: resolve, Dir: dir, Notice: func(text string) { fmt.Fprintln(a.errs, text); _ = a.errs.Flush() }})
}

// config is what the flags say of the emulator itself.
func (o *emulateOptions) config() (acasemu.Config, error) {
	c := acasemu.Config{State: o.state, Faults: o.faults, OnlyKnownImages: o.onlyKnown}
	c.Behaviour.LoosePorts = o.loosePorts
	for _, text := range o.images {
		image, err := knownImage(text)
		if err != nil {
			return c, err
		}
		c.Images = append(c.Images, image)
	}
	if o.tokenFile == "" {
		return c, nil
	}
	file, err := os.Open(o.tokenFile)
	if err != nil {
		return c, badInput("--token-file %s: %w", sandbox.Echo(o.tokenFile), withoutPath(err))
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if token := strings.TrimSpace(lines.Text()); token != "" {
			c.Tokens = append(c.Tokens, token)
		}
	}
	if err := lines.Err(); err != nil || len(c.Tokens) == 0 {
		return c, badInput("--token-file %s: it has no token, one a line", sandbox.Echo(o.tokenFile))
	}
	return c, nil
}

// knownImage reads REFERENCE[,user=USER][,layout=DIR][,fails=TEXT].
func knownImage(text string) (acasemu.KnownImage, error) {
	reference, rest, _ := strings.Cut(text, ",")
	image := acasemu.KnownImage{Reference: reference}
	bad := badInput("--image %s: write REFERENCE[,user=USER][,layout=DIR][,fails=TEXT]", sandbox.Echo(text))
	if reference == "" {
		return image, bad
	}
	for rest != "" {
		var word string
		word, rest, _ = strings.Cut(rest, ",")
		name, value, _ := strings.Cut(word, "=")
		switch {
		case value == "":
			return image, bad
		case name == "user":
			image.User = value
		case name == "layout":
			image.Layout = value
		case name == "fails":
			image.Fails = value
		default:
			return image, bad
		}
	}
	return image, nil
}
