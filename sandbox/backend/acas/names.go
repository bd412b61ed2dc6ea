package acas

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// replacement stands in a listing of the service for every byte that is no text.
const replacement = "\ufffd"

// nameExactly gives the entries of a directory their names where the service cannot:
// it lists in JSON, in which bytes that are no text are replaced. The guest is asked
// for those, as the image's user, and is believed only what the listing bears out. A
// listing with a name that stays unknown is refused.
func (g *guest) nameExactly(ctx context.Context, dir string, infos []engine.Info) error {
	replaced := func(info engine.Info) bool { return strings.Contains(info.Name, replacement) }
	if !slices.ContainsFunc(infos, replaced) {
		return nil
	}
	named, err := g.namesIn(ctx, dir)
	if err != nil {
		return err
	}
	for i := range infos {
		if !replaced(infos[i]) {
			continue
		}
		at := slices.IndexFunc(named, func(n engine.Info) bool { return n.Kind == infos[i].Kind && asText(n.Name) == asText(infos[i].Name) })
		if at < 0 {
			return fmt.Errorf("%s has a name that is no text, and the guest does not tell it: %w", sandbox.Echo(infos[i].Name), engine.ErrRefused)
		}
		if slices.ContainsFunc(named[at+1:], func(n engine.Info) bool { return n.Kind == infos[i].Kind && asText(n.Name) == asText(infos[i].Name) }) {
			infos[i].Size, infos[i].SizeKnown = 0, false // of which of them it is, nobody can tell
		}
		infos[i].Name = named[at].Name
		named = slices.Delete(named, at, at+1)
	}
	return nil
}

// asText is a name without what JSON does to its bytes: some write one replacement for
// several of them.
func asText(name string) string {
	name = strings.ToValidUTF8(name, replacement)
	for strings.Contains(name, replacement+replacement) {
		name = strings.ReplaceAll(name, replacement+replacement, replacement)
	}
	return name
}

// listScript writes the kind and the name of all that stands in a directory.
const listScript = `export LC_ALL=C; cd -- "$1" || exit
for f in * .[!.]* ..?*; do
  if [ -L "$f" ]; then k=l; elif [ -d "$f" ]; then k=d; elif [ -e "$f" ]; then k=f; else continue; fi
  printf '%s%s\0' $k "$f"
done`

var listedKinds = map[byte]sandbox.EntryKind{'l': sandbox.EntrySymlink, 'd': sandbox.EntryDirectory, 'f': sandbox.EntryFile}

// namesIn are the names in a directory and what they name, as the guest tells it.
func (g *guest) namesIn(ctx context.Context, dir string) ([]engine.Info, error) {
	var out bytes.Buffer
	code, err := g.Exec(ctx, engine.ExecRequest{Args: []string{"/bin/sh", "-c", listScript, "sh", dir}, Dir: "/", Stdout: &out})
	switch {
	case err != nil:
		return nil, fmt.Errorf("ask the guest for names that are no text: %w", err)
	case code != 0:
		return nil, fmt.Errorf("the image's user cannot list names that are no text: %w", engine.ErrRefused)
	}
	var named []engine.Info
	for entry := range strings.SplitSeq(strings.TrimSuffix(out.String(), "\x00"), "\x00") {
		if entry != "" && listedKinds[entry[0]] != 0 {
			named = append(named, engine.Info{Name: entry[1:], Kind: listedKinds[entry[0]]})
		}
	}
	return named, nil
}
