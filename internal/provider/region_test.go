package provider

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// Who may not read ARM has the provider's location: it is not waited for a role, and
// the question is asked once for all objects of the group. Without a location there is
// no other answer, and the role is waited for.
func TestWhoMayNotReadARMIsToldOnceAndAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		location string
		waits    bool
	}{"with a location": {"swedencentral", false}, "without": {"", true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := servedWorld(t)
			must[wire.Group](t)(w.outside.PutGroup(t.Context(), w.groupID("team"), wire.Group{Location: w.location}, acasapi.Wait{}))
			w.misbehave("status=403,op=group.get")
			endpoint, ok := w.acas["endpoint"].(string)
			if !ok {
				t.Fatal("no endpoint")
			}
			cfg, err := w.provider.emulated(acasapi.Config{DataEndpoint: endpoint, Clock: w.provider.clock}, map[string]string{"ca_file": "ca.pem"})
			if err != nil {
				t.Fatal(err)
			}
			h := &home{location: c.location, open: func() (acasapi.Config, error) { return cfg, nil }}
			before := w.provider.clock.Now()
			w.emulator.ClearRequests()
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					if _, err := h.region(context.Background(), w.groupID("team")); (err != nil) != c.waits {
						t.Errorf("the region: %v", err)
					}
				})
			}
			all.Wait()
			waited := w.provider.clock.Now().Sub(before) >= 30*time.Second
			if waited != c.waits {
				t.Errorf("waited: %v", waited)
			}
			if n := len(w.emulator.Requests()); !c.waits && n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}
