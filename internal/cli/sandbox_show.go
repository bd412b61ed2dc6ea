package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// sandboxPage is all that is shown of one sandbox. It is a shape of its own, so that
// nothing which the service adds is shown before somebody has looked at it: values of
// the environment, of headers, of arguments and the management address never are.
type sandboxPage struct {
	target
	sandboxRow

	ServiceTime string          `json:"service_time,omitempty"`
	StoppedAt   string          `json:"stopped_at,omitempty"`
	Region      string          `json:"region,omitempty"`
	Hostname    string          `json:"hostname,omitempty"`
	CPU         string          `json:"cpu,omitempty"`
	Memory      string          `json:"memory,omitempty"`
	Disk        string          `json:"disk,omitempty"`
	VMM         string          `json:"vmm,omitempty"`
	Network     string          `json:"network,omitempty"`
	Suspends    string          `json:"suspends,omitempty"`
	Deletes     string          `json:"deletes,omitempty"`
	Ports       []portRow       `json:"ports"`
	Volumes     []wireMount     `json:"volumes"`
	Connections []string        `json:"connections"`
	Identities  []identityRow   `json:"identities"`
	Environment []string        `json:"environment_names"`
	Starts      string          `json:"starts,omitempty"`
	Outbound    []string        `json:"outbound_addresses"`
	Default     string          `json:"egress_default"`
	Inspection  string          `json:"egress_inspection,omitempty"`
	Enforcement string          `json:"egress_enforcement,omitempty"`
	Rules       []egressRuleRow `json:"egress_rules"`
	Unfamiliar  []string        `json:"unfamiliar_fields"`
}

type wireMount struct {
	Volume   string `json:"volume"`
	Path     string `json:"path"`
	ReadOnly bool   `json:"read_only"`
}

type portRow struct {
	Port   int    `json:"port"`
	Name   string `json:"name,omitempty"`
	Admits string `json:"admits"`
	URL    string `json:"url,omitempty"`
}

type identityRow struct {
	Identity string `json:"identity"`
	Use      string `json:"use"`
}

func (a *app) showSandbox(ctx context.Context, o azure, id string) error {
	r, closed, err := a.reach(ctx, o)
	if err != nil {
		return err
	}
	defer closed()
	s, err := r.Sandbox(id)
	if err != nil {
		return err
	}
	doc, err := s.Get(ctx)
	if errors.Is(err, sandbox.CodeServiceNotFound) {
		return r.without(ctx, err)
	} else if err != nil {
		return err
	}
	at, _ := r.ServiceTime()
	page := pageOf(doc, r.target(), at)
	prebuilt := prebuiltNames{of: r}
	prebuilt.name(ctx, &page.Image)
	if a.format == "json" {
		return a.printJSON(page)
	}
	_, err = fmt.Fprint(a.out, page.text(r.place(), at))
	return err
}

// without is the error for a sandbox that is not found: that is also what a group
// says that is not there.
func (r *reached) without(ctx context.Context, missing error) error {
	for _, err := range r.Sandboxes(ctx, nil) {
		if err != nil {
			return advise(err, sandbox.CodeServiceNotFound, wrongGroup)
		}
		break
	}
	return advise(missing, sandbox.CodeServiceNotFound, "look for it with sandboxctl ls; a sandbox that was deleted is not found")
}

func pageOf(doc wire.Sandbox, of target, at time.Time) sandboxPage {
	p := sandboxPage{
		target: of, sandboxRow: rowOf(doc), Region: doc.Region, Hostname: doc.Hostname, VMM: doc.VMMType,
		Network:  cmp.Or(doc.CustomerVNetConnectionName, doc.VNetConnectionName),
		Suspends: suspends(doc.Lifecycle), Deletes: deletes(doc.Lifecycle),
		Ports: []portRow{}, Volumes: []wireMount{}, Connections: listOf(doc.Connections), Identities: []identityRow{},
		Environment: sortedKeys(doc.Environment), Starts: starts(doc), Outbound: listOf(doc.OutboundIPAddresses),
		Default: wire.EgressAllow, Rules: egressRules(doc.EgressPolicy), Unfamiliar: listOf(wire.Unknown(&doc)),
	}
	if !at.IsZero() {
		p.ServiceTime = at.UTC().Format(time.RFC3339)
	}
	if p.StoppedReason != "" {
		p.StoppedAt = doc.StateDetails.StoppedAt
	}
	if size := doc.Resources; size != nil {
		p.CPU, p.Memory, p.Disk = size.CPU, size.Memory, size.Disk
	}
	for _, v := range doc.Volumes {
		p.Volumes = append(p.Volumes, wireMount{v.VolumeName, v.Mountpoint, v.ReadOnly})
	}
	for _, port := range doc.Ports {
		p.Ports = append(p.Ports, portRow{port.Port, port.Name, admits(port), port.URL})
	}
	for _, i := range doc.IdentitySettings {
		p.Identities = append(p.Identities, identityRow{i.Identity, i.Lifecycle})
	}
	if policy := doc.EgressPolicy; policy != nil {
		p.Default, p.Inspection, p.Enforcement = policy.DefaultAction, policy.TrafficInspection, policy.EnforcementMode
	}
	return p
}

// listOf is never null in JSON.
func listOf(words []string) []string { return append([]string{}, words...) }

// starts is the program that the sandbox starts. Its arguments may hold secrets.
func starts(doc wire.Sandbox) string {
	words := slices.Concat(doc.Entrypoint, doc.Cmd)
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return words[0] + ", and " + show.Plural(len(words)-1, "argument") + " that are not shown"
	}
}

func suspends(l *wire.Lifecycle) string {
	if l == nil || l.AutoSuspend == nil || !l.AutoSuspend.Enabled {
		return ""
	}
	return "after " + ago(time.Duration(l.AutoSuspend.Interval)*time.Second) + " idle, keeping " + strings.ToLower(cmp.Or(l.AutoSuspend.Mode, "what is not said"))
}

func deletes(l *wire.Lifecycle) string {
	if l == nil || l.AutoDelete == nil || !l.AutoDelete.Enabled {
		return ""
	}
	d := l.AutoDelete
	after := time.Duration(d.DeleteIntervalInDays)*24*time.Hour + time.Duration(d.DeleteIntervalInSeconds)*time.Second
	since := "it was suspended"
	if strings.EqualFold(d.Trigger, "AfterCreation") {
		since = "it was made"
	}
	return ago(after) + " after " + since
}

// admits is who may come in at a port.
func admits(port wire.Port) string {
	auth, who := port.Auth, "not said"
	switch {
	case auth == nil:
	case auth.Anonymous != nil && *auth.Anonymous:
		who = "anybody"
	case auth.EntraID != nil && auth.EntraID.Enabled:
		e := auth.EntraID
		n := len(e.Emails) + len(e.EmailSuffixes) + len(e.ObjectIDs) + len(e.TenantIDs)
		who = "Entra ID, " + show.Plural(n, "entry")
	case len(auth.GitHub) > 0:
		who = "GitHub"
	}
	if c := port.IPAccessControl; c != nil {
		who += "; other addresses: " + strings.ToLower(c.DefaultAction) + ", " + show.Plural(len(c.Rules), "address rule")
	}
	return who
}

// maxShownRules is more than the service takes.
const maxShownRules = 200

func (p sandboxPage) text(place string, at time.Time) string {
	page := show.NewPage(0, 14)
	page.Row("sandbox", p.ID)
	page.Row("", place)
	page.Gap()
	page.Row("state", p.stateWords())
	page.Row("made", p.madeWords(at))
	page.Row("from", p.Image.String())
	page.Row("region", p.Region)
	page.Row("hostname", p.Hostname)
	page.Row("size", strings.Join(nonEmpty(p.CPU, p.Memory, p.Disk), ", "))
	page.Row("machine", p.VMM)
	page.Row("whose", p.whose())
	page.List("labels", pairs(p.Labels), maxShownRules)
	page.Row("suspends", p.Suspends)
	page.Row("deletes", p.Deletes)
	page.Row("starts", p.Starts)
	page.List("environment", p.environmentWords(), 1)
	page.Row("network", p.Network)
	page.List("identities", p.identityWords(), maxShownRules)
	page.List("ports", p.portWords(), maxShownRules)
	page.List("volumes", p.volumeWords(), maxShownRules)
	page.List("connections", p.Connections, maxShownRules)
	page.Gap()
	page.Row("egress", p.egressWords())
	page.Row("because", p.Egress.Because)
	page.List("rules", p.ruleWords(), maxShownRules)
	page.Row("otherwise", strings.ToLower(p.Default))
	page.Row("inspection", cmp.Or(p.Inspection, "not said"))
	page.Row("comes from", strings.Join(p.Outbound, ", "))
	if len(p.Unfamiliar) > 0 {
		page.Gap()
		page.Row("not shown", "fields that this command does not know: "+strings.Join(p.Unfamiliar, ", "))
	}
	return page.String()
}

func nonEmpty(words ...string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

func (p sandboxPage) stateWords() string {
	text := p.State
	if p.StoppedReason != "" {
		text += ", " + p.StoppedReason
	}
	if p.StoppedAt != "" {
		text += " at " + p.StoppedAt
	}
	return text
}

func (p sandboxPage) madeWords(at time.Time) string {
	if p.CreatedAt == "" {
		return "nobody knows when"
	}
	return p.CreatedAt + ", " + p.age(at) + " ago"
}

func (p sandboxPage) whose() string {
	switch owner := p.Labels[ownerLabel]; {
	case !p.Ours:
		return "not ours: it lacks the label " + markerLabel
	case owner == "":
		return "ours, of no owner"
	default:
		return "ours, of owner " + owner
	}
}

func pairs(labels wire.Labels) []string {
	var words []string
	for _, key := range sortedKeys(labels) {
		words = append(words, key+"="+labels[key])
	}
	return words
}

func (p sandboxPage) environmentWords() []string {
	if len(p.Environment) == 0 {
		return nil
	}
	return []string{strings.Join(p.Environment, ", ") + " (values are not shown)"}
}

func (p sandboxPage) identityWords() []string {
	var words []string
	for _, i := range p.Identities {
		words = append(words, i.Identity+", used by: "+cmp.Or(i.Use, "not said"))
	}
	return words
}

func (p sandboxPage) portWords() []string {
	var words []string
	for _, port := range p.Ports {
		text := fmt.Sprintf("%d, admits %s", port.Port, port.Admits)
		if port.URL != "" {
			text += ", at " + port.URL
		}
		words = append(words, text)
	}
	return words
}

func (p sandboxPage) volumeWords() []string {
	var words []string
	for _, v := range p.Volumes {
		text := v.Volume + " at " + v.Path
		if v.ReadOnly {
			text += ", read only"
		}
		words = append(words, text)
	}
	return words
}

func (p sandboxPage) egressWords() string {
	switch p.Egress.Mode {
	case sandbox.EgressClosed.String():
		return "closed: no rule lets anything out"
	case sandbox.EgressAllowlist.String():
		return "allowlist: " + show.Plural(p.Egress.Rules, "rule") + " let something out"
	case sandbox.EgressUnrestricted.String():
		return "unrestricted: what no rule denies may be reached"
	default:
		return "unclear: compare the rules below with what you expect"
	}
}

func (p sandboxPage) ruleWords() []string {
	var words []string
	for _, r := range p.Rules {
		words = append(words, r.line())
	}
	return words
}
