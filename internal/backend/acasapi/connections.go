package acasapi

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Connections, credentials and content packages belong mostly to the newer version
// of the service, and the contract says little of their bodies: they are passed on
// as they come.

func (g *Group) documents(ctx context.Context, op wire.Op) iter.Seq2[wire.Document, error] {
	return listing[wire.Document]{
		call: g.call(op), key: "value", numbered: true, check: func(*wire.Document) error { return nil },
		id: func(d *wire.Document) string { return string((*d)["id"]) + string((*d)["name"]) },
	}.all(ctx, g.plane)
}

// Connections gives the group's connections.
func (g *Group) Connections(ctx context.Context) iter.Seq2[wire.Document, error] {
	return g.documents(ctx, wire.ConnectionList)
}

// CreateConnection makes a connection. It is sent once, and a lost answer is
// service.outcome_unknown.
func (g *Group) CreateConnection(ctx context.Context, body wire.Document) (wire.Document, error) {
	c := g.call(wire.ConnectionCreate)
	c.body = body
	doc, err := ask[wire.Document](ctx, g.plane, c, nil)
	return doc, once(err)
}

// DeleteConnection removes a connection. One that does not exist is success.
func (g *Group) DeleteConnection(ctx context.Context, id string) error {
	if err := checkID("connection", id); err != nil {
		return err
	}
	return gone(g.do(ctx, g.on(wire.ConnectionDelete, "connection", wire.SegConnection, id)))
}

// AttachConnection lets the sandbox use a connection of its group.
func (s *Sandbox) AttachConnection(ctx context.Context, id string) error {
	if err := checkID("connection", id); err != nil {
		return err
	}
	c := s.call(wire.ConnectionAttach)
	c.object = "connection " + sandbox.Echo(id) + " in " + c.object
	c.body = wire.ConnectionRef{ConnectionID: id}
	return s.attach(ctx, c, func(doc wire.Sandbox) bool { return slices.Contains(doc.Connections, id) })
}

// PutCredential makes or replaces a credential of the group.
func (g *Group) PutCredential(ctx context.Context, name string, body wire.Document) (wire.Document, error) {
	if err := checkID("credential", name); err != nil {
		return nil, err
	}
	c := g.on(wire.CredentialPut, "credential", wire.SegCredential, name)
	c.body = body
	return ask[wire.Document](ctx, g.plane, c, nil)
}

// Credential reads a credential.
func (g *Group) Credential(ctx context.Context, name string) (wire.Document, error) {
	if err := checkID("credential", name); err != nil {
		return nil, err
	}
	return ask[wire.Document](ctx, g.plane, g.on(wire.CredentialGet, "credential", wire.SegCredential, name), nil)
}

// Credentials gives the group's credentials.
func (g *Group) Credentials(ctx context.Context) iter.Seq2[wire.Document, error] {
	return g.documents(ctx, wire.CredentialList)
}

// DeleteCredential removes a credential. One that does not exist is success.
func (g *Group) DeleteCredential(ctx context.Context, name string) error {
	if err := checkID("credential", name); err != nil {
		return err
	}
	return gone(g.do(ctx, g.on(wire.CredentialDelete, "credential", wire.SegCredential, name)))
}

// Packages gives the group's content packages that carry every one of labels.
func (g *Group) Packages(ctx context.Context, labels wire.Labels) iter.Seq2[wire.Package, error] {
	c, err := filtered(g.call(wire.PackageList), labels)
	if err != nil {
		return failed[wire.Package](err)
	}
	items := listing[wire.Package]{
		call: c, key: "value", numbered: true, check: (*wire.Package).Check,
		id: func(p *wire.Package) string { return p.ID },
	}.all(ctx, g.plane)
	return having(items, labels, func(p wire.Package) wire.Labels { return p.Labels })
}

// UploadPackage makes a content package of exactly size bytes. It is sent once; after
// a lost answer it is looked for, and sent again only if content can be read again.
func (g *Group) UploadPackage(ctx context.Context, content io.Reader, size int64, labels wire.Labels) (wire.Package, error) {
	labels, marker, err := marked(labels, "")
	if err != nil {
		return wire.Package{}, err
	}
	c := g.call(wire.PackageUpload)
	c.object = "new content package in " + c.object
	c.query = append(c.query, param{"labels", labels.Filter()})
	if c.upload, err = newUpload(content, size, c.object); err != nil {
		return wire.Package{}, err
	}
	return making[wire.Package]{
		client: g.client(), object: c.object,
		send: func(ctx context.Context) (wire.Package, error) { return ask(ctx, g.plane, c, (*wire.Package).Check) },
		find: func(ctx context.Context) ([]wire.Package, error) { return gather(g.Packages(ctx, marker)) },
		id:   func(p wire.Package) string { return p.ID },
	}.run(ctx)
}

// DownloadPackage puts a content package into the sandbox.
func (s *Sandbox) DownloadPackage(ctx context.Context, mount wire.PackageMount) error {
	if err := errors.Join(checkID("content package", mount.ContentPackageID), checkPath(s.object(), mount.TargetPath)); err != nil {
		return err
	}
	c := s.call(wire.PackageDownload)
	c.body = mount
	return s.group.do(ctx, c)
}
