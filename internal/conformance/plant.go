package conformance

import (
	"context"
	"errors"
	"fmt"
	stdpath "path"
)

// plant lays out plain files that must stay usable and, where links are wanted,
// the attack: links in the work directory that lead to a neighbour of it.
func (s *Scene) plant(ctx context.Context, layout Layout) (err error) {
	if layout == Empty {
		return nil
	}
	if err := s.openGuest(ctx, layout); err != nil {
		return err
	}
	if s.guest == nil {
		return errors.Join(s.mustWrite(ctx, "real/inside.txt", insideText), s.mustWrite(ctx, "plain.txt", plainText))
	}
	err = errors.Join(
		s.guest.WriteFile(s.work+"/real/inside.txt", []byte(insideText)),
		s.guest.WriteFile(s.work+"/plain.txt", []byte(plainText)),
	)
	if err != nil {
		return notShown("planting files: %v", err)
	}
	if layout == Links {
		return s.plantLinks()
	}
	return nil
}

// openGuest finds the way to plant things. Plain files need none where the layer
// itself can write and read them.
func (s *Scene) openGuest(ctx context.Context, layout Layout) (err error) {
	switch {
	case s.subject.Behind != nil:
		if s.guest, err = s.subject.Behind(s.Info().InstanceID); err != nil {
			return notShown("behind the layer: %v", err)
		}
		return nil
	case layout == Links, lacks(s.subject, Suite{}, Probe{Layout: Files}) != "":
		if s.inside, err = s.enter(ctx); err != nil {
			return err
		}
		s.guest = &insideGuest{ctx: ctx, scene: s}
	}
	return nil
}

func (s *Scene) plantLinks() error {
	// The neighbour shares the work directory's spelling as a prefix on purpose.
	// A guest that may make nothing there has other places.
	var cannot error
	for _, outside := range []string{s.work + "-outside", "/tmp/" + stdpath.Base(s.work) + "-outside"} {
		err := s.guest.WriteFile(outside+"/secret.txt", []byte(secret))
		if err == nil {
			s.outside, cannot = outside, nil
			break
		}
		cannot = errors.Join(cannot, fmt.Errorf("%s: %v", outside, err)) //nolint:errorlint // what it is does not matter here
	}
	if cannot != nil {
		return notShown("no place outside the work directory can be written: %v", cannot)
	}
	err := errors.Join(
		s.guest.WriteFile(s.outside+"/sub/leaf.txt", []byte(secret)),
		s.guest.Symlink(s.work+"/link-dir", s.outside),
		s.guest.Symlink(s.work+"/link-file", s.outside+"/secret.txt"),
	)
	if err != nil {
		return notShown("planting links: %v", err)
	}
	// The premise: whoever follows these links gets the secret.
	for _, path := range []string{"/link-dir/secret.txt", "/link-file"} {
		got, err := s.guest.ReadFile(s.work + path)
		if err != nil || string(got) != secret {
			return notShown("following %s does not lead to the secret: %v", path, err)
		}
	}
	return nil
}

// linkWorkDir replaces the work directory by a link to its neighbour.
func (s *Scene) linkWorkDir() error {
	if s.inside != nil {
		return s.inside.relocate(s)
	}
	return errors.Join(s.guest.Remove(s.work), s.guest.Symlink(s.work, s.outside))
}
