package acasapi

import (
	"maps"
	"regexp"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// GroupID names a sandbox group in a subscription and a resource group.
type GroupID struct {
	Subscription, ResourceGroup, Name string
}

var (
	subscriptionForm  = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	resourceGroupForm = regexp.MustCompile(`^[\p{L}\p{N}._()-]{1,90}$`)
	groupForm         = regexp.MustCompile(`^[A-Za-z0-9-]{1,32}$`)
	groupIDForm       = regexp.MustCompile(`(?i)^/subscriptions/([^/]+)/resourceGroups/([^/]+)/providers/Microsoft\.App/sandboxGroups/([^/]+)$`)
	secretForm        = regexp.MustCompile(`^[A-Za-z0-9-]{3,64}$`)
)

// ParseGroupID reads a group's resource id. ARM compares it without regard to case.
func ParseGroupID(id string) (GroupID, error) {
	m := groupIDForm.FindStringSubmatch(id)
	if m == nil {
		return GroupID{}, refusal(sandbox.CodeInvalidText, "sandbox group id", sandbox.Echo(id),
			"/subscriptions/…/resourceGroups/…/providers/Microsoft.App/sandboxGroups/NAME", "")
	}
	g := GroupID{m[1], m[2], m[3]}
	return g, g.Check()
}

// Check reports the first part that the service would not take.
func (g GroupID) Check() error {
	if err := checkPlace(g.Subscription, g.ResourceGroup); err != nil {
		return err
	}
	return checkName("sandbox group", g.Name)
}

// String is the resource id.
func (g GroupID) String() string {
	return "/subscriptions/" + g.Subscription + "/resourceGroups/" + g.ResourceGroup + "/providers/Microsoft.App/sandboxGroups/" + g.Name
}

func (g GroupID) segments() wire.Segments {
	return wire.Segments{wire.SegSubscription: g.Subscription, wire.SegResourceGroup: g.ResourceGroup, wire.SegGroup: g.Name}
}

func (g GroupID) object() string { return "sandbox group " + sandbox.Echo(g.Name) }

func checkPlace(subscription, resourceGroup string) error {
	if err := checkSubscription(subscription); err != nil {
		return err
	}
	if !resourceGroupForm.MatchString(resourceGroup) || strings.HasSuffix(resourceGroup, ".") || strings.Contains(resourceGroup, "..") {
		return refusal(sandbox.CodeInvalidText, "resource group", sandbox.Echo(resourceGroup), "1 to 90 letters, digits and ._()-, not ending in a dot", "")
	}
	return nil
}

func checkSubscription(id string) error {
	if !subscriptionForm.MatchString(id) {
		return refusal(sandbox.CodeInvalidText, "subscription", sandbox.Echo(id), "a subscription id, as 00000000-0000-0000-0000-000000000000", "")
	}
	return nil
}

func checkName(kind, name string) error {
	if !groupForm.MatchString(name) || strings.HasPrefix(name, "-") {
		return refusal(sandbox.CodeInvalidText, kind, sandbox.Echo(name), "1 to 32 letters, digits and hyphens, not starting with a hyphen", "")
	}
	return nil
}

// IsSecretName reports a name that a secret of a group can have: 3 to 64 letters, digits
// and hyphens.
func IsSecretName(name string) bool { return secretForm.MatchString(name) }

func checkID(kind, id string) error {
	if err := wire.CheckSegment(id); err != nil {
		return refusal(sandbox.CodeInvalidText, kind, sandbox.Echo(id)+", which "+err.Error(), "an id as the service gave it", "")
	}
	return nil
}

// with is the segments and one more.
func with(s wire.Segments, name, value string) wire.Segments {
	more := make(wire.Segments, len(s)+1)
	maps.Copy(more, s)
	more[name] = value
	return more
}
