package wire

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Segments gives the values for the names in a path template.
type Segments map[string]string

// Expand puts values into a path template, percent-encoded. A value that could
// change which path is meant is refused, and so is a template whose name has no
// value: a request never goes to another object than the one that was named.
func Expand(template string, values Segments) (string, error) {
	parts := strings.Split(template, "/")
	for i, part := range parts {
		name, ok := strings.CutPrefix(part, "{")
		if !ok {
			continue
		}
		name = strings.TrimSuffix(name, "}")
		value := values[name]
		if err := CheckSegment(value); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		parts[i] = url.PathEscape(value)
	}
	return strings.Join(parts, "/"), nil
}

// maxSegment is longer than any name the service gives or takes.
const maxSegment = 260

// SegmentGrammar is what [CheckSegment] takes, in words.
func SegmentGrammar() string {
	return fmt.Sprintf("1 to %d bytes of UTF-8 without spaces, control characters, `%s` and `..`, and not `.`", maxSegment, strings.Join(strings.Split(separators, ""), "`, `"))
}

// separators separate parts of a URL.
const separators = `/\%?#`

// CheckSegment reports why value cannot stand as one segment of a path: servers
// and proxies disagree about separators, dot segments and encoded ones, so none
// is sent.
func CheckSegment(value string) error {
	switch {
	case value == "":
		return fmt.Errorf("is empty")
	case len(value) > maxSegment:
		return fmt.Errorf("is longer than %d bytes", maxSegment)
	case !utf8.ValidString(value):
		return fmt.Errorf("is not UTF-8")
	case value == ".":
		return fmt.Errorf("is a dot segment")
	case strings.Contains(value, ".."):
		return fmt.Errorf(`holds ".."`)
	}
	for _, r := range value {
		switch {
		case strings.ContainsRune(separators, r):
			return fmt.Errorf("holds %q, which separates parts of a URL", r)
		case !unicode.IsGraphic(r) || unicode.IsSpace(r):
			return fmt.Errorf("holds %q", r)
		}
	}
	return nil
}
