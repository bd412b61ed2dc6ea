// Package fault is the notation for a service that misbehaves: which requests are
// met, how often, and what happens to them.
//
// A fault is written as words joined with commas. "name=value" words say whom it
// meets ("op", "method", "path", "times", "skip") and what happens; a word alone
// is a name of [Presets]. "throttle,op=exec.shell,times=2" answers the first two
// commands with 429. What happens is only described here; the emulator does it.
//
// Read [Parse], then [Set.Meet].
package fault

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Effect is what happens to a request. The zero value is nothing.
type Effect struct {
	Latency time.Duration
	// Status is answered instead of doing anything; with it go Body ("empty",
	// "html", or a problem document), RetryAfter, RetryAfterMS and Location.
	Status                             int
	Body                               string
	RetryAfter, RetryAfterMS, Location string
	// Drop cuts the connection: "before" it was done, "after" it, or in the "mid" of
	// the answer.
	Drop string
	// Truncate breaks a JSON answer off, ContentType calls it something else.
	Truncate    bool
	ContentType string
	// Token is "reject" for 401 or "forbidden" for 403.
	Token string
	// Roles refuses a group's data plane with 403 until the group is so old.
	Roles time.Duration
	// Sandbox is "stuck" or "failed", for one that is made; Image "stuck", "fail",
	// "expired" or "slow:N"; ARM "stuck" or "fail", for an operation that is begun.
	Sandbox, Image, ARM string
	// Suspend is how long a stop takes.
	Suspend time.Duration
	// NoFlags leaves isDir and isSymlink out of files.
	NoFlags bool
	// Skew is how far the service's clock is off.
	Skew time.Duration
}

// Fault is an effect and whom it meets.
type Fault struct {
	text        string
	op, method  string
	path        string
	times, skip int // times is negative for always
	effect      Effect
}

// String is the notation that the fault was written in.
func (f *Fault) String() string { return f.text }

// Presets are faults that have a name, each in the notation itself.
func Presets() map[string]string {
	return map[string]string{
		"role-delay":    "roles=30s",
		"lost-create":   "drop=after,op=sandbox.create,times=1",
		"throttle":      "status=429,retry-after=1",
		"error-once":    "status=500,times=1",
		"dropped-body":  "drop=mid,times=1",
		"missing-flags": "flags=missing",
		"stuck-build":   "image=stuck",
		"expired-image": "image=expired",
		"slow-suspend":  "suspend=17s",
		"redirect":      "status=307,location=https://elsewhere.example/",
		"clock-skew":    "skew=10m",
	}
}

// words is what stands before "=", with how it is read.
func words() map[string]func(*Fault, string) error {
	return map[string]func(*Fault, string) error{
		"op":             func(f *Fault, v string) error { f.op = v; return nil },
		"method":         func(f *Fault, v string) error { f.method = strings.ToUpper(v); return nil },
		"path":           func(f *Fault, v string) error { f.path = v; return nil },
		"times":          func(f *Fault, v string) error { return number(&f.times, v) },
		"skip":           func(f *Fault, v string) error { return number(&f.skip, v) },
		"latency":        func(f *Fault, v string) error { return period(&f.effect.Latency, v) },
		"status":         readStatus,
		"body":           func(f *Fault, v string) error { return oneOf(&f.effect.Body, v, "empty", "html") },
		"retry-after":    func(f *Fault, v string) error { return header(&f.effect.RetryAfter, v) },
		"retry-after-ms": func(f *Fault, v string) error { return header(&f.effect.RetryAfterMS, v) },
		"location":       func(f *Fault, v string) error { return header(&f.effect.Location, v) },
		"drop":           func(f *Fault, v string) error { return oneOf(&f.effect.Drop, v, "before", "after", "mid") },
		"truncate":       func(f *Fault, v string) error { f.effect.Truncate = v != "0"; return nil },
		"content-type":   func(f *Fault, v string) error { return header(&f.effect.ContentType, v) },
		"token":          func(f *Fault, v string) error { return oneOf(&f.effect.Token, v, "reject", "forbidden") },
		"roles":          func(f *Fault, v string) error { return period(&f.effect.Roles, v) },
		"sandbox":        func(f *Fault, v string) error { return oneOf(&f.effect.Sandbox, v, "stuck", "failed") },
		"image":          readImage,
		"arm":            func(f *Fault, v string) error { return oneOf(&f.effect.ARM, v, "stuck", "fail") },
		"suspend":        func(f *Fault, v string) error { return period(&f.effect.Suspend, v) },
		"flags": func(f *Fault, v string) error {
			var word string
			f.effect.NoFlags = true
			return oneOf(&word, v, "missing")
		},
		"skew": func(f *Fault, v string) error { return period(&f.effect.Skew, v) },
	}
}

// Parse reads the notation.
func Parse(text string) (*Fault, error) {
	f := &Fault{text: text, times: -1}
	if err := f.read(text, false); err != nil {
		return nil, err
	}
	if f.effect == (Effect{}) {
		return nil, fmt.Errorf("the fault %q says whom it meets and not what happens", text)
	}
	return f, nil
}

func (f *Fault) read(text string, preset bool) error {
	known := words()
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		name, value, given := strings.Cut(word, "=")
		if spec, ok := Presets()[name]; ok && !given && !preset {
			if err := f.read(spec, true); err != nil {
				return err
			}
			continue
		}
		read, ok := known[name]
		if !ok || !given {
			return fmt.Errorf("a fault has no %q; it has %s and the names %s", word, list(known), list(Presets()))
		}
		if err := read(f, value); err != nil {
			return fmt.Errorf("%s of a fault: %w", name, err)
		}
	}
	return nil
}

func list[T any](m map[string]T) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }

func number(to *int, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a count", text)
	}
	*to = n
	return nil
}

// period reads "1m30s", and a bare number as seconds.
func period(to *time.Duration, text string) error {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > -1e6 && seconds < 1e6 {
		*to = time.Duration(seconds * float64(time.Second))
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a time such as 30s", text)
	}
	*to = d
	return nil
}

func oneOf(to *string, text string, allowed ...string) error {
	if !slices.Contains(allowed, text) {
		return fmt.Errorf("%q is not %s", text, strings.Join(allowed, " or "))
	}
	*to = text
	return nil
}

func header(to *string, text string) error {
	if strings.ContainsAny(text, "\r\n\x00") {
		return fmt.Errorf("%q cannot stand in a header", text)
	}
	*to = text
	return nil
}

func readStatus(f *Fault, text string) error {
	var n int
	if err := number(&n, text); err != nil {
		return err
	}
	if n < 200 || n > 599 {
		return fmt.Errorf("%d is not a status from 200 to 599", n)
	}
	f.effect.Status = n
	return nil
}

func readImage(f *Fault, text string) error {
	if count, ok := strings.CutPrefix(text, "slow:"); ok {
		var n int
		if err := number(&n, count); err != nil {
			return err
		}
		f.effect.Image = text
		return nil
	}
	return oneOf(&f.effect.Image, text, "stuck", "fail", "expired")
}

// Request is what a fault looks at.
type Request struct {
	// Op is the operation's name, empty for a request that is none.
	Op, Method, Path string
}

// Set is the faults that are switched on. The zero value is none; it is safe for
// concurrent use.
type Set struct {
	mu     sync.Mutex
	faults []*Fault
}

// Add switches a fault on.
func (s *Set) Add(f *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
}

// Clear switches all faults off.
func (s *Set) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// List is the notation of all that are switched on, those that have run out too.
func (s *Set) List() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]string, 0, len(s.faults))
	for _, f := range s.faults {
		all = append(all, f.text)
	}
	return all
}

// Meet is what happens to a request, which counts for the faults that meet it. Of
// two that say different things, the later one is heard. own are faults of this
// request alone.
func (s *Set) Meet(r Request, own ...*Fault) Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	var e Effect
	for _, f := range slices.Concat(s.faults, own) {
		if f.meets(r) {
			e.add(f.effect)
		}
	}
	return e
}

func (f *Fault) meets(r Request) bool {
	if (f.op != "" && f.op != r.Op) || (f.method != "" && f.method != r.Method) || (f.path != "" && !glob(f.path, r.Path)) {
		return false
	}
	switch {
	case f.skip > 0:
		f.skip--
		return false
	case f.times == 0:
		return false
	case f.times > 0:
		f.times--
	}
	return true
}

// glob matches a pattern in which "*" is anything, slashes too.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(text, first) || len(text) < len(first)+len(last) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}
