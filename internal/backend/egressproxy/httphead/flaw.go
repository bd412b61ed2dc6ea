package httphead

// Flaw is why a head is refused.
type Flaw uint8

// The flaws.
const (
	FlawNone Flaw = iota
	FlawLineEnd
	FlawControl
	FlawRequestLine
	FlawVersion
	FlawField
	FlawFolded
	FlawTooMany
	FlawTwoHosts
	FlawNoHost
	FlawLengthAndChunks
	FlawLength
	FlawEncoding
	FlawSpelling
)

var flawTexts = [...]string{
	FlawNone:            "nothing",
	FlawLineEnd:         "a line that does not end in CR LF",
	FlawControl:         "a control character",
	FlawRequestLine:     "a request line that is not a method, a target and a version with one space between them",
	FlawVersion:         "a version other than HTTP/1.1 and HTTP/1.0",
	FlawField:           "a header line without a name and a colon behind it",
	FlawFolded:          "a folded header line",
	FlawTooMany:         "too many header lines",
	FlawTwoHosts:        "two Host headers",
	FlawNoHost:          "no Host header",
	FlawLengthAndChunks: "Content-Length beside Transfer-Encoding",
	FlawLength:          "a Content-Length that is not one decimal number",
	FlawEncoding:        "a Transfer-Encoding other than one chunked",
	FlawSpelling:        "a Content-Length or Transfer-Encoding in another spelling",
}

// String says what is wrong: "two Host headers".
func (f Flaw) String() string { return flawTexts[f] }
