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
	// Taken is how much the file has of an input that is longer; zero is all of it.
	Taken int
	// Token begins the last line of what the script writes.
	Token string
}

// NoStdin is the [Program.Stdin] of one that is given nothing to read.
const NoStdin = "/dev/null"

// What stands behind the token in place of an exit code: that Dir is no directory, that
// the guest lacks what carries the streams, that its user cannot write to /tmp, and that
// the program came to the end of an input that is longer.
const (
	NoDir    = "dir"
	NoTools  = "tools"
	NoTmp    = "tmp"
	AllTaken = "input"
)

// Outputs are the files in the guest that a program writes its streams to: with pipes,
// whoever inherits one would hold the call, and what carries them off would run beside
// the program. The script makes them, and takes nothing else for them.
func Outputs(token string) (stdout, stderr string) {
	return "/tmp/.sandbox-out-" + token, "/tmp/.sandbox-err-" + token
}

// The script's parts, in order. Its first line is the mark by which [Stop] finds its
// shell. 5 is the script's own error stream, 6 an input that is longer than its file;
// the program has neither, and runs in a shell of its own under exec: it runs programs,
// and no word of the shell's. What the shell says itself goes nowhere.
const (
	mark       = ": sandbox-"
	toDir      = "\nexec 5>&2 2>/dev/null\ncd -- "
	sayNoDir   = " || { echo "
	checkTools = " " + NoDir + "; exit; }\nfor t in base64 head rm; do command -v $t >/dev/null || { echo "
	checkTmp   = " " + NoTools + "; exit; }; done\n(umask 077; set -C; : >"
	toProgram  = " " + NoTmp + "; exit; }\n"
	longer     = "exec 6<"
	throughCat = "\ncat <&6 6<&- | "
	toArgs     = "(exec "
	withEnv    = "env "
	toOutputs  = ") >>"
	toStdin    = " 5>&- <"
	// Whether a longer input was taken whole, cat's place in it says. It comes by a
	// pipe, so that nobody sees its length.
	wasTaken = " 5>&- 6<&-\nrc=$?\nwhile read -r name at; do [ \"$name\" != pos: ] || [ $at -lt "
	sayTaken = " ] || rc=" + AllTaken + "; done </proc/$$/fdinfo/6 || rc=" + AllTaken + "\n"
	carry    = "exec /bin/sh -c 'head -c "
)

// Script runs a program. Its last line of output is the token and how it went; what
// stands before it is the program's output in base64, and its error stream is the
// program's, in base64 too. Of each, most bytes are carried. When the program has ended
// the script makes way for another without the mark, whose helpers are not to be ended.
func Script(p Program, most int) string {
	var words []string
	if len(p.Env) > 0 {
		words = append([]string{strings.TrimSpace(withEnv)}, quoted(p.Env)...)
	}
	words = append(words, quoted(p.Args)...)
	stdout, stderr := Outputs(p.Token)
	program := toArgs + strings.Join(words, " ") + toOutputs + stdout + " 2>>" + stderr
	if p.Taken > 0 {
		program = longer + quote(p.Stdin) + throughCat + program + wasTaken + strconv.Itoa(p.Taken) + sayTaken
	} else {
		program += toStdin + quote(p.Stdin) + "\nrc=$?\n"
	}
	limit := strconv.Itoa(most)
	return mark + p.Token + toDir + quote(p.Dir) + sayNoDir + p.Token + checkTools + p.Token +
		checkTmp + stdout + " && : >" + stderr + ") || { echo " + p.Token + toProgram + program +
		carry + limit + " " + stdout + " | base64\nhead -c " + limit + " " + stderr + " | base64 >&2\n" +
		"rm -f " + stdout + " " + stderr + "\necho \"" + p.Token + " $1\"\n' sh $rc 2>&5 5>&-\n"
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
