package tfplan

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// killDelay is how long Terraform has to end after it was asked to.
const killDelay = 5 * time.Second

// findProvider gets the copy ready to plan. Where the provider is one under
// development, which needs no installation, only the local modules are linked;
// otherwise Terraform installs it from wherever its own configuration says.
func (t *terraform) findProvider(ctx context.Context, o Options, dir string) error {
	var args []string
	switch {
	case o.Provider != "":
		file, err := overrides(o.Provider, dir)
		if err != nil {
			return err
		}
		t.env = append(t.env, "TF_CLI_CONFIG_FILE="+file, "TF_REATTACH_PROVIDERS=")
		args = []string{"get", "-no-color"}
	case underDevelopment(t.env):
		args = []string{"get", "-no-color"}
	default:
		args = []string{"init", "-backend=false", "-input=false", "-no-color"}
	}
	stdout, stderr, err := t.run(ctx, args...)
	if err != nil {
		said := strings.TrimSpace(string(bytes.TrimSpace(stderr)) + "\n" + string(bytes.TrimSpace(stdout)))
		hint := ""
		if args[0] == "init" {
			hint = "\nname the provider's binary with --provider, or say in Terraform's own configuration where to find it"
		}
		return fmt.Errorf("terraform %s: %w: %s%s", args[0], err, said, hint)
	}
	return nil
}

// overrides writes a Terraform configuration that uses one binary as this
// provider, whatever version is asked for, and nothing else.
func overrides(provider, dir string) (string, error) {
	bin := filepath.Join(dir, "provider")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return "", fmt.Errorf("make a directory for the provider: %w", err)
	}
	name := "terraform-provider-sandbox"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if err := placeBinary(provider, filepath.Join(bin, name)); err != nil {
		return "", fmt.Errorf("use the provider %s: %w", filepath.Base(provider), err)
	}
	text := "provider_installation {\n  dev_overrides {\n    \"sandbox-iac/sandbox\" = " +
		strconv.Quote(filepath.ToSlash(bin)) + "\n  }\n  direct {}\n}\n"
	file := filepath.Join(dir, "terraform.rc")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("write Terraform's configuration: %w", err)
	}
	return file, nil
}

// placeBinary puts a program at a second place, as a link where the file system
// can. A copy that was just written cannot be run while another process of this
// one, started at that moment, still holds it open for writing ("text file busy").
func placeBinary(from, to string) error {
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("not a file")
	}
	if info.Mode()&0o100 != 0 && os.Link(from, to) == nil {
		return nil
	}
	return copyBinary(from, to)
}

func copyBinary(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := out.Close(); err == nil {
			err = closeErr
		}
	}()
	_, err = io.Copy(out, in)
	return err
}

// underDevelopment reports whether Terraform's own configuration overrides this
// provider, or somebody serves it for Terraform to attach to.
func underDevelopment(env []string) bool {
	if strings.Contains(variable(env, "TF_REATTACH_PROVIDERS"), "sandbox-iac/sandbox") {
		return true
	}
	file := variable(env, "TF_CLI_CONFIG_FILE")
	if file == "" {
		file = defaultConfig(env)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	return override.Match(b)
}

func defaultConfig(env []string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(variable(env, "APPDATA"), "terraform.rc")
	}
	return filepath.Join(variable(env, "HOME"), ".terraformrc")
}

// override is a development override of this provider in Terraform's own
// configuration, which is written in an older syntax than its language: only
// there is a provider's address a key. A line that is commented out is none.
var override = regexp.MustCompile(`(?m)^(?:[^#/\n]|/[^/\n])*["/\s]sandbox-iac/sandbox"?\s*=`)
