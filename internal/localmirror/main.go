// Command localmirror puts a freshly built provider where a plain
// `terraform init` finds it: Terraform's implied local mirror. Each build that
// differs from the last becomes a version of its own, higher than all before it,
// and no installed version is ever changed. So a new folder gets the newest
// build, and a folder with a lock file keeps the one it locked until
// `terraform init -upgrade`.
//
// It never removes a version unless asked with -prune, and then says what that
// costs. Read [mirror] first.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// crowded is the number of installed versions at which pruning is suggested.
const crowded = 10

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "localmirror:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("localmirror", flag.ContinueOnError)
	dir := flags.String("dir", "", "mirror `folder` (default: the one that Terraform looks into by itself)")
	source := flags.String("source", "sandbox-iac/sandbox", "`source` of the provider, as configurations write it")
	cli := flags.String("cli", "", "`command` to install for (default: terraform and tofu, whichever is on PATH)")
	prune := flags.Int("prune", 0, "instead of installing, keep the newest `N` versions and remove the others")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *prune == 0 && flags.NArg() != 1 {
		return fmt.Errorf("name the one provider binary to install, got %d arguments", flags.NArg())
	}
	if *dir == "" {
		implied, err := impliedDir(runtime.GOOS, os.Getenv, os.UserHomeDir)
		if err != nil {
			return err
		}
		*dir = implied
	}
	commands, err := commandsFor(*cli)
	if err != nil {
		return err
	}
	for _, command := range commands {
		address, err := expandSource(ctx, command, *source)
		if err != nil {
			return err
		}
		m := mirror{dir: filepath.Join(*dir, filepath.FromSlash(address)), target: runtime.GOOS + "_" + runtime.GOARCH, now: time.Now}
		if *prune > 0 {
			err = pruneVersions(out, m, *prune)
		} else {
			err = install(out, m, flags.Arg(0), filepath.Base(command))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func install(out io.Writer, m mirror, binary, command string) error {
	version, fresh, err := m.install(binary)
	if err != nil {
		return err
	}
	if !fresh {
		_, err := fmt.Fprintf(out, "%s is already in %s: nothing has changed since\n", version, m.dir)
		return err
	}
	installed, err := m.versions()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "installed %s in %s\n", version, m.dir)
	fmt.Fprintf(out, "a folder without a lock file takes it at `%[1]s init`, one with a lock file at `%[1]s init -upgrade`\n", command)
	if len(installed) >= crowded {
		fmt.Fprintf(out, "%d versions are installed; `make prune` keeps the newest three\n", len(installed))
	}
	return nil
}

func pruneVersions(out io.Writer, m mirror, keep int) error {
	removed, err := m.prune(keep)
	if len(removed) > 0 {
		fmt.Fprintf(out, "removed %s from %s\na folder that locked one of them needs `init -upgrade`\n", strings.Join(removed, ", "), m.dir)
	}
	return err
}

// impliedDir is the folder that Terraform and OpenTofu search when the command
// line configuration says nothing of provider installation.
func impliedDir(goos string, getenv func(string) string, home func() (string, error)) (string, error) {
	if goos == "windows" {
		if data := getenv("APPDATA"); data != "" {
			return filepath.Join(data, "terraform.d", "plugins"), nil
		}
		return "", fmt.Errorf("APPDATA is not set, so Terraform's plugin folder is unknown; name it with -dir")
	}
	h, err := home()
	if err != nil {
		return "", fmt.Errorf("find Terraform's plugin folder: %w; name it with -dir", err)
	}
	return filepath.Join(h, ".terraform.d", "plugins"), nil
}

func commandsFor(named string) ([]string, error) {
	if named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return nil, fmt.Errorf("find the command to install for: %w", err)
		}
		return []string{path}, nil
	}
	var found []string
	for _, name := range []string{"terraform", "tofu"} {
		if path, err := exec.LookPath(name); err == nil {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("neither terraform nor tofu is on PATH; install one, or name it with -cli")
	}
	return found, nil
}

// expandSource asks the command line itself which address it makes of a source
// without a host: Terraform and OpenTofu differ.
func expandSource(ctx context.Context, command, source string) (address string, err error) {
	dir, err := os.MkdirTemp("", "localmirror-")
	if err != nil {
		return "", fmt.Errorf("make a folder to ask %s in: %w", command, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	config := fmt.Sprintf("terraform {\n  required_providers {\n    it = { source = %q }\n  }\n}\n", source)
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o600); err != nil {
		return "", fmt.Errorf("write a configuration to ask %s about: %w", command, err)
	}
	cmd := exec.CommandContext(ctx, command, "providers")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ask %s for the address of %s: %w: %s", command, source, err, out)
	}
	return parseAddress(string(out))
}

// parseAddress reads "└── provider[HOST/NAMESPACE/TYPE]".
func parseAddress(out string) (string, error) {
	_, rest, ok := strings.Cut(out, "provider[")
	address, _, closed := strings.Cut(rest, "]")
	if !ok || !closed || strings.Count(address, "/") != 2 || !filepath.IsLocal(address) {
		return "", fmt.Errorf("no provider address in %q", out)
	}
	return address, nil
}
