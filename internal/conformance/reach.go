package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// reach holds file calls to what the guest's own programs could do: nothing they
// leave or take is beyond them.
func reach() Suite {
	guestOwned := func(s Subject) string {
		if s.Backend.Declarations().WriteAuthority.Principal() == sandbox.PrincipalRoot {
			return "without files as guest: they are declared to be root's"
		}
		return ""
	}
	in, exec := sandbox.CapabilityFilesIn, sandbox.CapabilityExec
	return Suite{Name: "REACH", Probes: []Probe{
		{Name: "a-write-leaves-nothing-beyond-the-guest", Needs: []sandbox.Capability{exec, in}, Missing: guestOwned, Run: func(ctx context.Context, s *Scene) error {
			if _, err := s.do(ctx, "mkdir", s.work+"/reach-in"); err != nil {
				return notShown("the guest cannot make a directory: %v", err)
			}
			if err := errors.Join(s.mustWrite(ctx, "reach-in/landed.txt", "x"), s.mustWrite(ctx, "reach-in/made/landed.txt", "x")); err != nil {
				return err
			}
			for _, path := range []string{"/reach-in/landed.txt", "/reach-in/made/landed.txt"} {
				if _, err := s.do(ctx, "writable", s.work+path); err != nil {
					return fmt.Errorf("the guest cannot write what was written for it: %v", err) //nolint:errorlint // that it cannot is the failure here
				}
				if _, err := s.do(ctx, "deletable", s.work+path); err != nil {
					return fmt.Errorf("the guest cannot remove what was written for it: %v", err) //nolint:errorlint // as above
				}
			}
			return nil
		}},
		{Name: "what-the-guest-made-is-in-reach", Needs: []sandbox.Capability{exec, in, sandbox.CapabilityFilesOut}, Run: func(ctx context.Context, s *Scene) error {
			if _, err := s.do(ctx, "many", s.work+"/reach-out", "3"); err != nil {
				return notShown("the guest cannot make files: %v", err)
			}
			return errors.Join(s.holds(ctx, "reach-out/f0", nil), s.mustWrite(ctx, "reach-out/f1", "x"), s.holds(ctx, "reach-out/f1", []byte("x")))
		}},
		{Name: "a-removal-takes-nothing-beyond-the-guest", Needs: []sandbox.Capability{exec, in, sandbox.CapabilityFilesDelete}, Missing: guestOwned, Run: func(ctx context.Context, s *Scene) error {
			if _, err := s.do(ctx, "many", s.work+"/reach-delete/removable/inner", "2"); err != nil {
				return notShown("the guest cannot make files: %v", err)
			}
			if err := errors.Join(s.mustWrite(ctx, "reach-delete/held/keep.txt", "keep"), s.Remove(ctx, "reach-delete/removable", true)); err != nil {
				return err
			}
			out, err := s.do(ctx, "exists", s.work+"/reach-delete/removable")
			if err != nil || string(out) != "no" {
				return otherwise(err, "what the guest made is there after its removal")
			}
			// Where the guest can take the file away itself, so may a removal.
			if _, err := s.do(ctx, "deletable", s.work+"/reach-delete/held/keep.txt"); err == nil {
				return nil
			}
			err = s.Remove(ctx, "reach-delete/held", true)
			if out, checkErr := s.do(ctx, "exists", s.work+"/reach-delete/held/keep.txt"); checkErr != nil || string(out) != "yes" {
				return otherwise(errors.Join(err, checkErr), "a removal took what the guest could not")
			}
			return nil
		}},
	}}
}
