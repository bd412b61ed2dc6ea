package eventlog

import (
	"errors"
	"slices"
	"strconv"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
)

// What every line says of itself.
const (
	APIVersion = "sandbox/v1"
	Document   = "egress_event"
)

// MaxLine is the longest line that is written or read, in bytes.
const MaxLine = 32 << 10

// Entry is one line.
type Entry struct {
	// Sandbox is whose decision it is.
	Sandbox Sandbox `json:"sandbox,omitzero"`
	// Program is what asked, where the host or the sandbox's agent knows it. It is
	// claimed by whoever runs inside, unless the host started nothing else there.
	Program string `json:"program,omitzero"`

	egress.Event
}

// Sandbox names a sandbox. All of it may be unknown.
type Sandbox struct {
	// Workload is its workload's name in the manifest.
	Workload string `json:"workload,omitzero"`
	// Backend and ID are the backend's name and what it calls the sandbox.
	Backend string `json:"backend,omitzero"`
	ID      string `json:"id,omitzero"`
}

// line is an entry as it is written.
type line struct {
	APIVersion string `json:"api_version"`
	Document   string `json:"document"`
	Entry
}

// nanoseconds is how an event's durations are written, as their name says.
var nanoseconds = jsonv1.FormatDurationAsNano(true)

// Encode writes an entry as one line with its line break.
func Encode(e Entry) ([]byte, error) {
	b, err := json.Marshal(line{APIVersion, Document, e}, nanoseconds, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// Decode reads one line. Names that this release does not know are passed over, since
// a later one may say more of the same decision; another version is refused. The
// error is a [*sandbox.Refusal].
func Decode(b []byte) (Entry, error) {
	if len(b) > MaxLine {
		return Entry{}, refusal(sandbox.CodeDocumentTooLarge, nil, "more than "+strconv.Itoa(MaxLine)+" bytes", "a line of at most that")
	}
	var l line
	if err := json.Unmarshal(b, &l, nanoseconds); err != nil {
		var head struct {
			APIVersion string `json:"api_version"`
			Document   string `json:"document"`
		}
		if json.Unmarshal(b, &head) == nil && (head.APIVersion != APIVersion || head.Document != Document) {
			return Entry{}, otherVersion(head.APIVersion, head.Document)
		}
		return Entry{}, malformed(err)
	}
	if l.APIVersion != APIVersion || l.Document != Document {
		return Entry{}, otherVersion(l.APIVersion, l.Document)
	}
	return l.Entry, l.check()
}

var layers = []egress.Layer{egress.LayerConnection, egress.LayerRequest, egress.LayerOpened}

// check refuses what no proxy says.
func (e *Entry) check() error {
	asked := e.Host != "" || e.Port != 0 || e.Method != "" || e.Path != ""
	switch {
	case e.Time.IsZero():
		return refusal(sandbox.CodeDocumentType, sandbox.Path("time"), "no time", "when it was decided")
	case !slices.Contains(layers, e.Layer):
		return refusal(sandbox.CodeDocumentType, sandbox.Path("layer"), sandbox.Echo(string(e.Layer)), "connection, request or opened")
	case e.Lost && (!e.Summary || e.Code != "" || e.Rule != ""):
		return refusal(sandbox.CodeDocumentType, sandbox.Path("lost"), "lost decisions that are described", "a summary without a code and a rule")
	case e.End != nil && (e.Count != 0 || !e.Allowed || e.Summary):
		return refusal(sandbox.CodeDocumentType, sandbox.Path("end"), "the end of a tunnel, and a decision", "one of the two")
	case e.End != nil && (e.End.Sent < 0 || e.End.Received < 0 || e.End.Duration < 0):
		return refusal(sandbox.CodeOutOfRange, sandbox.Path("end"), "less than nothing", "what a tunnel has carried")
	case e.End != nil:
		return nil
	case e.Count < 1 || int64(e.Count) > sandbox.MaxDocumentInteger:
		return refusal(sandbox.CodeOutOfRange, sandbox.Path("count"), strconv.Itoa(e.Count), "how many decisions it stands for, at least 1")
	case e.Allowed && e.Code != "":
		return refusal(sandbox.CodeDocumentType, sandbox.Path("code"), sandbox.Echo(string(e.Code))+" beside allowed", "a code for what is refused alone")
	case !e.Allowed && e.Code == "" && !e.Summary:
		return refusal(sandbox.CodeDocumentType, sandbox.Path("code"), "no code", "why it was refused")
	case e.Summary && asked:
		return refusal(sandbox.CodeDocumentType, sandbox.Path("summary"), "a summary of one request", "a summary, or what was asked for")
	default:
		return nil
	}
}

func otherVersion(version, document string) error {
	found := sandbox.Echo(version) + " " + sandbox.Echo(document)
	if version == "" && document == "" {
		found = "no version"
	}
	return refusal(sandbox.CodeDocumentVersion, sandbox.Path("api_version"), found, strconv.Quote(APIVersion)+" "+strconv.Quote(Document))
}

// malformed explains an error of the JSON decoder. It repeats nothing of the line
// but a name in it.
func malformed(err error) error {
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	const whole = "one JSON object in UTF-8"
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return refusal(sandbox.CodeDocumentDuplicate, nil, "a name that was stated before", "each name once")
	case errors.As(err, &semantic):
		return refusal(sandbox.CodeDocumentType, pathOf(semantic.JSONPointer), "a value of another type or out of range", "what an event has there")
	case errors.As(err, &syntactic):
		return refusal(sandbox.CodeDocumentSyntax, nil, "broken JSON at byte "+strconv.FormatInt(syntactic.ByteOffset, 10), whole)
	default:
		return refusal(sandbox.CodeDocumentSyntax, nil, "broken JSON", whole)
	}
}

func pathOf(pointer jsontext.Pointer) sandbox.FieldPath {
	var path sandbox.FieldPath
	for step := range pointer.Tokens() {
		path = path.Append(sandbox.Attr(step))
	}
	return path
}

func refusal(code sandbox.Code, at sandbox.FieldPath, found, required string) error {
	return sandbox.Finding{
		Code: code, Path: at, Found: found, Required: required,
		Remedy: "give the events as a host's eventlog.Writer or sandboxctl run --events wrote them",
	}.Refusal(nil)
}
