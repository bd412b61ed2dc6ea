package acasemu

import (
	"net/http"
	"slices"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

func checkIdentity(asked *wire.GroupIdentity) error {
	words := []string{wire.IdentityNone, wire.IdentitySystem, wire.IdentityUser, wire.IdentitySystemUser, ""}
	if asked == nil || slices.Contains(words, asked.Type) {
		return nil
	}
	return refuse(http.StatusBadRequest, "InvalidIdentityType", "identity.type is None, SystemAssigned, UserAssigned or both of these")
}

// assignIdentity gives the identities that are asked for the ids that Entra would.
// One that was there before keeps its own.
func assignIdentity(asked, before *wire.GroupIdentity) *wire.GroupIdentity {
	if asked == nil {
		return nil
	}
	got := &wire.GroupIdentity{Type: asked.Type}
	switch asked.Type {
	case "", wire.IdentityNone:
		got.Type = wire.IdentityNone
		return got
	case wire.IdentitySystem, wire.IdentitySystemUser:
		got.PrincipalID, got.TenantID = newID(), idOf("tenant")
		if before != nil && before.PrincipalID != "" {
			got.PrincipalID = before.PrincipalID
		}
	}
	if len(asked.User) > 0 {
		got.User = map[string]wire.UserIdentity{}
		for id := range asked.User {
			got.User[id] = wire.UserIdentity{ClientID: idOf("client " + id), PrincipalID: idOf("principal " + id)}
		}
	}
	return got
}
