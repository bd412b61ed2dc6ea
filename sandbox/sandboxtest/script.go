package sandboxtest

import (
	"context"
	"fmt"
	"io"
	stdpath "path"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// Script is a language for [Options.RunCode]: one statement a line.
//
//	out TEXT        write to standard output     err TEXT    write to standard error
//	cat             copy standard input          loop        never end
//	flood           write without end            exit N      end with that code
//	write FILE TEXT write a file                 get NAME    write "fresh": nothing survives
//	link PATH TO    make a link                  set NAME    set a global
//
// Files are relative to the working directory.
func Script(ctx context.Context, fs *View, req engine.CodeRequest) (exitCode int, err error) {
	for line := range strings.SplitSeq(string(req.Source), "\n") {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		first, second, _ := strings.Cut(rest, " ")
		switch verb {
		case "", "set":
		case "out":
			_, err = io.WriteString(req.Stdout, rest)
		case "err":
			_, err = io.WriteString(req.Stderr, rest)
		case "get":
			_, err = io.WriteString(req.Stdout, "fresh")
		case "cat":
			if req.Stdin != nil {
				_, err = io.Copy(req.Stdout, req.Stdin)
			}
		case "write":
			err = fs.WriteFile(stdpath.Join(req.Dir, first), []byte(second))
		case "link":
			err = fs.Symlink(stdpath.Join(req.Dir, first), second)
		case "flood":
			for err == nil {
				_, err = io.WriteString(req.Stdout, strings.Repeat("x", 4096))
			}
		case "loop":
			<-ctx.Done()
			err = ctx.Err()
		case "exit":
			return strconv.Atoi(rest)
		default:
			_, err = fmt.Fprintf(req.Stderr, "no such statement: %q", verb)
			return 1, err
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// ScriptPrograms are the conformance programs in [Script].
func ScriptPrograms() Programs {
	return Programs{
		Streams: "out to stdout\nerr to stderr\nexit 7", Loop: "loop", Flood: "flood", Echo: "cat",
		SetGlobal: "set x", GetGlobal: "get x", WriteFile: "write made.txt from the program",
	}
}
