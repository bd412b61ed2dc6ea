package adopt

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hcltext"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// The resources of others that are read.
const (
	acaImage   = "aca_sandbox_disk_image"
	acaSandbox = "aca_sandbox"
	azapi      = "azapi_resource"
	azapiGroup = "Microsoft.App/sandboxGroups@"
)

// whyOpen is the one thing to know before the old configuration is edited. The other
// provider answers a removed block by sending a policy that allows everything.
const whyOpen = "Leave egress_policy alone until the removed block is applied: the provider Azure/aca opens a sandbox to every " +
	"destination when that block is removed from its configuration. Here rules that are removed let nothing out."

// FromACA writes what a state of the provider Azure/aca holds, as `terraform show
// -json` prints it: the disk images as resources of this provider, with a removed
// block for each that lets go of it there. Groups that azapi made come along.
func FromACA(document []byte) (*Adoption, error) {
	resources, err := readState(document)
	if err != nil {
		return nil, err
	}
	m := migration{
		draft: newDraft(
			"What the provider Azure/aca made, taken over. Delete its resource blocks as this file is added, and keep the provider itself "+
				"until this is applied.",
			"Plan it first: it imports and lets go, and adds, changes and destroys nothing.",
		),
		groups: map[string]place{}, forgotten: map[string]bool{}, images: map[string]string{},
	}
	slices.SortStableFunc(resources, func(a, b stateResource) int { return cmp.Compare(a.Address, b.Address) })
	for _, step := range []func(stateResource) bool{m.takeGroup, m.takeImage, m.takeSandbox, m.takeRest} {
		resources = slices.DeleteFunc(resources, step)
	}
	if len(m.Objects)+len(m.Forgotten)+len(m.Left) == 0 {
		return nil, sandbox.Finding{
			Code: sandbox.CodeMissing, Found: "a state without resources of Azure/aca and without sandbox groups of azapi",
			Required: "the state of a configuration that uses Azure/aca", Remedy: stateRemedy,
		}.Refusal(nil)
	}
	return m.done(), nil
}

// migration is a draft of what another provider made.
type migration struct {
	*draft

	// groups are those that are taken over, by folded id, and images the addresses of
	// new resources by the service's id.
	groups    map[string]place
	images    map[string]string
	forgotten map[string]bool
	// warned says that it was told what the other provider opens.
	warned bool
}

// letGo writes the removed block of a resource, one for all instances, below what is to
// be known of it.
func (m *migration) letGo(r stateResource, remarks ...string) {
	from, address, ok := r.block()
	fresh := ok && !m.forgotten[address]
	if fresh || len(remarks) > 0 {
		m.file.Body().AppendNewline()
	}
	for _, remark := range remarks {
		m.find(address, remark)
	}
	if fresh {
		m.forgotten[address] = true
		m.forget(address, from)
	}
}

// in is the group of that id, as children name it.
func (m *migration) in(id string) (place, bool) {
	parsed, err := acasapi.ParseGroupID(id)
	if err != nil {
		return place{}, false
	}
	if p, ok := m.groups[strings.ToLower(parsed.String())]; ok {
		return p, true
	}
	return place{parsed, hcltext.String(parsed.String())}, true
}

// past reports what is no object of the configuration any more.
func (m *migration) past(r stateResource, kind string) bool {
	if r.Deposed == "" {
		return false
	}
	m.leave(Left{Kind: kind, Name: r.Address, What: r.text("id"), Why: "it was replaced and is about to be deleted there: apply once more before the move"})
	return true
}

func (m *migration) takeGroup(r stateResource) bool {
	kind := r.text("type")
	if r.Mode != "managed" || r.Type != azapi || len(kind) < len(azapiGroup) || !strings.EqualFold(kind[:len(azapiGroup)], azapiGroup) {
		return false
	}
	id, err := acasapi.ParseGroupID(r.text("id"))
	location := r.text("location")
	if m.past(r, "sandbox group") {
		return true
	}
	if err != nil || location == "" {
		m.leave(Left{Kind: "sandbox group", Name: r.Address, Why: "the state does not say its id and its location: use sandboxctl import --from-group"})
		return true
	}
	body := objectAt(r.Values, "body")
	if text := r.text("body"); text != "" {
		_ = json.Unmarshal([]byte(text), &body) // older releases of azapi keep text; what cannot be read sets nothing
	}
	g := aGroup{
		id: id, location: location, tags: textMapAt(r.Values, "tags"), environment: textAt(objectAt(body, "properties"), "environmentId"),
	}
	if blocks, _ := r.Values["identity"].([]any); len(blocks) == 1 {
		identity, _ := blocks[0].(map[string]any)
		g.identity, g.identities = textAt(identity, "type"), slices.Sorted(slices.Values(textsAt(identity, "identity_ids")))
	}
	m.letGo(r)
	m.groups[strings.ToLower(id.String())] = m.group(g, r.Address)
	return true
}

// imageLabels are the labels that the other provider puts on all that it makes.
var imageLabels = []string{"managed_by", "tf_aca_name", "tf_aca_create_fingerprint"}

func (m *migration) takeImage(r stateResource) bool {
	if r.Mode != "managed" || r.Type != acaImage {
		return false
	}
	if m.past(r, kindImage) {
		return true
	}
	group, known := m.in(r.text("sandbox_group_id"))
	id, reference := r.text("id"), r.text("base_image")
	why := unwritableImage(reference, nil)
	if !known || wire.CheckSegment(id) != nil {
		m.leave(Left{Kind: kindImage, Name: r.Address, What: reference, Why: "the state does not say its group and its id: refresh it, and import again"})
		return true
	}
	m.letGo(r)
	if why != "" {
		m.leave(Left{Kind: kindImage, Name: r.Address, What: strings.TrimSpace(id + "  " + reference), Why: why})
		return true
	}
	name := m.free(typeImage, r.title())
	o := Object{Address: typeImage + "." + name, ID: group.child("diskimages", id), Was: r.Address}
	m.images[id] = o.Address
	w := imageWriter{r: r, group: group, reference: reference}
	if user := r.text("registry_username"); user != "" {
		w.token = m.free("variable", name+" registry token")
		m.variable(w.token, "The password of registry user "+user+" for "+reference+", needed only when the image is made anew.",
			hclwrite.TokensForIdentifier("string"), true)
	}
	m.resource(o, w.remarks(), w.write)
	return true
}

// imageWriter writes one disk image of the other provider.
type imageWriter struct {
	r         stateResource
	group     place
	reference string
	// token is the variable with the password of the registry, where it has one.
	token string
}

func (w imageWriter) remarks() []string {
	var remarks []string
	if strings.EqualFold(w.r.text("deletion_policy"), "Retain") {
		remarks = append(remarks, `deletion_policy was "Retain". prevent_destroy keeps a plan from deleting it; a removed block with destroy = false lets go of it.`)
	}
	if client := w.r.text("managed_identity_client_id"); client != "" {
		remarks = append(remarks, "It was pulled by the identity with client id "+client+". Set managed_identity to its resource id before it is made anew.")
	}
	if w.r.Tainted {
		remarks = append(remarks, "It was marked as tainted, to be replaced by the next apply. It is taken over as it is.")
	}
	return remarks
}

func (w imageWriter) write(b *hclwrite.Body) {
	b.SetAttributeRaw("group", w.group.ref)
	b.SetAttributeRaw("image", hcltext.Object([]hclwrite.Tokens{hcltext.Pair(hclwrite.TokensForIdentifier("reference"), hcltext.String(w.reference))}))
	words(b, "entrypoint", textsAt(w.r.Values, "entrypoint"))
	words(b, "command", textsAt(w.r.Values, "command"))
	labels := textMapAt(w.r.Values, "labels")
	maps.DeleteFunc(labels, func(key, _ string) bool { return slices.Contains(imageLabels, key) })
	taken, _ := labelled(labels)
	texts(b, "labels", taken)
	ignored := []string{"labels"}
	if identity := w.r.text("managed_identity_resource_id"); identity != "" {
		optional(b, "managed_identity", identity)
		ignored = append(ignored, "managed_identity")
	}
	if w.token != "" {
		optional(b, "registry_username", w.r.text("registry_username"))
		b.SetAttributeTraversal("registry_token_wo", dotted("var", w.token))
		ignored = append(ignored, "registry_username")
	}
	ignoring(b, ignored, "The image has labels of the other provider, and the service does not say how it was pulled.", "These count when it is made anew.")
	if strings.EqualFold(w.r.text("deletion_policy"), "Retain") {
		b.FirstMatchingBlock("lifecycle", nil).Body().SetAttributeRaw("prevent_destroy", hclwrite.TokensForIdentifier("true"))
	}
}

// takeRest tells of everything else of the other provider.
func (m *migration) takeRest(r stateResource) bool {
	switch {
	case !strings.HasPrefix(r.Type, "aca_"):
	case r.Mode == "data":
		m.leave(Left{Kind: "data source", Name: r.Address, Why: "delete its block; data.sandbox_image, data.sandbox_prebuilt_image and data.sandbox_sandboxes stand in"})
	default:
		m.leave(Left{Kind: "resource", Name: r.Address, Why: "it is none of those that are known here, and stays with the provider that made it"})
	}
	return true
}
