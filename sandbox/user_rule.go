package sandbox

// UserRule says what a guest's user decides about a workload. Where a backend
// writes files as root, those files and the directories around them are not the
// program's: another user can create nothing beside them, so it can neither leave
// outputs nor answer host tools, and removing files on its behalf would reach
// further than it does.
//
// A plan asks with the user that an image is configured to have, a backend with the
// one that its guest turns out to have, and both get their answer here.
type UserRule struct {
	// Files is with whose power the backend writes files.
	Files WriteAuthority
	// Backend is the backend's name, for messages.
	Backend string
}

// Applies reports whether the user decides anything at all.
func (r UserRule) Applies() bool { return r.Files.Principal() == PrincipalRoot }

// Matters reports whether the user decides anything about a workload that
// requires this, so that whoever does not know it asks.
func (r UserRule) Matters(requires CapabilitySet) bool {
	return !requires.Intersect(r.needUser()).Empty()
}

// Asks reports whether a backend asks a guest who its user is: [UserRule.Matters],
// or a program is run, about which a warning may be due.
func (r UserRule) Asks(requires CapabilitySet) bool {
	return r.Matters(requires) || r.Applies() && requires.Has(CapabilityExec)
}

func (r UserRule) needUser() CapabilitySet {
	if !r.Applies() {
		return CapabilitySet{}
	}
	return SetOf(CapabilityFilesOut, CapabilityHostTools, CapabilityFilesDelete)
}

// Blocked are the capabilities that the workload requires and a program of this
// user cannot have: files_out and host_tools when the user is known to be another
// than root, files_delete unless it is known to be root.
func (r UserRule) Blocked(user GuestUser, requires CapabilitySet) CapabilitySet {
	var blocked CapabilitySet
	if user.IsOther() {
		blocked = SetOf(CapabilityFilesOut, CapabilityHostTools)
	}
	if !user.IsRoot() {
		blocked = blocked.Union(SetOf(CapabilityFilesDelete))
	}
	return blocked.Intersect(requires).Intersect(r.needUser())
}

// Finding is what the rule has to say of a user, if anything: a denial
// when capabilities are blocked, and a warning when a program of another user than
// root only runs. Its path is the caller's to set.
func (r UserRule) Finding(user GuestUser, requires CapabilitySet) (Finding, bool) {
	blocked := r.Blocked(user, requires)
	switch {
	case !blocked.Empty():
		return Finding{
			Verdict: Deny, Code: CodeImageUserUnfit,
			Found:    user.String() + " with " + blocked.String() + " required",
			Required: "an image that runs as root: backend " + r.Backend + " writes files as root, and the program " + r.consequence(user),
			Remedy:   "use an image whose user is root, or take " + blocked.String() + " out of requires",
		}, true
	case user.IsOther() && r.Asks(requires) && requires.Has(CapabilityExec):
		return Finding{
			Verdict: Allow, Code: CodeImageUserUnfit,
			Found: user.String(), Required: "root, for a program that writes beside uploaded files",
			Remedy: "leave it if the program only executes, else use an image whose user is root",
		}, true
	default:
		return Finding{}, false
	}
}

func (r UserRule) consequence(user GuestUser) string {
	if user.IsOther() {
		return "runs as somebody else and can create nothing beside them"
	}
	return "may not be root, which could remove more than the program can"
}
