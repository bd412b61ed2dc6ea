package wire

import (
	"errors"
	"fmt"
	"io"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// MaxAnswer is the largest JSON answer that is read, in bytes.
const MaxAnswer = 8 << 20

// ErrTooLarge is an answer over [MaxAnswer].
var ErrTooLarge = errors.New("answer is larger than 8 MiB")

// Encode writes a document as it is sent: a nil list as [], a nil map as {}, and
// the same bytes for the same value.
func Encode(v any) ([]byte, error) {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return b, nil
}

// Decode reads one JSON document into v. Names are compared exactly, a name stated
// twice is refused, and so are bytes after the document. Members that v does not
// know are kept beside it; [Unknown] lists them.
func Decode(b []byte, v any) error {
	return decode(b, v)
}

// DecodeText is [Decode] for documents that carry a guest's own output: bytes that
// are not UTF-8 become U+FFFD instead of losing the whole answer.
func DecodeText(b []byte, v any) error {
	return decode(b, v, jsontext.AllowInvalidUTF8(true))
}

// Whole reports whether b is one whole JSON document, whatever is in it. An answer
// that is none was cut or replaced on its way.
func Whole(b []byte) bool {
	return jsontext.Value(b).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

func decode(b []byte, v any, opts ...json.Options) error {
	if len(b) > MaxAnswer {
		return ErrTooLarge
	}
	if err := json.Unmarshal(b, v, opts...); err != nil {
		return plain(err)
	}
	return nil
}

// plain keeps what a reader of the error can use, where it broke and why, and
// leaves out Go types and the offending value, which may be a secret.
func plain(err error) error {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return fmt.Errorf("a name is stated twice below %s", pointer(syntax.JSONPointer.Parent()))
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("the document ends after %d bytes: %w", syntax.ByteOffset, io.ErrUnexpectedEOF)
		}
		return fmt.Errorf("not JSON at byte %d", syntax.ByteOffset)
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		kind := "value"
		if semantic.JSONKind > 0 {
			kind = semantic.JSONKind.String()
		}
		return fmt.Errorf("%s is a %s, which is not what stands there by contract", pointer(semantic.JSONPointer), kind)
	}
	return errors.New("not a JSON document")
}

func pointer(p jsontext.Pointer) string {
	if p == "" {
		return "the document"
	}
	// Its names are the server's, which chooses them.
	return sandbox.Echo(string(p))
}
