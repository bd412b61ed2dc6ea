package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdpath "path"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

const (
	// raceSwaps is how often the other side has to be seen to have changed before a
	// race is over; raceRounds is when it is over anyway.
	raceSwaps  = 120
	raceRounds = 20_000
	// raceStill is after how many rounds without a change the two are laid out anew.
	raceStill = 50
)

// races are run against a program in the guest that exchanges a real file or
// directory with a link all the while.
func races() Suite {
	files := func(more ...sandbox.Capability) []sandbox.Capability {
		return append([]sandbox.Capability{sandbox.CapabilityFilesIn, sandbox.CapabilityFilesOut}, more...)
	}
	return Suite{Name: "RACES", Gate: sandbox.CapabilityExec, Probes: []Probe{
		{Name: "a-read-through-a-swapped-directory", Layout: Links, Needs: files(), Run: func(ctx context.Context, s *Scene) error {
			return s.race(ctx, directory, func(race string) error { return s.neverSecret(ctx, race+"/secret.txt") })
		}},
		{Name: "a-read-of-a-swapped-file", Layout: Links, Needs: files(), Run: func(ctx context.Context, s *Scene) error {
			return s.race(ctx, leaf, func(race string) error { return s.neverSecret(ctx, race) })
		}},
		{Name: "a-stat-through-a-swapped-directory", Layout: Links, Needs: files(), Run: func(ctx context.Context, s *Scene) error {
			return s.race(ctx, directory, func(race string) error {
				if entry, err := s.Stat(ctx, race+"/sub/leaf.txt"); err == nil {
					return fmt.Errorf("stat found what is outside: %+v", entry)
				}
				return nil
			})
		}},
		{Name: "a-write-through-a-swapped-directory", Layout: Links, Needs: files(), Run: func(ctx context.Context, s *Scene) error {
			err := s.race(ctx, directory, func(race string) error {
				_ = s.write(ctx, race+"/landed.txt", "x") // refused or not: only where it lands matters
				_ = s.write(ctx, race+"/deep/landed.txt", "x")
				return nil
			})
			return errors.Join(err, s.absent(ctx, s.outside+"/landed.txt"), s.absent(ctx, s.outside+"/deep"))
		}},
		{Name: "a-write-onto-a-swapped-file", Layout: Links, Needs: files(), Run: func(ctx context.Context, s *Scene) error {
			err := s.race(ctx, leaf, func(race string) error {
				_ = s.write(ctx, race, "overwritten")
				return nil
			})
			return errors.Join(err, s.survives(ctx, s.outside+"/secret.txt", secret))
		}},
		{Name: "a-removal-through-a-swapped-directory", Layout: Links, Needs: files(sandbox.CapabilityFilesDelete), Run: func(ctx context.Context, s *Scene) error {
			err := s.race(ctx, directory, func(race string) error {
				_ = s.Remove(ctx, race+"/secret.txt", false)
				_ = s.Remove(ctx, race+"/sub", true)
				return nil
			})
			return errors.Join(err, s.survives(ctx, s.outside+"/secret.txt", secret), s.survives(ctx, s.outside+"/sub/leaf.txt", secret))
		}},
		{Name: "a-recursive-removal-over-a-swapped-directory", Layout: Links, Needs: files(sandbox.CapabilityFilesDelete), Run: func(ctx context.Context, s *Scene) error {
			err := s.race(ctx, directory, func(race string) error {
				_ = s.Remove(ctx, race, true)
				_ = s.plantRace(directory, s.work+"/swapped") // so that there are two again
				return nil
			})
			return errors.Join(err, s.survives(ctx, s.outside+"/secret.txt", secret), s.survives(ctx, s.outside+"/sub/leaf.txt", secret))
		}},
		{Name: "a-listing-of-a-swapped-directory", Layout: Links, Needs: files(sandbox.CapabilityFilesList), Run: func(ctx context.Context, s *Scene) error {
			return s.race(ctx, directory, func(race string) error {
				entries, err := s.List(ctx, race)
				for _, e := range entries {
					if err == nil && stdpath.Base(e.Path) == "sub" {
						return errors.New("the listing shows what is outside")
					}
				}
				return nil
			})
		}},
	}}
}

// What is exchanged with a link to its like outside.
const (
	directory = "directory"
	leaf      = "file"
)

// race plants the two things, starts the swapper, waits until it is seen at work,
// runs the attacked operation many times and ends the swapper.
func (s *Scene) race(ctx context.Context, kind string, operation func(race string) error) error {
	const dir = "swapped"
	err := s.plantRace(kind, s.work+"/"+dir)
	if err != nil {
		return notShown("planting the race: %v", err)
	}
	if _, err := s.enter(ctx); err != nil {
		return err
	}

	until, end := io.Pipe()
	type ended struct {
		answer answer
		err    error
	}
	swapper := make(chan ended, 1)
	go func() {
		a, err := s.ask(ctx, sandbox.Command{Args: []string{"swap", s.work + "/" + dir}, Stdin: until, Timeout: probeBound})
		_ = until.Close() // so that nobody waits to write to a program that is gone
		swapper <- ended{a, err}
	}()
	swaps, still := 0, 0
	for round, was := 0, false; err == nil && swaps < raceSwaps && round < raceRounds && ctx.Err() == nil; round++ {
		link := s.isLink(ctx, dir+"/race")
		if still++; link != was {
			swaps, still = swaps+1, 0
		}
		if was = link; still > raceStill {
			// The operation took one of the two away, as it may.
			_, still = s.plantRace(kind, s.work+"/"+dir), 0
		}
		err = operation(dir + "/race")
	}
	_ = end.Close()
	result := <-swapper
	switch {
	case err != nil:
		return err
	case result.err != nil:
		return notShown("the swapper: %v", result.err)
	case swaps < raceSwaps:
		return notShown("the swapper exchanged %d times and was seen to %d times", result.answer.Tried, swaps)
	}
	return nil
}

// plantRace lays the two out. The link comes last and goes first, so that nothing
// that is planted meanwhile goes through it.
func (s *Scene) plantRace(kind, dir string) error {
	target, real := s.outside, dir+"/race/inside.txt"
	if kind == leaf {
		target, real = s.outside+"/secret.txt", dir+"/race"
	}
	return errors.Join(s.guest.Remove(dir+"/decoy"), s.guest.Remove(dir+"/race"),
		s.guest.WriteFile(real, []byte(insideText)), s.guest.Symlink(dir+"/decoy", target))
}

// isLink looks at the place as the layer shows it.
func (s *Scene) isLink(ctx context.Context, path string) bool {
	entry, err := s.Stat(ctx, path)
	return err == nil && entry.Kind == sandbox.EntrySymlink
}

// neverSecret reads; it may be refused, and it may get what is inside.
func (s *Scene) neverSecret(ctx context.Context, path string) error {
	got, err := s.ReadFile(ctx, path, maxRead)
	if strings.Contains(string(got), secret) {
		return errors.Join(errors.New("the secret was read"), err)
	}
	return nil
}
