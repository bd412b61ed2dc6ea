package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	json "github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const lsLong = `ls lists the sandboxes of a group on Azure, as they come: their state, how old they
are by the service's clock, what they may reach, what they were made from, and whose
they are. "ours" and "owner" are sandboxes that this project's client made; an owner
is the start of a keyed digest, the same for all sandboxes of one owner.

Egress reads: closed, allowlist with the number of rules that let something out,
unrestricted, or unclear, when the policy is not one that a word can stand for; show
--sandbox says more.`

func (a *app) lsCommand() *cobra.Command {
	var o azure
	var labels []string
	cmd := &cobra.Command{
		Use:   "ls --group NAME",
		Short: "The sandboxes of a group on Azure",
		Long:  lsLong + "\n\n" + azureHelp + "\n\n" + azureExitHelp,
		Example: `  sandboxctl ls --group agents --resource-group rg-agents
  sandboxctl ls --group agents --label run=42 --format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.ls(cmd.Context(), o, labels) },
	}
	o.flags(cmd.Flags())
	cmd.Flags().StringArrayVar(&labels, "label", nil, "only sandboxes with this label, KEY=VALUE (repeatable)")
	a.formatFlag(cmd, "text", "json")
	return cmd
}

func (a *app) ls(ctx context.Context, o azure, labels []string) error {
	filter, err := labelFilter(labels)
	if err != nil {
		return err
	}
	r, closed, err := a.reach(ctx, o)
	if err != nil {
		return err
	}
	defer closed()
	list, prebuilt := newListing(a, r, "sandboxes"), prebuiltNames{of: r}
	for doc, err := range r.Sandboxes(ctx, filter) {
		if err != nil {
			return list.fail(advise(err, sandbox.CodeServiceNotFound, wrongGroup))
		}
		at, _ := r.ServiceTime()
		row := rowOf(doc)
		prebuilt.name(ctx, &row.Image)
		if err := list.add(tableHead(), func() string { return row.line(at) }, row); err != nil {
			return err
		}
	}
	return list.end("sandbox", filter)
}

// listing prints a list of unknown length while it arrives, as a table or as one JSON
// document that ends by saying whether it is whole.
type listing struct {
	app   *app
	out   io.Writer
	of    *reached
	key   string
	count int
}

func newListing(a *app, of *reached, key string) *listing {
	return &listing{app: a, out: a.out, of: of, key: key}
}

// add prints one item: a line under head, or a value.
func (l *listing) add(head string, line func() string, value any) error {
	l.count++
	if l.app.format == "json" {
		return l.addJSON(value)
	}
	if l.count == 1 {
		fmt.Fprintf(l.out, "%s\n\n%s\n", plaintext.Value(l.of.place()), head)
	}
	_, err := fmt.Fprintln(l.out, plaintext.Value(line()))
	return err
}

func (l *listing) addJSON(value any) error {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	before := ",\n    "
	if l.count == 1 {
		if err := l.open(); err != nil {
			return err
		}
		before = "\n    "
	}
	_, err = l.out.Write(append([]byte(before), plaintext.JSON(text)...))
	return err
}

// open writes the document's beginning.
func (l *listing) open() error {
	of := l.of.target()
	_, err := fmt.Fprintf(l.out, "{\n  \"group\": %q,\n  \"endpoint\": %q,\n  \"emulator\": %t,\n  %q: [", of.Group, of.Endpoint, of.Emulator, l.key)
	return err
}

// end says how many there were.
func (l *listing) end(noun string, filter wire.Labels) error {
	if l.app.format == "json" {
		return l.close(true, "")
	}
	if l.count == 0 {
		fmt.Fprintln(l.out, plaintext.Value(l.of.place()))
	}
	text := show.Plural(l.count, noun)
	if len(filter) > 0 {
		text += " with " + filter.Filter()
	}
	_, err := fmt.Fprintf(l.out, "\n%s\n", plaintext.Value(text))
	return err
}

// fail ends a list that broke off, so that nobody takes it for the whole.
func (l *listing) fail(err error) error {
	if l.app.format == "json" {
		code := sandbox.Code("")
		if r := sandbox.RefusalOf(err); r != nil {
			code = r.Code
		}
		if writeErr := l.close(false, code); writeErr != nil {
			return writeErr
		}
		return err
	}
	if l.count > 0 {
		fmt.Fprintf(l.out, "\nbroken off after %s: there may be more\n", show.Count(int64(l.count)))
	}
	return err
}

func (l *listing) close(whole bool, code sandbox.Code) error {
	if l.count == 0 {
		if err := l.open(); err != nil {
			return err
		}
	} else {
		fmt.Fprint(l.out, "\n  ")
	}
	tail := ""
	if at, _ := l.of.ServiceTime(); !at.IsZero() {
		tail += fmt.Sprintf(",\n  \"service_time\": %q", at.UTC().Format(time.RFC3339))
	}
	if code != "" {
		tail += fmt.Sprintf(",\n  \"code\": %q", string(code))
	}
	_, err := fmt.Fprintf(l.out, "]%s,\n  \"complete\": %t\n}\n", tail, whole)
	return err
}
