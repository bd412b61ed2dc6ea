package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	json "github.com/go-json-experiment/json"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/operate"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/plaintext"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// importTeller says how far an import is: on a terminal in one line that changes, in
// a log in a line for each change, in JSON in an event for each look.
type importTeller struct {
	app       *app
	of        *reached
	reference string

	image string
	state string
	last  time.Duration
	// line is how wide the line is that changes, zero when there is none.
	line int
}

func (a *app) importTeller(of *reached, reference string) *importTeller {
	return &importTeller{app: a, of: of, reference: reference}
}

// importEvent is one line of JSON.
type importEvent struct {
	target

	Event     string       `json:"event"`
	Reference string       `json:"reference"`
	Image     string       `json:"image,omitempty"`
	State     string       `json:"state,omitempty"`
	Seconds   float64      `json:"seconds,omitzero"`
	Existed   bool         `json:"existed,omitzero"`
	Code      sandbox.Code `json:"code,omitempty"`
	Log       string       `json:"log,omitempty"`
}

func (t *importTeller) event(e importEvent) {
	if t.app.format != "json" {
		return
	}
	e.target, e.Reference = t.of.target(), t.reference
	text, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return // it is text and numbers
	}
	_, _ = t.app.out.Write(append(plaintext.JSON(text), '\n')) // seen when the command ends
}

// found hears which image it is that is waited for.
func (t *importTeller) found(f operate.Imported) {
	t.image = f.Image.ID
	e := importEvent{Event: "started", Image: f.Image.ID, State: f.Image.State(), Existed: f.Existed}
	if f.Existed {
		e.Event = "found"
	}
	t.event(e)
}

// repeated is how often a log hears of a build that does not change.
const repeated = 30 * time.Second

// building hears of every look at the build.
func (t *importTeller) building(state string, elapsed time.Duration) {
	t.event(importEvent{Event: "building", Image: t.image, State: state, Seconds: elapsed.Round(time.Millisecond).Seconds()})
	if t.app.format == "json" || (elapsed == 0 && usable(state)) {
		return
	}
	text := plaintext.Value(fmt.Sprintf("disk image %s: %s, %s", t.image, state, elapsed.Round(time.Second)))
	if t.app.env.Terminal {
		// The one place where a carriage return is meant: the line is ours and escaped.
		fmt.Fprintf(t.app.env.Stderr, "\r%s%s", text, strings.Repeat(" ", max(t.line-len(text), 0)))
		t.line = len(text)
		return
	}
	if state != t.state || elapsed-t.last >= repeated {
		fmt.Fprintln(t.app.errs, text)
		t.state, t.last = state, elapsed
	}
}

// endLine leaves the line that changes.
func (t *importTeller) endLine() {
	if t.line > 0 {
		_, _ = io.WriteString(t.app.env.Stderr, "\n") // nobody can be told
		t.line = 0
	}
}

// usable reports a state in which sandboxes can be made of an image.
func usable(state string) bool { return wire.SameState(state, wire.ImageReady, wire.ImageSucceeded) }

// done says which image it is.
func (t *importTeller) done(f operate.Imported) error {
	t.endLine()
	ready := usable(f.Image.State())
	if t.app.format == "json" {
		event := "ready"
		if !ready {
			event = "building"
		}
		t.event(importEvent{Event: event, Image: f.Image.ID, State: f.Image.State(), Existed: f.Existed})
		return nil
	}
	text := "imported"
	switch {
	case !ready:
		text = "being built"
	case f.Existed:
		text = "already imported"
	}
	_, err := fmt.Fprintln(t.app.out, plaintext.Value(fmt.Sprintf("%s: disk image %s of %s, in %s", text, f.Image.ID, t.reference, t.of.place())))
	return err
}

const (
	// maxLogLines and maxLogBytes bound what is shown of a build's log: its end, where
	// the reason is.
	maxLogLines = 40
	maxLogBytes = 8 << 10
)

// failed says what the service said of a build that failed, and what is left.
func (t *importTeller) failed(f operate.Imported, err error, o imageImportOptions) {
	t.endLine()
	log, cut := logEnd(f.Log)
	e := importEvent{Event: "failed", Image: f.Image.ID, State: f.Image.State(), Existed: f.Existed, Log: log}
	if r := sandbox.RefusalOf(err); r != nil {
		e.Code = r.Code
	}
	t.event(e)
	if log != "" && t.app.format != "json" {
		head := "the service says of the build:"
		if cut {
			head = "the service says of the build, at its end:"
		}
		fmt.Fprintln(t.app.errs, head)
		_ = plaintext.Guest(t.app.env.Stderr, stdoutMarker, []byte(log)) // nobody can be told
	}
	if f.Image.ID == "" {
		if f.Log != "" || errors.Is(err, sandbox.CodeServiceFailed) {
			fmt.Fprintln(t.app.errs, "nothing is left of it")
		}
		return
	}
	state := cmp.Or(f.Image.State(), "state not said")
	fmt.Fprintln(t.app.errs, plaintext.Value(fmt.Sprintf("disk image %s is there (%s); go on with", f.Image.ID, state)))
	words := o.again()
	if wire.SameState(f.Image.State(), wire.ImageFailed) {
		words += " --replace-failed" + flagWords(o.pullFlags())
	}
	fmt.Fprintln(t.app.errs, plaintext.Value("  sandboxctl image import"+words+" "+t.reference))
}

// pullFlags are what another build needs.
func (o imageImportOptions) pullFlags() [][2]string {
	return [][2]string{
		{"name", o.name}, {"identity", o.identity}, {"registry-user", o.username}, {"registry-password-file", o.passwordFile},
	}
}

// logEnd is the end of a log, in whole lines where there are any.
func logEnd(log string) (end string, cut bool) {
	log = strings.TrimRight(log, "\n ")
	end = log
	if over := len(end) - maxLogBytes; over > 0 {
		end = end[over:]
		if _, rest, ok := strings.Cut(end, "\n"); ok {
			end = rest
		}
	}
	if lines := strings.Split(end, "\n"); len(lines) > maxLogLines {
		end = strings.Join(lines[len(lines)-maxLogLines:], "\n")
	}
	return strings.ToValidUTF8(end, "\uFFFD"), len(end) < len(log)
}

// again is the flags that reach the same group, each with a space in front.
func (o *azure) again() string {
	words := flagWords([][2]string{
		{"group", o.group},
		{"subscription", o.subscription},
		{"resource-group", o.resourceGroup},
		{"location", o.location},
		{"sign-in", o.signIn},
		{"endpoint-data", o.dataEndpoint},
		{"endpoint-arm", o.armEndpoint},
		{"ca-file", o.caFile},
		{"emulator-token-file", o.tokenFile},
	})
	if o.emulator {
		words += " --emulator"
	}
	return words
}

// flagWords are the flags that have a value, as a shell reads them.
func flagWords(flags [][2]string) string {
	words := ""
	for _, flag := range flags {
		if flag[1] != "" {
			words += " --" + flag[0] + " " + shellWord(flag[1])
		}
	}
	return words
}

// shellWord is a word that a shell reads as it is.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,", r)
	}
	if word != "" && !strings.ContainsFunc(word, plain) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
