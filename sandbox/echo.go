package sandbox

import (
	"strconv"
	"unicode/utf8"
)

// maxEcho bounds how much of somebody's input an error repeats, in bytes.
const maxEcho = 120

// Echo quotes input for an error message: control, invisible and invalid bytes
// are escaped, and what is long is cut with its length said. Every message that
// repeats a value goes through here, so that a hostile one cannot forge a line
// or flood a log.
func Echo(input string) string {
	if EchoesWhole(input) {
		return strconv.QuoteToGraphic(input)
	}
	cut := maxEcho
	for cut > 0 && !utf8.RuneStart(input[cut]) {
		cut--
	}
	return strconv.QuoteToGraphic(input[:cut]) + "… (" + strconv.Itoa(len(input)) + " bytes)"
}

// EchoesWhole reports whether [Echo] repeats all of input. An edit to type is only
// worth proposing when it does.
func EchoesWhole(input string) bool { return len(input) <= maxEcho }
