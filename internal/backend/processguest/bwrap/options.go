package bwrap

import (
	"fmt"
	"strconv"
	"strings"
)

// Options are the abilities of an installed bubblewrap.
type Options struct {
	// Version is as the program says it.
	Version string
	// DisableUserNamespaces: it can keep the guest from making user namespaces by
	// a limit of the kernel, beside the seccomp filter.
	DisableUserNamespaces bool
	// BindDescriptors: it can mount what stands behind a descriptor. The versions
	// of distributions have that from different numbers on.
	BindDescriptors bool
}

// Oldest is the oldest version that has every option the command line needs
// (--perms and --size).
const Oldest = "0.5.0"

// Parse reads what "bwrap --version" and "bwrap --help" print.
func Parse(said, help string) (Options, error) {
	version := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(said), "bubblewrap"))
	have, err := number(version)
	if err != nil {
		return Options{}, err
	}
	oldest, err := number(Oldest)
	if err != nil {
		return Options{}, err
	}
	if have < oldest {
		return Options{}, fmt.Errorf("bubblewrap %s is older than %s", version, Oldest)
	}
	return Options{
		Version: version, DisableUserNamespaces: have >= 8_000,
		BindDescriptors: strings.Contains(help, "--ro-bind-fd "),
	}, nil
}

// number makes versions comparable: 0.8.0 is 8000.
func number(version string) (int, error) {
	parts := strings.Split(version, ".")
	if len(parts) != 3 {
		return 0, fmt.Errorf("bubblewrap says its version is %.40q", version)
	}
	n := 0
	for _, part := range parts {
		p, err := strconv.Atoi(part)
		if err != nil || p < 0 || p > 999 {
			return 0, fmt.Errorf("bubblewrap says its version is %.40q", version)
		}
		n = n*1000 + p
	}
	return n, nil
}
