package adopt

import (
	"bytes"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/hcltext"
)

// Adoption is a configuration of objects that exist, and an account of it.
type Adoption struct {
	// HCL is the file.
	HCL []byte
	// Objects are what it imports, in its order.
	Objects []Object
	// Variables are the names of the values that it asks for.
	Variables []string
	// Forgotten are the resources of another provider that it lets go of, undeleted.
	Forgotten []string
	// Left are the objects that it has as comments alone.
	Left []Left
	// Findings are what should be known before it is applied.
	Findings []Finding
}

// Object is an object that the configuration takes over.
type Object struct {
	// Address is that of the new resource, ID what it is imported by.
	Address, ID string
	// Was is the address of the resource that it was, if it was one.
	Was string
}

// Left is an object that no resource is written for.
type Left struct {
	// Kind is what it is, such as "sandbox"; Name names it among those.
	Kind, Name string
	// What is said of it, and Why there is no resource.
	What, Why string

	// instead are lines of HCL to begin from.
	instead []byte
}

// Finding is something to be known of an object.
type Finding struct{ About, Text string }

// draft is an adoption while it is written.
type draft struct {
	Adoption

	file *hclwrite.File
	// names are those of each type of resource, and of variables.
	names map[string]hcltext.Names
}

func newDraft(about ...string) *draft {
	d := &draft{file: hclwrite.NewEmptyFile(), names: map[string]hcltext.Names{}}
	for _, line := range about {
		d.say(line)
	}
	return d
}

// width is where comments are broken.
const width = 100

// say writes a comment, in lines that can be read.
func (d *draft) say(text string) {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	line := indent
	for i, word := range strings.Fields(text) {
		if i > 0 && len(line)+len(word) >= width {
			d.line(line)
			line = indent + word
			continue
		}
		if i > 0 {
			line += " "
		}
		line += word
	}
	d.line(line)
}

// line writes a comment of one line.
func (d *draft) line(text string) { d.file.Body().AppendUnstructuredTokens(hcltext.Comment(text)) }

// free is a name for a resource of the type, after what somebody else calls it.
func (d *draft) free(kind, text string) string {
	if d.names[kind] == nil {
		d.names[kind] = hcltext.Names{}
	}
	return d.names[kind].Free(text, "imported")
}

// find tells something of an object, in the file and beside it.
func (d *draft) find(about, text string) {
	d.say(text)
	d.Findings = append(d.Findings, Finding{about, text})
}

// resource writes a resource under a name that is free, with its import block. What
// remarks say stands above it.
func (d *draft) resource(o Object, remarks []string, fill func(*hclwrite.Body)) {
	kind, name, _ := strings.Cut(o.Address, ".")
	body := d.file.Body()
	body.AppendNewline()
	for _, remark := range remarks {
		d.find(o.Address, remark)
	}
	block := body.AppendNewBlock("import", nil).Body()
	block.SetAttributeTraversal("to", dotted(kind, name))
	block.SetAttributeRaw("id", hcltext.String(o.ID))
	body.AppendNewline()
	fill(body.AppendNewBlock("resource", []string{kind, name}).Body())
	d.Objects = append(d.Objects, o)
}

// forget writes the block that lets go of another provider's resource.
func (d *draft) forget(address string, from hcl.Traversal) {
	body := d.file.Body()
	block := body.AppendNewBlock("removed", nil).Body()
	block.SetAttributeTraversal("from", from)
	block.AppendNewline()
	block.AppendNewBlock("lifecycle", nil).Body().SetAttributeValue("destroy", cty.False)
	d.Forgotten = append(d.Forgotten, address)
}

// variable asks for values that nobody gives out. Nothing of them is stored.
func (d *draft) variable(name, description string, kind hclwrite.Tokens, optional bool) {
	body := d.file.Body()
	body.AppendNewline()
	block := body.AppendNewBlock("variable", []string{name}).Body()
	block.SetAttributeRaw("description", hcltext.String(description))
	block.SetAttributeRaw("type", kind)
	if optional {
		block.SetAttributeValue("default", cty.NullVal(cty.String))
	}
	block.SetAttributeValue("sensitive", cty.True)
	block.SetAttributeValue("ephemeral", cty.True)
	d.Variables = append(d.Variables, name)
}

// leave tells of an object that no resource is written for.
func (d *draft) leave(l Left) { d.Left = append(d.Left, l) }

// done writes what was left, and ends the draft.
func (d *draft) done() *Adoption {
	if len(d.Left) > 0 {
		d.file.Body().AppendNewline()
		d.say("There is no resource here for what follows.")
	}
	for i, l := range d.Left {
		if i == 0 || l.Kind != d.Left[i-1].Kind || l.Why != d.Left[i-1].Why {
			d.say("")
			d.say(l.Kind + ": " + l.Why)
		}
		d.say("  " + strings.TrimSpace(l.Name+" "+l.What))
		for line := range bytes.Lines(l.instead) {
			d.line("    " + strings.TrimRight(string(line), "\n"))
		}
	}
	d.HCL = bytes.TrimLeft(hclwrite.Format(trimmed(d.file.Bytes())), "\n")
	return &d.Adoption
}

// trimmed is a file whose comments end where their text does.
func trimmed(file []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(file) {
		b.Write(bytes.TrimRight(line, " \n"))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// dotted is a reference such as sandbox_group.team.
func dotted(root string, names ...string) hcl.Traversal {
	t := hcl.Traversal{hcl.TraverseRoot{Name: root}}
	for _, name := range names {
		t = append(t, hcl.TraverseAttr{Name: name})
	}
	return t
}

// element is a reference such as var.values["key"].
func element(root, name, key string) hclwrite.Tokens {
	tokens := hclwrite.TokensForTraversal(dotted(root, name))
	tokens = append(tokens, hclwrite.TokensForTuple([]hclwrite.Tokens{hcltext.String(key)})...)
	return tokens
}

// ignoring writes the attributes whose value of the configuration counts only when
// the object is made anew.
func ignoring(b *hclwrite.Body, attributes []string, why ...string) {
	if len(attributes) == 0 {
		return
	}
	b.AppendNewline()
	block := b.AppendNewBlock("lifecycle", nil).Body()
	for _, line := range why {
		block.AppendUnstructuredTokens(hcltext.Comment(line))
	}
	elements := make([]hclwrite.Tokens, len(attributes))
	for i, name := range attributes {
		elements[i] = hclwrite.TokensForIdentifier(name)
	}
	block.SetAttributeRaw("ignore_changes", hclwrite.TokensForTuple(elements))
}
