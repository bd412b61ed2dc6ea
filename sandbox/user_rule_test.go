package sandbox_test

import (
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func TestUserRuleBlocksWhatTheUserCannotHave(t *testing.T) {
	t.Parallel()
	all := sandbox.SetOf(sandbox.Capabilities()...)
	root := sandbox.UserRule{Files: sandbox.WriteAuthorityRoot, Backend: "acas"}
	confined := sandbox.UserRule{Files: sandbox.WriteAuthorityRootConfined, Backend: "docker"}
	guest := sandbox.UserRule{Files: sandbox.WriteAuthorityGuest, Backend: "process"}
	for _, c := range []struct {
		name     string
		rule     sandbox.UserRule
		user     string
		requires sandbox.CapabilitySet
		blocked  string
	}{
		{"root has all", root, "0", all, ""},
		{"another user", root, "1654", all, "[files_delete files_out host_tools]"},
		{"another user where files are confined", confined, "1654", all, "[files_delete files_out host_tools]"},
		{"another user where files are its own", guest, "1654", all, ""},
		{"a name", root, "app", all, "[files_delete]"},
		{"nobody knows", root, "", all, "[files_delete]"},
		{"what is not required", root, "1654", sandbox.SetOf(sandbox.CapabilityHostTools), "[host_tools]"},
		{"exec alone", root, "1654", sandbox.SetOf(sandbox.CapabilityExec), ""},
		{"a backend that says nothing", sandbox.UserRule{}, "1654", all, ""},
	} {
		user, err := sandbox.ParseGuestUser(c.user)
		if err != nil {
			t.Fatal(err)
		}
		blocked := c.rule.Blocked(user, c.requires)
		if got := text(blocked); got != c.blocked {
			t.Errorf("%s: blocked %s, want %s", c.name, got, c.blocked)
		}
		f, found := c.rule.Finding(user, c.requires)
		if denied := found && f.Verdict == sandbox.Deny; denied == blocked.Empty() {
			t.Errorf("%s: finding %+v", c.name, f)
		}
	}
}

func text(s sandbox.CapabilitySet) string {
	if s.Empty() {
		return ""
	}
	out := "["
	for i, word := range s.Strings() {
		if i > 0 {
			out += " "
		}
		out += word
	}
	return out + "]"
}

func TestUserRuleWarnsOfAnotherUserThatOnlyRuns(t *testing.T) {
	t.Parallel()
	rule := sandbox.UserRule{Files: sandbox.WriteAuthorityRoot, Backend: "acas"}
	other := sandbox.MeasuredUser(1000)
	f, found := rule.Finding(other, sandbox.SetOf(sandbox.CapabilityExec))
	if !found || f.Verdict != sandbox.Allow || f.Code != sandbox.CodeImageUserUnfit || f.Found != "uid 1000" {
		t.Errorf("found %t: %+v", found, f)
	}
	for name, quiet := range map[string]struct {
		rule     sandbox.UserRule
		user     sandbox.GuestUser
		requires sandbox.CapabilitySet
	}{
		"root":                       {rule, sandbox.MeasuredUser(0), sandbox.SetOf(sandbox.CapabilityExec)},
		"nobody knows":               {rule, sandbox.GuestUser{}, sandbox.SetOf(sandbox.CapabilityExec)},
		"nothing runs":               {rule, other, sandbox.SetOf(sandbox.CapabilityFilesIn)},
		"files are the program's":    {sandbox.UserRule{Files: sandbox.WriteAuthorityGuest}, other, sandbox.SetOf(sandbox.CapabilityExec)},
		"the backend says nothing":   {sandbox.UserRule{}, other, sandbox.SetOf(sandbox.CapabilityExec)},
		"nothing at all is required": {rule, other, sandbox.CapabilitySet{}},
	} {
		if f, found := quiet.rule.Finding(quiet.user, quiet.requires); found {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
