package acas

import (
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// outputs are the files in the guest that a program writes its streams to: with pipes,
// whoever inherits one would hold the call, and what carries them off would run beside
// the program. Names are random, and the files are made and nothing else taken for them.
func outputs(token string) (stdout, stderr string) {
	return "/tmp/.sandbox-out-" + token, "/tmp/.sandbox-err-" + token
}

// mark is on the first line of a script, by which its shell is found among the guest's
// processes.
func mark(token string) string { return ": sandbox-" + token }

// scriptOf is the script that runs a program. When that has ended, the script makes
// way for another without the mark, whose helpers are not to be ended. Its last line of output is the token
// and how it went; what stands before it is the program's output, and its error
// stream is the program's.
func scriptOf(cmd engine.ExecRequest, token string, in input) string {
	argv := []string{"exec"} // in a shell of its own: it runs programs, and no word of the shell's
	if len(cmd.Env) > 0 {
		argv = append(append(argv, "env"), quoted(cmd.Env)...)
	}
	argv = append(argv, quoted(cmd.Args)...)
	stdout, stderr := outputs(token)
	most := strconv.Itoa(maxStream + 1)
	end := "head -c " + most + " " + stdout + " | base64\n" +
		"head -c " + most + " " + stderr + " | base64 >&2\n" +
		"rm -f " + stdout + " " + stderr + "\n" +
		"echo \"" + token + " $1\"\n"
	// 5 is the script's own error stream, which the program has not. What a shell says
	// itself, as of a program that was killed, goes nowhere.
	return mark(token) + "\n" +
		"exec 5>&2 2>/dev/null\n" +
		"cd -- " + quote(cmd.Dir) + " || { echo " + token + " dir; exit; }\n" +
		"for t in base64 head rm; do command -v $t >/dev/null || { echo " + token + " tools; exit; }; done\n" +
		"(umask 077; set -C; : >" + stdout + " && : >" + stderr + ") || { echo " + token + " tmp; exit; }\n" +
		in.redirect("("+strings.Join(argv, " ")+") >>"+stdout+" 2>>"+stderr+" 5>&-") +
		"exec /bin/sh -c " + quote(end) + " sh $rc 2>&5 5>&-\n"
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
			word.WriteString(`"$(printf '`)
			for _, b := range []byte(run) {
				fmt.Fprintf(&word, `\%03o`, b)
			}
			word.WriteString(`')"`)
		}
	}
	if word.Len() == 0 {
		return "''"
	}
	return word.String()
}

// answered reads what the script left.
func answered(result wire.ExecResult, token string, cmd engine.ExecRequest, in input) (int, error) {
	before, word, found := strings.Cut(result.Stdout, token+" ")
	word = strings.TrimSpace(word)
	switch {
	case !found:
		return 0, fmt.Errorf("run a program: the guest's shell did not come to its end: %w", engine.ErrCrashed)
	case word == "dir":
		return 0, fmt.Errorf("go to %s: %w", sandbox.Echo(cmd.Dir), engine.ErrNotDirectory)
	case word == "tools":
		return 0, fmt.Errorf("the image lacks base64, head or rm, which carry what a program writes: %w", engine.ErrRefused)
	case word == "tmp":
		return 0, fmt.Errorf("the image's user cannot write to /tmp, where a program's output is kept until it ends: %w", engine.ErrRefused)
	case word == "input" && in.cut:
		return 0, errInput
	}
	code, err := strconv.ParseUint(word, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("run a program: the guest's shell said %s for an exit code: %w", sandbox.Echo(word), engine.ErrCrashed)
	}
	if err := pass(before, cmd.Stdout); err != nil {
		return 0, err
	}
	return int(code), pass(result.Stderr, cmd.Stderr)
}

// pass writes a stream on.
func pass(encoded string, to io.Writer) error {
	plain, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(encoded), ""))
	if err != nil {
		return fmt.Errorf("read a program's output: it is not what the script wrote: %w", engine.ErrCrashed)
	}
	if to != nil {
		if _, err := to.Write(plain[:min(len(plain), maxStream)]); err != nil {
			return err
		}
	}
	if len(plain) > maxStream {
		return fmt.Errorf("a program wrote over %d bytes to a stream, which is more than the service carries: %w", maxStream, engine.ErrNoSpace)
	}
	return nil
}
