package acasapi

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// CreateImage makes a disk image from a registry reference and waits until it is
// ready. One that fails to build, or does not get ready in time, is removed again:
// two images of one reference confuse the service's other clients.
func (g *Group) CreateImage(ctx context.Context, body wire.CreateImage, how Making) (wire.Image, error) {
	made, err := g.StartImage(ctx, body, how.Marker)
	if err != nil {
		return wire.Image{}, err
	}
	return g.untilReady(ctx, made, how)
}

// StartImage makes a disk image from a registry reference and does not wait for its
// build. Nothing is left of it when that fails. Marker is that of [Making].
func (g *Group) StartImage(ctx context.Context, body wire.CreateImage, marker string) (wire.Image, error) {
	create := g.call(wire.ImageCreate)
	create.object = "new disk image in " + create.object
	labels, found, err := marked(body.Labels, marker)
	if err != nil {
		return wire.Image{}, err
	}
	body.Labels = labels
	if body, err = body.ForVersion(g.plane.version); err != nil {
		return wire.Image{}, refusal(sandbox.CodeServiceNoOperation, create.object, err.Error(), "api-version "+string(wire.V0201), "")
	}
	create.body = body
	return g.makeImage(ctx, create.object, found, func(ctx context.Context) (wire.Image, error) {
		return ask(ctx, g.plane, create, (*wire.Image).Check)
	})
}

// Commit makes a disk image of a running sandbox as it is, and waits until the image
// is ready.
func (s *Sandbox) Commit(ctx context.Context, labels wire.Labels, how Making) (wire.Image, error) {
	labels, marker, err := marked(labels, how.Marker)
	if err != nil {
		return wire.Image{}, err
	}
	c := s.call(wire.SandboxCommit)
	c.body = wire.LabelsBody{Labels: labels}
	made, err := s.group.makeImage(ctx, "disk image of "+s.object(), marker, func(ctx context.Context) (wire.Image, error) {
		a, err := s.plane().send(ctx, c)
		if err != nil {
			return wire.Image{}, err
		}
		return readWith(s.plane(), a, wire.ReadCommit, nil)
	})
	if err != nil {
		return wire.Image{}, err
	}
	return s.group.untilReady(ctx, made, how)
}

func (g *Group) makeImage(ctx context.Context, object string, marker wire.Labels, send func(context.Context) (wire.Image, error)) (wire.Image, error) {
	made, err := making[wire.Image]{
		client: g.client(), object: object, send: send,
		find:    func(ctx context.Context) ([]wire.Image, error) { return gather(g.Images(ctx, marker)) },
		discard: func(ctx context.Context, i wire.Image) error { return gone(g.removeImage(ctx, i.ID)) },
		id:      func(i wire.Image) string { return i.ID },
	}.run(ctx)
	if err != nil && made.ID != "" {
		return wire.Image{}, g.scrapImage(ctx, err, made.ID)
	}
	return made, err
}

func (g *Group) untilReady(ctx context.Context, made wire.Image, how Making) (wire.Image, error) {
	image, err := g.AwaitImage(ctx, made, how.Wait)
	if err != nil {
		return wire.Image{}, g.scrapImage(ctx, err, made.ID)
	}
	return image, nil
}

// AwaitImage polls until a disk image is ready, whoever made it, and removes
// nothing. It gives the image as it was last seen, also beside an error: a failed
// one says there why.
func (g *Group) AwaitImage(ctx context.Context, image wire.Image, wait Wait) (wire.Image, error) {
	object, id := "disk image "+sandbox.Echo(image.ID), image.ID
	p := polling{first: time.Second, most: 10 * time.Second, limit: 15 * time.Minute, object: object, goal: wire.ImageReady}
	clock, seen := g.client().cfg.Clock, false
	began := clock.Now()
	err := g.client().poll(ctx, wait, p, func(ctx context.Context) (bool, string, error) {
		if state := image.State(); state != "" {
			if done, err := imageDone(object, image); done || err != nil {
				return done, state, err
			}
		}
		found, err := g.Image(ctx, id)
		if errors.Is(err, sandbox.CodeServiceNotFound) && !seen && clock.Now().Sub(began) < visible {
			return false, "not visible yet", nil
		}
		if err != nil {
			return false, "", err
		}
		image, seen = found, true
		done, err := imageDone(object, image)
		return done, image.State(), err
	})
	return image, err
}

// imageDone judges an image's state. A word nobody knows is still building.
func imageDone(object string, image wire.Image) (bool, error) {
	switch state := image.State(); {
	case wire.SameState(state, wire.ImageReady, wire.ImageSucceeded):
		return true, nil
	case wire.SameState(state, wire.ImageFailed):
		return false, refusal(sandbox.CodeServiceFailed, object, "a failed build: "+sandbox.Echo(image.Why()), wire.ImageReady, "")
	default:
		return false, nil
	}
}

func (g *Group) scrapImage(ctx context.Context, err error, id string) error {
	return clean(ctx, err, "disk image "+sandbox.Echo(id), func(ctx context.Context) error { return gone(g.removeImage(ctx, id)) })
}

// Image reads a disk image.
func (g *Group) Image(ctx context.Context, id string) (wire.Image, error) {
	if err := checkID("disk image", id); err != nil {
		return wire.Image{}, err
	}
	return ask(ctx, g.plane, g.on(wire.ImageGet, "disk image", wire.SegImage, id), (*wire.Image).Check)
}

// Images gives the group's own disk images that carry every one of labels.
func (g *Group) Images(ctx context.Context, labels wire.Labels) iter.Seq2[wire.Image, error] {
	c, err := filtered(g.call(wire.ImageList), labels)
	if err != nil {
		return failed[wire.Image](err)
	}
	items := listing[wire.Image]{
		call: c, key: "value", numbered: true, check: (*wire.Image).Check,
		id: func(i *wire.Image) string { return i.ID },
	}.all(ctx, g.plane)
	return having(items, labels, func(i wire.Image) wire.Labels { return i.Labels })
}

// DeleteImage removes a disk image and waits until it is gone. One that does not
// exist is success; one that a sandbox uses is service.conflict.
func (g *Group) DeleteImage(ctx context.Context, id string, wait Wait) error {
	if err := checkID("disk image", id); err != nil {
		return err
	}
	return g.deleteAndWait(ctx, g.on(wire.ImageDelete, "disk image", wire.SegImage, id), wait, func(ctx context.Context) (string, error) {
		image, err := g.Image(ctx, id)
		return image.State(), err
	})
}

func (g *Group) removeImage(ctx context.Context, id string) error {
	return g.do(ctx, g.on(wire.ImageDelete, "disk image", wire.SegImage, id))
}

// PublicImages gives the service's catalogue in the group's region.
func (g *Group) PublicImages(ctx context.Context) iter.Seq2[wire.Image, error] {
	return listing[wire.Image]{
		call: g.call(wire.ImagePublicList), key: "value", numbered: true, check: (*wire.Image).PublicCheck,
		id: func(i *wire.Image) string { return i.Name },
	}.all(ctx, g.plane)
}

// PublicImage reads one entry of the catalogue.
func (g *Group) PublicImage(ctx context.Context, name string) (wire.Image, error) {
	if err := checkID("public image", name); err != nil {
		return wire.Image{}, err
	}
	return ask(ctx, g.plane, g.on(wire.ImagePublicGet, "public image", wire.SegImage, name), (*wire.Image).PublicCheck)
}
