// Package frame writes the script by which a program runs in a sandbox of the service,
// whose only door for commands is a shell that carries text, and reads such a script
// back for an emulator's guests that have no shell. It runs nothing.
//
// Read [Script] and [Read].
package frame

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Program is what runs.
type Program struct {
	// Args are its name and its arguments, Env the NAME=VALUE that it has beside the
	// guest's own.
	Args, Env []string
	// Dir is where it runs.
	Dir string
	// Stdin is the file of the guest that it reads.
	Stdin string
	// Token begins the last line of what the script writes.
	Token string
}

// NoStdin is the [Program.Stdin] of one that is given nothing to read.
const NoStdin = "/dev/null"

// What stands behind the token in place of an exit code: that Dir is no directory, and
// that the guest lacks what carries the streams.
const (
	NoDir   = "dir"
	NoTools = "tools"
)

// The script's parts, in order. 3 is where the exit code goes, 4 and 5 are the
// script's own streams. The program has none of them, and runs in a shell of its own
// under exec: it runs programs, and no word of the shell's.
const (
	toDir      = "exec 4>&1 5>&2\ncd -- "
	sayNoDir   = " 2>/dev/null || { echo "
	checkTools = " " + NoDir + "; exit; }\nfor t in base64 head; do command -v $t >/dev/null || { echo "
	toArgs     = " " + NoTools + "; exit; }; done\nrc=$({ { { (exec "
	withEnv    = "env "
	toStdin    = ") <"
	carry      = " 3>&- 4>&- 5>&-; echo $? >&3; } | head -c "
)

// Script runs a program. Its last line of output is the token and how it went; what
// stands before it is the program's output in base64, and its error stream is the
// program's, in base64 too. Of each, most bytes are carried.
func Script(p Program, most int) string {
	var words []string
	if len(p.Env) > 0 {
		words = append([]string{strings.TrimSpace(withEnv)}, quoted(p.Env)...)
	}
	words = append(words, quoted(p.Args)...)
	limit := strconv.Itoa(most)
	return toDir + quote(p.Dir) + sayNoDir + p.Token + checkTools + p.Token + toArgs + strings.Join(words, " ") +
		toStdin + quote(p.Stdin) + carry + limit + " | base64 >&4 3>&- 5>&-; } 2>&1 | head -c " + limit + " | base64 >&5 3>&- 4>&-; } 3>&1)\n" +
		"echo \"" + p.Token + " $rc\"\n"
}

func quoted(words []string) []string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = quote(w)
	}
	return all
}

// quote makes one word of a text, for a POSIX shell. A command travels as text, so
// bytes that are none are written by the shell's own printf.
func quote(text string) string {
	var word strings.Builder
	for plain := true; text != ""; plain = !plain {
		n := strings.IndexFunc(text, func(r rune) bool { return (r == utf8.RuneError) == plain })
		if n < 0 {
			n = len(text)
		}
		run := text[:n]
		text = text[n:]
		switch {
		case run == "":
		case plain || utf8.ValidString(run): // a replacement character is text
			word.WriteString("'" + strings.ReplaceAll(run, "'", `'\''`) + "'")
		default:
			word.WriteString(octalOpen)
			for _, b := range []byte(run) {
				fmt.Fprintf(&word, `\%03o`, b)
			}
			word.WriteString(octalShut)
		}
	}
	if word.Len() == 0 {
		return "''"
	}
	return word.String()
}

const (
	octalOpen = `"$(printf '`
	octalShut = `')"`
)
