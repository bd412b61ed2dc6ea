package acas

import (
	"context"
	"errors"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

const (
	// stopBound is how long a program is tried to be ended, and stopPause how long its
	// end is waited for before it is tried again: its shell may not have begun yet.
	stopBound = 10 * time.Second
	stopPause = time.Second
	// firstSize and lastSize are how often the output of a program that goes on is
	// looked at, at first and in the end.
	firstSize, lastSize = 200 * time.Millisecond, 5 * time.Second
)

// ended runs a script, and ends the program in it when ctx ends or when a stream is
// more than is carried. The error is that of a script whose end was not seen.
func (g *guest) ended(ctx context.Context, script, token string) (wire.ExecResult, error) {
	// The service does not end a command whose caller has left.
	calling, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	type end struct {
		result wire.ExecResult
		err    error
	}
	ends := make(chan end, 1)
	go func() {
		result, err := g.sandbox.ExecShell(calling, wire.ShellCommand{Command: script, WorkingDirectory: "/"})
		ends <- end{result, err}
	}()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	flooded := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if g.floods(watching, token) {
			close(flooded)
		}
	}()
	defer func() { stop(); <-watched }()

	select {
	case e := <-ends:
		return e.result, e.err
	case <-ctx.Done():
	case <-flooded:
	}
	stopping, cancel := context.WithTimeout(calling, stopBound)
	defer cancel()
	for stopping.Err() == nil {
		_, refused := g.sandbox.ExecShell(stopping, wire.ShellCommand{Command: stopScript(token), WorkingDirectory: "/"})
		pause := time.NewTimer(stopPause)
		select {
		case e := <-ends:
			pause.Stop()
			return e.result, e.err
		case <-pause.C:
		case <-stopping.Done():
		}
		if refused != nil {
			break
		}
	}
	leave()
	e := <-ends
	if e.err == nil {
		return e.result, nil
	}
	return wire.ExecResult{}, errors.Join(errNotEnded, e.err)
}

var errNotEnded = errors.New("the program could not be ended")

// floods looks, ever less often, whether a stream is more than is carried.
func (g *guest) floods(ctx context.Context, token string) bool {
	stdout, stderr := outputs(token)
	for wait := firstSize; ; wait = min(2*wait, lastSize) {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
		for _, name := range []string{stdout, stderr} {
			if info, err := g.sandbox.StatFile(ctx, name); err == nil && info.Size != nil && *info.Size > maxStream {
				return true
			}
		}
	}
}

// stopScript kills what a script runs, until nothing of it is left, and not its shell,
// which then says what the program wrote. It needs sh and /proc. A program belongs to
// the script when it descends from its shell or, where that leads a session, is in
// it. One that left both, as a server does that is to stay, is let be.
//
// Once the shell has lost its mark, the program has ended, and what descends from it
// carries the output off: only what else is in its session is ended then. The mark is
// looked for again before anything is, in case it was lost meanwhile. The token stands
// in the script in two halves, so that it does not find itself.
func stopScript(token string) string {
	half := len(token) / 2
	return `exec 2>/dev/null
a=` + token[:half] + ` b=` + token[half:] + stopLoop
}

// stopLoop reads all of a process' status, since its name may be anything.
const stopLoop = ` n=0 shell=
marked() {
  l=
  IFS= read -r l </proc/$1/cmdline
  case $l in *": sandbox-$a$b"*) return 0 ;; esac
  return 1
}
while [ $n -lt 50 ]; do
  n=$((n+1)) all= found=' ' on=
  for d in /proc/[0-9]*; do
    s=
    while IFS= read -r l || [ -n "$l" ]; do s="$s$l "; done <$d/stat || continue
    p=${d#/proc/}
    set -f; set -- ${s##*) }; set +f
    [ "$1" = Z ] && continue
    all="$all $p:$2:$4"
    marked $p && found="$found$p "
  done
  for x in $all; do
    p=${x%%:*} x=${x#*:}
    case $found in *" $p "*) case $found in *" ${x%%:*} "*) ;; *) shell=$p on=1 ;; esac ;; esac
  done
  [ -n "$shell" ] || break
  below=" $shell " grown=1
  while [ $grown = 1 ]; do
    grown=0
    for x in $all; do
      p=${x%%:*} x=${x#*:}
      case $below in *" $p "*) continue ;; esac
      case $below in *" ${x%%:*} "*) below="$below$p " grown=1 ;; esac
    done
  done
  doomed=
  [ -z "$on" ] || doomed=${below#" $shell "}
  for x in $all; do
    p=${x%%:*}
    [ "${x##*:}" = "$shell" ] || continue
    case $below in *" $p "*) ;; *) doomed="$doomed $p" ;; esac
  done
  [ -n "${doomed# }" ] || break
  [ -z "$on" ] || marked $shell || continue
  kill -9 $doomed
done
`
