package provider

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"golang.org/x/sync/singleflight"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/unfinished"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// home is where remote objects live, as the provider block says it. It is made
// without input or output: who is asked first opens it, and what went wrong until
// then is told there.
type home struct {
	// subscription, resourceGroup and location are those of objects that name none.
	subscription, resourceGroup, location string
	// waits are the settings that are not known yet.
	waits []string
	// findings say why objects can live nowhere.
	findings []sandbox.Finding
	// file is the state file of the embedded service, empty on Azure.
	file string
	// journal is where creations are written down, nil for nowhere.
	journal *unfinished.Journal
	// clock is what is waited by.
	clock acasapi.Clock
	// open makes the configuration of a client, without a location, once.
	open func() (acasapi.Config, error)

	mu      sync.Mutex
	clients map[clientKey]*acasapi.Client
	regions map[acasapi.GroupID]string
	told    bool
	asking  singleflight.Group
}

type clientKey struct {
	location string
	roleWait time.Duration
}

// known reports whether everything in the block is known.
func (h *home) known() bool { return h != nil && len(h.waits) == 0 }

// usable are the diagnostics of a home that cannot be used now.
func (h *home) usable() diag.Diagnostics {
	if h == nil {
		return diag.Diagnostics{providerFault(errors.New("find out how it is configured"))}
	}
	diags := refusals(h.findings)
	if len(diags) == 0 && !h.known() {
		diags.Append(refusal(sandbox.Finding{
			Code: sandbox.CodeRemoteUndecided, Found: h.waits[0] + " is not known before something else is applied",
			Required: "a provider block whose values are known", Remedy: "apply what it waits for first, with -target, or write the value itself",
		}))
	}
	return diags
}

// arm is the client for groups themselves.
func (h *home) arm() (*acasapi.Client, error) { return h.client(h.location) }

// client is the one client of a location.
func (h *home) client(location string) (*acasapi.Client, error) { return h.clientFor(location, 0) }

// prompt is a client for groups themselves that takes a 403 at its word: for questions
// to which there is another answer.
func (h *home) prompt() (*acasapi.Client, error) { return h.clientFor(h.location, -1) }

func (h *home) clientFor(location string, roleWait time.Duration) (*acasapi.Client, error) {
	key := clientKey{location, roleWait}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c, ok := h.clients[key]; ok {
		return c, nil
	}
	cfg, err := h.open()
	if err != nil {
		return nil, err
	}
	cfg.Location, cfg.RoleWait = location, roleWait
	c, err := acasapi.New(cfg)
	if err != nil {
		return nil, adviseEndpoint(err)
	}
	if h.clients == nil {
		h.clients = map[clientKey]*acasapi.Client{}
	}
	h.clients[key] = c
	return c, nil
}

// group is the data plane of a group. ARM is asked once where the group is: its own
// word counts, and the provider's location only for who may not ask.
func (h *home) group(ctx context.Context, id acasapi.GroupID) (*acasapi.Group, error) {
	location, err := h.region(ctx, id)
	if err != nil {
		return nil, err
	}
	client, err := h.client(location)
	if err != nil {
		return nil, err
	}
	return client.Group(id)
}

func (h *home) region(ctx context.Context, id acasapi.GroupID) (string, error) {
	h.mu.Lock()
	location, ok := h.regions[id]
	h.mu.Unlock()
	if ok {
		return location, nil
	}
	// Many objects of one group ask at once.
	found, err, _ := h.asking.Do(id.String(), func() (any, error) { return h.askRegion(ctx, id) })
	location, ok = found.(string)
	switch {
	case err == nil && ok:
		return location, nil
	case ctx.Err() == nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return h.askRegion(ctx, id) // it was another's context that ended
	default:
		return "", err
	}
}

// askRegion asks ARM. Who may not ask is told at once where the provider's location
// stands for the answer, instead of after the wait for a role that may be new.
func (h *home) askRegion(ctx context.Context, id acasapi.GroupID) (string, error) {
	client, err := h.arm()
	if h.location != "" && err == nil {
		client, err = h.prompt()
	}
	if err != nil {
		return "", err
	}
	group, err := client.GetGroup(ctx, id)
	switch {
	case errors.Is(err, sandbox.CodeServiceForbidden) && h.location != "":
		group.Location = h.location
	case err != nil:
		return "", fmt.Errorf("ask where the group is: %w", err)
	}
	h.settle(id, group.Location)
	return group.Location, nil
}

// settle remembers where a group is.
func (h *home) settle(id acasapi.GroupID, location string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.regions == nil {
		h.regions = map[acasapi.GroupID]string{}
	}
	h.regions[id] = location
}

// forget makes the next who asks look for the group again.
func (h *home) forget(id acasapi.GroupID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.regions, id)
}

// endpoint is where a group at that location is served from.
func (h *home) endpoint(location string) (string, error) {
	client, err := h.client(location)
	if err != nil {
		return "", err
	}
	endpoint, _ := client.Endpoint(wire.Data)
	return endpoint, nil
}

// adviseEndpoint says what an endpoint that gets no token can be.
func adviseEndpoint(err error) error {
	r := sandbox.RefusalOf(err)
	if r == nil || r.Code != sandbox.CodeEndpointNotAllowed {
		return err
	}
	f := r.Finding
	f.Remedy = "remove endpoint to use the service's own; if it is an emulator's, say emulator = true"
	return f.Refusal(r.Err)
}
