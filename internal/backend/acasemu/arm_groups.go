package acasemu

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/store"
)

const groupType = "Microsoft.App/sandboxGroups"

var groupName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,31}$`)

// groupKey names the group of a request. Names of ARM differ by more than case.
func (c *call) groupKey() store.Key {
	return store.Key{
		strings.ToLower(c.seg[wire.SegSubscription]), strings.ToLower(c.seg[wire.SegResourceGroup]), strings.ToLower(c.seg[wire.SegGroup]),
	}
}

func missingGroup(name string) error {
	return refuse(http.StatusNotFound, "ResourceNotFound", "The Resource '%s/%s' was not found.", groupType, name)
}

// group reads the group of a request to the ARM plane.
func (e *Emulator) group(tx *store.Tx, c *call) (groupRecord, error) {
	g, ok, err := store.Get[groupRecord](tx, kindGroup, c.groupKey())
	if err == nil && !ok {
		err = missingGroup(c.seg[wire.SegGroup])
	}
	return g, err
}

// shown is a group as a version knows it.
func (g *groupRecord) shown(v wire.Version) wire.Group {
	doc := g.Group
	if v == wire.V0701 {
		doc.Identity = nil
	}
	return doc
}

func (e *Emulator) groupGet(ctx context.Context, c *call) (answer, error) {
	var g groupRecord
	read := func(tx *store.Tx) (err error) { g, err = e.group(tx, c); return err }
	if err := e.store.View(ctx, read); err != nil {
		return answer{}, err
	}
	if g.Operation != "" { // looking at the group moves its operation on
		if _, err := e.step(ctx, c, g.Operation); err != nil {
			return answer{}, err
		}
		if err := e.store.View(ctx, read); err != nil {
			return answer{}, err
		}
	}
	return ok(g.shown(c.version))
}

func (e *Emulator) groupPut(ctx context.Context, c *call) (answer, error) {
	name := c.seg[wire.SegGroup]
	if !groupName.MatchString(name) {
		return answer{}, refuse(http.StatusBadRequest, "InvalidResourceName", "a sandbox group's name is 1 to 32 letters, digits and hyphens, and begins with no hyphen")
	}
	var body wire.Group
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	if body.Location == "" {
		return answer{}, refuse(http.StatusBadRequest, "LocationRequired", "The location property is required for this definition.")
	}
	if err := checkIdentity(body.Identity); err != nil {
		return answer{}, err
	}
	var g groupRecord
	var operation string
	status := http.StatusOK
	err := e.store.Update(ctx, func(tx *store.Tx) error {
		old, exists, err := store.Get[groupRecord](tx, kindGroup, c.groupKey())
		if err != nil {
			return err
		}
		if exists && old.Group.Properties.ProvisioningState == wire.ARMDeleting {
			return refuse(http.StatusConflict, "ResourceIsBeingDeleted", "the sandbox group is being deleted")
		}
		if exists && region(old.Group.Location) != region(body.Location) {
			return refuse(http.StatusConflict, "InvalidResourceLocation", "The resource '%s' already exists in location '%s'.", name, old.Group.Location)
		}
		if exists && old.Group.Properties.EnvironmentID != "" && body.Properties.EnvironmentID != old.Group.Properties.EnvironmentID {
			return refuse(http.StatusConflict, "EnvironmentCannotChange", "environmentId cannot be changed or removed once it is set")
		}
		status = http.StatusOK
		g = old
		if !exists {
			status, g = http.StatusCreated, groupRecord{Key: c.groupKey(), CreatedAt: c.now}
		}
		e.fillGroup(&g, body, c)
		operation = newID()
		g.Operation = operation
		if err := putOperation(tx, e.begun(c, operation, false)); err != nil {
			return err
		}
		return store.Put(tx, kindGroup, c.groupKey(), g)
	})
	if err != nil {
		return answer{}, err
	}
	a := answer{status: status, doc: g.shown(c.version)}
	a.set("Azure-AsyncOperation", c.operationURL(g.Group.Location, "operationStatuses", operation))
	return a, nil
}

// fillGroup makes a group what a PUT says.
func (e *Emulator) fillGroup(g *groupRecord, body wire.Group, c *call) {
	identity := g.Group.Identity
	if c.version != wire.V0701 {
		identity = assignIdentity(body.Identity, identity)
	}
	g.Group = wire.Group{
		ID: c.request.URL.Path, Name: c.seg[wire.SegGroup], Type: groupType, Location: body.Location, Tags: body.Tags,
		Identity: identity, Properties: body.Properties, SystemData: g.Group.SystemData, Extra: body.Extra,
	}
	if g.Group.Tags == nil {
		g.Group.Tags = map[string]string{}
	}
	g.Group.Properties.ProvisioningState = wire.ARMInProgress
}

func (e *Emulator) groupPatch(ctx context.Context, c *call) (answer, error) {
	var body wire.GroupPatchBody
	if err := c.document(&body, false); err != nil {
		return answer{}, err
	}
	if err := checkIdentity(body.Identity); err != nil {
		return answer{}, err
	}
	var g groupRecord
	err := e.store.Update(ctx, func(tx *store.Tx) (err error) {
		if g, err = e.group(tx, c); err != nil {
			return err
		}
		if body.Tags != nil {
			g.Group.Tags = body.Tags
		}
		if body.Identity != nil && c.version != wire.V0701 {
			g.Group.Identity = assignIdentity(body.Identity, g.Group.Identity)
		}
		if p := body.Properties; p != nil {
			if err := patchProperties(&g.Group.Properties, *p); err != nil {
				return err
			}
		}
		return store.Put(tx, kindGroup, c.groupKey(), g)
	})
	if err != nil {
		return answer{}, err
	}
	return ok(g.shown(c.version))
}

func patchProperties(to *wire.GroupProperties, p wire.GroupProperties) error {
	if p.EnvironmentID != "" && to.EnvironmentID != "" && p.EnvironmentID != to.EnvironmentID {
		return refuse(http.StatusConflict, "EnvironmentCannotChange", "environmentId cannot be changed or removed once it is set")
	}
	set := func(to *string, v string) {
		if v != "" {
			*to = v
		}
	}
	set(&to.EnvironmentID, p.EnvironmentID)
	set(&to.DefaultCPU, p.DefaultCPU)
	set(&to.DefaultMemory, p.DefaultMemory)
	set(&to.DefaultDisk, p.DefaultDisk)
	if p.EnableDetailedMetrics != nil {
		to.EnableDetailedMetrics = p.EnableDetailedMetrics
	}
	if p.MaxSandboxCount != 0 {
		to.MaxSandboxCount = p.MaxSandboxCount
	}
	if p.DefaultTimeoutSeconds != 0 {
		to.DefaultTimeoutSeconds = p.DefaultTimeoutSeconds
	}
	if p.GatewayConnections != nil {
		to.GatewayConnections = p.GatewayConnections
	}
	return nil
}

func (e *Emulator) groupDelete(ctx context.Context, c *call) (answer, error) {
	var g groupRecord
	var operation string
	exists := false
	err := e.store.Update(ctx, func(tx *store.Tx) (err error) {
		g, exists, err = store.Get[groupRecord](tx, kindGroup, c.groupKey())
		if err != nil || !exists {
			return err
		}
		if g.Group.Properties.ProvisioningState == wire.ARMDeleting && g.Operation != "" {
			operation = g.Operation
			return nil
		}
		g.Group.Properties.ProvisioningState = wire.ARMDeleting
		operation = newID()
		g.Operation = operation
		if err := putOperation(tx, e.begun(c, operation, true)); err != nil {
			return err
		}
		return store.Put(tx, kindGroup, c.groupKey(), g)
	})
	if err != nil {
		return answer{}, err
	}
	if !exists {
		return nothing()
	}
	a := answer{status: http.StatusAccepted}
	a.set("Azure-AsyncOperation", c.operationURL(g.Group.Location, "operationStatuses", operation))
	a.set("Location", c.operationURL(g.Group.Location, "operationResults", operation))
	return a, nil
}

func (e *Emulator) groupList(ctx context.Context, c *call) (answer, error) {
	below := store.Key{strings.ToLower(c.seg[wire.SegSubscription])}
	if rg := c.seg[wire.SegResourceGroup]; rg != "" {
		below = append(below, strings.ToLower(rg))
	}
	var all []wire.Group
	err := e.store.View(ctx, func(tx *store.Tx) error {
		all = nil
		for g, err := range store.Each[groupRecord](tx, kindGroup, below) {
			if err != nil {
				return err
			}
			all = append(all, g.shown(c.version))
		}
		return nil
	})
	if err != nil {
		return answer{}, err
	}
	return armPage(e, c, all)
}

// region is the form of a location that stands in host names.
func region(location string) string {
	return strings.ToLower(strings.ReplaceAll(location, " ", ""))
}
