package provider

import (
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// workloadInput is a workload as it was received from Terraform.
type workloadInput struct {
	Spec sandbox.Spec
	// Known marks what is not known yet, backend_facts included.
	Known sandbox.Known
	// Findings say what could not be read. Their paths count from the workload.
	Findings []sandbox.Finding
	// Facts is the text of backend_facts, empty when there is none.
	Facts string

	seal seal
}

// readWorkload reads a workload from any object or map. The policy that it may
// carry is not read here. strict refuses names that a workload does not have.
func readWorkload(v tftypes.Value, strict bool) workloadInput {
	r := &reading{strict: strict}
	in := workloadInput{}
	if o, ok := r.open(v, nil); ok {
		in.Spec = specOf(o)
		in.Facts = o.text("backend_facts")
		in.seal = readSeal(o)
		o.ignore("policy", "verdict", "findings")
		o.done()
	}
	in.Known, in.Findings = r.known, r.findings
	return in
}

func specOf(o *object) sandbox.Spec {
	s := sandbox.Spec{
		Kind:                   o.text("kind"),
		Backend:                o.text("backend"),
		Image:                  imageOf(o),
		MinimumIsolation:       readWord[sandbox.Isolation](o, "minimum_isolation"),
		IsolationScope:         readWord[sandbox.IsolationScope](o, "isolation_scope"),
		MinimumCleanup:         readWord[sandbox.Cleanup](o, "minimum_cleanup"),
		OSFamily:               readWord[sandbox.OSFamily](o, "os_family"),
		WorkDir:                o.text("work_dir"),
		Labels:                 labelsOf(o),
		Egress:                 readEgress(o),
		FilesIn:                readLimits(o, "files_in_limits"),
		FilesOut:               readLimits(o, "files_out_limits"),
		Outputs:                outputsOf(o),
		OutputsNamedAtCallTime: o.flag("outputs_named_at_call_time", false),
		MaximumIdentityScope:   readWord[sandbox.IdentityScope](o, "maximum_identity_scope"),
		ProgramProfile:         o.text("program_profile"),
	}
	if requires, stated := readWords[sandbox.Capability](o, "requires"); stated {
		s.Requires = &requires
	}
	s.Identities, _ = readWords[sandbox.Identity](o, "identities")
	s.IdentityRetentionSeconds, _ = o.whole("identity_retention_seconds")
	return s
}

func imageOf(o *object) sandbox.Image {
	image, ok := o.child("image")
	if !ok {
		return sandbox.Image{}
	}
	i := sandbox.Image{
		Prebuilt:  image.text("prebuilt"),
		Reference: image.text("reference"),
		Digest:    image.text("digest"),
		User:      image.text("user"),
		Platform:  image.text("platform"),
	}
	// What data sources and sandbox_disk_image say of an image beside what it is.
	image.ignore("name", "root", "variants", "group", "catalogue_source", "catalogue_date", "catalogue_digest")
	image.ignore("id", "image_id", "image", "entrypoint", "command", "labels", "timeouts",
		"registry_username", "registry_token", "registry_token_wo", "managed_identity")
	image.done()
	return i
}

func labelsOf(o *object) map[string]string {
	labels := map[string]string{}
	if !o.each("labels", func(key string, v tftypes.Value, path sandbox.FieldPath) {
		text, ok := asText(v)
		labels[key] = text
		switch {
		case !v.IsKnown():
			o.reading.unknownAt(path)
		case v.IsNull():
			o.reading.null(path, "a string")
		case !ok:
			o.reading.wrongType(path, v, "a string")
		}
	}) {
		return nil
	}
	return labels
}

func outputsOf(o *object) map[string]sandbox.Output {
	outputs := map[string]sandbox.Output{}
	if !o.eachObject("outputs", func(key string, output *object) {
		outputs[key] = sandbox.Output{
			Path:        output.demanded("path", "the path of a file below the work directory"),
			Name:        output.text("name"),
			MediaType:   output.text("media_type"),
			Optional:    !output.flag("required", true),
			Disposition: readWord[sandbox.Disposition](output, "disposition"),
		}
	}) {
		return nil
	}
	return outputs
}
