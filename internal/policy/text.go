package policy

import (
	"strconv"
	"strings"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// quoted joins words as "a", "b" for a message; nothing is said as such.
func quoted(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strconv.Quote(w)
	}
	return strings.Join(out, ", ")
}
