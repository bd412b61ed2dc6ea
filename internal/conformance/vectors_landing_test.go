package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

// landingIn is a folder with things in it, and names delivered to it in turn.
type landingIn struct {
	Tree []struct {
		Path, Kind string
		Target     string
	}
	Names    []text
	Existing string
}

type landingOut struct {
	Results []struct {
		refusal
		Landed     *text
		Display    string
		Handle     text
		Content    string
		NamesHost  bool `json:"names_host_path"`
		NamesGiven bool `json:"names_artifact"`
	}
	Outside []string
	Secret  string
}

// landedNames is what became of each name, and of what stands outside.
type landedNames struct {
	Results []string
	Outside []string
	Secret  string
}

// judgeLanding lands each name by a delivery of its own in a sink whose folder
// has a neighbour that nothing may reach.
func judgeLanding(v *vector) (answer, error) {
	var in landingIn
	var out landingOut
	if err := v.in(&in); err != nil {
		return answer{}, err
	}
	if err := v.out(&out); err != nil {
		return answer{}, err
	}
	ours, err := in.land()
	return answer{ours: asText(ours), theirs: asText(out.landed())}, err
}

func (o *landingOut) landed() landedNames {
	l := landedNames{Outside: o.Outside, Secret: o.Secret}
	for _, r := range o.Results {
		line := fmt.Sprintf("%q shown %q: %s", r.Handle, r.Display, r.Content)
		if r.Error != "" {
			line = r.Error
			if r.NamesHost {
				line += ", naming the host's path"
			}
		}
		l.Results = append(l.Results, line)
	}
	return l
}

func (in *landingIn) land() (l landedNames, err error) {
	base, err := os.MkdirTemp("", "landing")
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(base)) }()
	root, outside := filepath.Join(base, "root"), filepath.Join(base, "out")
	if err := in.plant(root, outside); err != nil {
		return l, err
	}
	options := output.DirOptions{Flat: true}
	if in.Existing == "replace" {
		options.Existing = output.ExistingReplace
	}
	sink, err := output.NewDirSink(root, options)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, sink.Close()) }()
	for _, name := range in.Names {
		l.Results = append(l.Results, landOne(sink, root, string(name)))
	}
	secret, err := os.ReadFile(filepath.Join(outside, "secret"))
	if err != nil {
		return l, err
	}
	l.Secret = string(secret)
	entries, err := os.ReadDir(outside)
	for _, e := range entries {
		l.Outside = append(l.Outside, e.Name())
	}
	return l, err
}

// plant makes the folder, its neighbour and what stands in them.
func (in *landingIn) plant(root, outside string) error {
	for _, dir := range []string{root, outside} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o600); err != nil {
		return err
	}
	for _, e := range in.Tree {
		path := filepath.Join(root, e.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		var err error
		switch e.Kind {
		case "file":
			err = os.WriteFile(path, []byte("old"), 0o600)
		case "directory":
			err = os.MkdirAll(path, 0o700)
		case "symlink":
			err = os.Symlink(e.Target, path)
		default:
			err = fmt.Errorf("no way to plant a %s", e.Kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// landOne delivers four bytes under one name and says what became of them.
func landOne(sink *output.DirSink, root, name string) string {
	ctx := context.Background()
	refused := func(err error) string {
		line := err.Error()
		if f := sandboxFinding(err); f != nil {
			line = string(f.Code)
			if class, known := outputClass[f.Code]; known {
				line = class
			}
		}
		if strings.Contains(err.Error(), root) {
			line += ", naming the host's path"
		}
		return line
	}
	delivery, err := sink.Begin(ctx, output.Origin{})
	if err != nil {
		return refused(err)
	}
	landed, err := delivery.Stage(ctx, output.Artifact{Name: name, Kind: probedKind, Size: 4}, bytes.NewReader([]byte("new!")))
	if err == nil {
		err = delivery.Commit(ctx)
	}
	if err != nil {
		return refused(errors.Join(err, delivery.Abort()))
	}
	content, err := os.ReadFile(landed.Handle)
	if err != nil {
		return err.Error()
	}
	relative, err := filepath.Rel(root, landed.Handle)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%q shown %q: %s", filepath.ToSlash(relative), landed.Display, content)
}
