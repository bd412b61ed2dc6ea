package frame

import "strings"

// Stop is the script that kills what a script runs, until nothing of it is left, and not its shell,
// which then says what the program wrote. It needs sh and /proc. A program belongs to
// the script when it descends from its shell or, where that leads a session, is in
// it. One that left both, as a server does that is to stay, is let be.
//
// Once the shell has lost its mark, the program has ended, and what descends from it
// carries the output off: only what else is in its session is ended then. The mark is
// looked for again before anything is, in case it was lost meanwhile. The token stands
// in the script in two halves, so that it does not find itself.
func Stop(token string) string {
	half := len(token) / 2
	return stopping + token[:half] + stopHalf + token[half:] + stopLoop
}

const (
	stopping = "exec 2>/dev/null\na="
	stopHalf = " b="
)

// ReadStop reads [Stop] back.
func ReadStop(script string) (token string, ok bool) {
	halves, ok := strings.CutPrefix(strings.TrimSuffix(script, stopLoop), stopping)
	token = strings.Replace(halves, stopHalf, "", 1)
	return token, ok && Stop(token) == script
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
