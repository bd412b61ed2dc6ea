package backend

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

const (
	// userBound is how long a guest may take to say who its user is.
	userBound = 30 * time.Second
	// userText is how much of the answer is looked at: a uid is shorter.
	userText = 64
)

// users is what a backend remembers of its guests' users. The last answer of an
// image refuses a workload before another sandbox is made of it, and never admits
// one: each sandbox is asked itself.
type users struct {
	mu     sync.Mutex
	images map[sandbox.Image]sandbox.GuestUser
	warned map[warned]bool
}

// warned is what one warning is about.
type warned struct {
	image sandbox.Image
	kind  string
}

func (u *users) of(image sandbox.Image) (user sandbox.GuestUser, known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	user, known = u.images[image]
	return user, known
}

// told notes an answer. One that says nothing displaces none that did.
func (u *users) told(image sandbox.Image, user sandbox.GuestUser) {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, decided := user.UID()
	if _, known := u.images[image]; known && !decided {
		return
	}
	if u.images == nil {
		u.images = map[sandbox.Image]sandbox.GuestUser{}
	}
	u.images[image] = user
}

// first reports whether this is the first warning about the image and the kind.
func (u *users) first(about warned) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.warned[about] {
		return false
	}
	if u.warned == nil {
		u.warned = map[warned]bool{}
	}
	u.warned[about] = true
	return true
}

// userGate holds a guest's user against one request: the rule about files that the
// backend writes as root, which the plan asked about the image's configured user,
// and what the policies in force have to say.
//
// What a guest answers is what its image's id says. It is asked of a new sandbox
// before any other program runs in it; an image made to lie can lie.
type userGate struct {
	rule  sandbox.UserRule
	judge func(sandbox.GuestUser) []sandbox.Finding
	spec  *sandbox.Spec
	users *users
}

func (b *Backend) userGate(req *sandbox.AcquireRequest) userGate {
	return userGate{
		rule:  sandbox.UserRule{Files: b.declarations.WriteAuthority, Backend: b.Name()},
		judge: req.JudgeUser, spec: &req.Spec, users: &b.users,
	}
}

func (g userGate) asks() bool {
	return g.judge != nil || g.rule.Asks(g.spec.RequiredCapabilities())
}

func (g userGate) findings(user sandbox.GuestUser) []sandbox.Finding {
	var findings []sandbox.Finding
	if f, found := g.rule.Finding(user, g.spec.RequiredCapabilities()); found {
		f.Path = sandbox.Path("image", "user")
		findings = append(findings, f)
	}
	if g.judge != nil {
		findings = append(findings, g.judge(user)...)
	}
	return findings
}

// remembered refuses what the image's last answer refuses, before anything is made.
func (g userGate) remembered() error {
	if !g.asks() {
		return nil
	}
	user, known := g.users.of(g.spec.Image)
	if !known {
		return nil
	}
	return g.refusal(g.findings(user), true)
}

// refusal makes one error of what denies. It names the workload and its image, and
// says whether the same request would be answered without asking a guest.
func (g userGate) refusal(findings []sandbox.Finding, fromMemory bool) error {
	next := "; the next acquire asks the guest again"
	if fromMemory {
		next = "; until this backend is made anew, the same acquire is answered from memory"
	}
	var denied []sandbox.Finding
	for _, f := range findings {
		if f.Verdict != sandbox.Allow {
			f.Found = "a guest of kind " + sandbox.Echo(g.spec.Kind) + imageWords(g.spec.Image) + " that runs as " + f.Found
			f.Remedy += next
			denied = append(denied, f)
		}
	}
	return sandbox.Decide(denied).Err()
}

func imageWords(image sandbox.Image) string {
	switch name := image.Prebuilt + image.Reference; {
	case name == "":
		return ""
	case image.Digest != "":
		return ", image " + sandbox.Echo(name) + " at " + sandbox.Echo(image.Digest) + ","
	default:
		return ", image " + sandbox.Echo(name) + ","
	}
}

// admitUser asks the guest who its user is, unless it said so before, and refuses
// what that user cannot or must not do. Warnings are answered once for an image and
// a kind. The caller holds the sandbox's name.
func (s *session) admitUser(ctx context.Context, g userGate, started engine.Started) (warnings []sandbox.Finding, err error) {
	if !g.asks() {
		return nil, nil
	}
	told := s.inst.user.told(g.judge != nil)
	asked := !told
	if _, known := started.User.UID(); asked && known {
		s.inst.user = toldUser{is: started.User, uid: true, group: true}
	}
	if asked {
		if told, err = s.askUser(ctx, g.judge != nil); err != nil {
			return nil, err
		}
		if told {
			g.users.told(s.madeOf(), s.inst.user.is)
		}
	}
	findings := g.findings(s.inst.user.is)
	if sandbox.Decide(findings).Verdict != sandbox.Allow {
		fromMemory := told
		if started.Origin == sandbox.OriginCreated { // it will be removed, and the image's answer is what stays
			fromMemory = g.remembered() != nil
		}
		return nil, g.refusal(findings, fromMemory)
	}
	if !asked || len(findings) == 0 || !g.users.first(warned{g.spec.Image, g.spec.Kind}) {
		return nil, nil
	}
	return findings, nil
}

// madeOf is the image that the sandbox was made of.
func (s *session) madeOf() sandbox.Image {
	if made := s.backend.instances.specOf(s.inst); made != nil {
		return made.Image
	}
	return s.spec.Image // what another process made carries the digest of this spec
}

// toldUser is what one sandbox said of its user. It is guarded by the lock of the
// sandbox's name.
type toldUser struct {
	is         sandbox.GuestUser
	uid, group bool // said, if only that it cannot say
}

func (t toldUser) told(group bool) bool { return t.uid && (t.group || !group) }

// askUser asks the guest for what it has not said, and reports whether it answered.
// An answer that is no number is an answer too; a question that did not come through
// is asked again another time.
func (s *session) askUser(ctx context.Context, group bool) (told bool, err error) {
	user := &s.inst.user
	if !user.uid {
		n, answered, err := s.askNumber(ctx, "-u")
		if err != nil || !answered {
			return false, err
		}
		user.is, user.uid = sandbox.MeasuredUser(n), true
	}
	if group && !user.group {
		if user.is.IsOther() {
			n, answered, err := s.askNumber(ctx, "-g")
			if err != nil || !answered {
				return false, err
			}
			user.is = user.is.InGroup(n)
		}
		user.group = true
	}
	return true, nil
}

// askNumber runs id in the guest. What it prints is a number, or -1 stands for it.
func (s *session) askNumber(ctx context.Context, which string) (n int64, answered bool, err error) {
	execer, ok := s.guest.(engine.Execer)
	if !ok {
		return -1, true, nil
	}
	bounded, cancel := context.WithTimeout(ctx, userBound)
	defer cancel()
	var said beginning
	code, err := execer.Exec(bounded, engine.ExecRequest{Args: []string{"id", which}, Dir: "/", Stdout: &said, Stderr: io.Discard})
	switch {
	case err != nil && ctx.Err() != nil:
		return 0, false, ended(ctx, "ask a guest for its user")
	case err != nil:
		return 0, false, s.stillThere(ctx)
	case code != 0:
		return -1, true, nil
	}
	number, err := strconv.ParseUint(strings.TrimSpace(said.String()), 10, 31)
	if err != nil {
		return -1, true, nil
	}
	return int64(number), true, nil
}

// stillThere is an error when a question that did not come through took the
// sandbox with it, as it does where nobody can stop a program.
func (s *session) stillThere(ctx context.Context) error {
	if _, err := s.guest.Stat(ctx, s.above("/")); errors.Is(err, engine.ErrGone) {
		return mapError(ctx, "ask a guest for its user", err)
	}
	return nil
}

// beginning keeps the first of what is written to it.
type beginning struct{ kept []byte }

func (b *beginning) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), userText-len(b.kept))]...)
	return len(p), nil
}

func (b *beginning) String() string { return string(b.kept) }
