package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Import makes the one disk image of a registry reference.
type Import struct {
	// Body is the image to make; its reference is Body.Image.Base.
	Body wire.CreateImage
	// Marker is what the image carries as [acasapi.MarkerLabel]; empty is a new one. An
	// image of the reference that carries it already is this import's own, begun
	// earlier: it is waited for.
	Marker string
	// NoWait returns when the image is being built. Another import of the same
	// reference is then noticed only if it shows at once.
	NoWait bool
	// ReplaceFailed removes images of the reference whose build failed.
	ReplaceFailed bool
	// ReplaceOwnFailed removes them where each carries the marker of this product, and
	// nothing of anybody else's.
	ReplaceOwnFailed bool
	// Wait is for the build.
	Wait acasapi.Wait
	// Told, where it is not nil, hears which image it is as soon as that is known, and
	// again if it becomes another one.
	Told func(Imported)
}

func (i Import) tell(f Imported) {
	if i.Told != nil {
		i.Told(f)
	}
}

// Imported is what an import came to.
type Imported struct {
	// Image is the one image of the reference. Beside an error it is what exists now
	// and was not finished; without an id, nothing does.
	Image wire.Image
	// Existed says that the image was there before.
	Existed bool
	// Log is what the service said of a build that failed: its own words, of any
	// length.
	Log string
}

// Run looks for an image of the reference first, and makes one only where there is
// none: two images of one reference are refused by some of the service's clients and
// confused by others. Another import of the same reference at the same time is
// noticed: both keep the image that was made first.
//
// When ctx ends, or the build does not end in time, the image goes on being built,
// and a later run finds it. A build of ours that fails is removed.
func (i Import) Run(ctx context.Context, g *acasapi.Group) (Imported, error) {
	found, err := i.find(ctx, g)
	if err != nil {
		return found, err
	}
	if found.Image.ID == "" {
		if found.Image, err = g.StartImage(ctx, i.Body, i.Marker); err != nil {
			return Imported{}, err
		}
		i.tell(found)
		if found, err = i.settle(ctx, g, found); err != nil {
			return found, err
		}
	} else {
		i.tell(found)
	}
	if i.NoWait {
		return found, nil
	}
	for {
		if found, err = i.await(ctx, g, found); err != nil || found.Existed {
			return found, err
		}
		// The other import may not have seen ours when it looked.
		if found, err = i.settle(ctx, g, found); err != nil || !found.Existed {
			return found, err
		}
	}
}

// find looks for what is there of the reference.
func (i Import) find(ctx context.Context, g *acasapi.Group) (Imported, error) {
	usable, broken, err := i.list(ctx, g)
	if err != nil {
		return Imported{}, err
	}
	if len(usable) > 1 {
		return Imported{}, i.conflict("it has "+names(usable), "one disk image of a reference",
			"delete all but one: the service's other clients refuse such a reference or take the first image they find")
	}
	foreign := slices.ContainsFunc(broken, func(image wire.Image) bool { return !Ours(image.Labels) })
	if len(broken) > 0 && !i.ReplaceFailed && (!i.ReplaceOwnFailed || foreign) {
		return Imported{Image: broken[0], Existed: true, Log: broken[0].Why()}, &sandbox.Refusal{Finding: sandbox.Finding{
			Code: sandbox.CodeServiceFailed, Subject: i.object(), Found: "a build of it failed before and its image is still there: " + names(broken),
			Required: "one disk image of a reference",
		}}
	}
	for _, image := range broken {
		if err := g.DeleteImage(ctx, image.ID, acasapi.Wait{}); err != nil {
			return Imported{}, fmt.Errorf("remove a failed image of %s: %w", i.object(), err)
		}
	}
	if len(usable) == 0 {
		return Imported{}, nil
	}
	ours := i.Marker != "" && usable[0].Labels[acasapi.MarkerLabel] == i.Marker
	return Imported{Image: usable[0], Existed: !ours}, nil
}

// list gives the images of the reference, the first made first, and those whose build
// failed by themselves.
func (i Import) list(ctx context.Context, g *acasapi.Group) (usable, broken []wire.Image, err error) {
	for image, err := range g.Images(ctx, nil) {
		switch {
		case err != nil:
			return nil, nil, err
		case image.Reference() != i.Body.Image.Base:
		case wire.SameState(image.State(), wire.ImageFailed):
			broken = append(broken, image)
		default:
			usable = append(usable, image)
		}
	}
	slices.SortFunc(usable, func(a, b wire.Image) int {
		return cmp.Or(made(a).Compare(made(b)), cmp.Compare(a.ID, b.ID))
	})
	return usable, broken, nil
}

// made is when an image was made; one that does not say so comes last.
func made(image wire.Image) time.Time {
	if image.Status != nil {
		if at, err := time.Parse(time.RFC3339, image.Status.CreatedAt); err == nil {
			return at
		}
	}
	return time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC)
}

// settle gives way where another import made an image of the same reference at the
// same time, and before ours. Whoever looks, from either side, comes to the same one.
func (i Import) settle(ctx context.Context, g *acasapi.Group, ours Imported) (Imported, error) {
	usable, _, err := i.list(ctx, g)
	if err != nil {
		return ours, fmt.Errorf("look whether disk image %s is the only one of its reference: %w", sandbox.Echo(ours.Image.ID), err)
	}
	if len(usable) < 2 || usable[0].ID == ours.Image.ID {
		return ours, nil
	}
	if err := g.DeleteImage(ctx, ours.Image.ID, acasapi.Wait{}); err != nil {
		return ours, fmt.Errorf("remove disk image %s, since %s was made of the same reference at the same time: %w",
			sandbox.Echo(ours.Image.ID), sandbox.Echo(usable[0].ID), err)
	}
	other := Imported{Image: usable[0], Existed: true}
	i.tell(other)
	return other, nil
}

// removal bounds how long removing a failed image may take.
const removal = 45 * time.Second

func (i Import) await(ctx context.Context, g *acasapi.Group, found Imported) (Imported, error) {
	image, err := g.AwaitImage(ctx, found.Image, i.Wait)
	found.Image = image
	if errors.Is(err, sandbox.CodeServiceNotFound) {
		found.Image = wire.Image{} // somebody deleted it meanwhile
		return found, err
	}
	if err == nil || !wire.SameState(image.State(), wire.ImageFailed) {
		return found, err
	}
	found.Log = image.Why()
	if found.Existed {
		return found, err // somebody else's
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
	defer cancel()
	if left := g.DeleteImage(ctx, image.ID, acasapi.Wait{}); left != nil {
		return found, errors.Join(err, fmt.Errorf("remove the failed image: %w", left))
	}
	found.Image = wire.Image{}
	return found, err
}

func (i Import) object() string { return "image " + sandbox.Echo(i.Body.Image.Base) }

func (i Import) conflict(found, required, remedy string) error {
	return &sandbox.Refusal{Finding: sandbox.Finding{
		Code: sandbox.CodeServiceConflict, Subject: i.object(), Found: found, Required: required, Remedy: remedy,
	}}
}

// names are images by id and state, a few of them.
func names(images []wire.Image) string {
	const most = 6
	var words []string
	for n, image := range images {
		if n == most {
			words = append(words, fmt.Sprintf("%d more", len(images)-most))
			break
		}
		words = append(words, sandbox.Echo(image.ID)+" ("+sandbox.Echo(image.State())+")")
	}
	return strings.Join(words, ", ")
}
