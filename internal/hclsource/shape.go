package hclsource

import "maps"

// shape says which names an expression's value may have, as deep as Terraform
// drops names without a word. Nil is anything: text, numbers, lists, and objects
// whose names people choose.
type shape struct {
	// noun is what messages call it.
	noun string
	// names are the attributes of an object; nil for a map.
	names map[string]*shape
	// element is what every value of a map is.
	element *shape
}

func objectOf(noun string, plain []string, nested map[string]*shape) *shape {
	s := &shape{noun: noun, names: make(map[string]*shape, len(plain)+len(nested))}
	for _, name := range plain {
		s.names[name] = nil
	}
	maps.Copy(s.names, nested)
	return s
}

func mapOf(element *shape) *shape { return &shape{noun: "a map", element: element} }

// shapes are the objects of this provider. A test holds their names to the
// published schema of the documents, and one to the provider's own schema.
type shapes struct {
	policy, workload, manifest, diskImage *shape
}

func newShapes() shapes {
	limits := objectOf("transfer limits", []string{"max_bytes_per_file", "max_total_bytes", "max_files"}, nil)
	shared := map[string]*shape{
		"egress_rules":     mapOf(objectOf("an egress rule", []string{"host", "ports", "methods", "paths"}, nil)),
		"files_in_limits":  limits,
		"files_out_limits": limits,
	}
	policy := objectOf("a policy", []string{
		"name", "minimum_isolation", "minimum_evidence", "minimum_isolation_scope", "minimum_cleanup",
		"denied_capabilities", "denied_identities", "maximum_identity_scope",
		"egress_mode", "egress_hosts", "egress_guarantees", "egress_match", "missing_guarantees", "never_reaches",
		"image_registries", "image_require_digest", "image_prebuilt", "image_user",
		"on_widening", "accept_widening", "digest",
	}, shared)
	workload := objectOf("a workload", []string{
		"kind", "backend", "backend_facts", "requires", "minimum_isolation", "isolation_scope", "minimum_cleanup",
		"os_family", "work_dir", "egress_mode", "egress_hosts", "egress_guarantees",
		"outputs_named_at_call_time", "identities", "maximum_identity_scope", "identity_retention_seconds", "program_profile",
		"digest", "verdict", "findings", "labels",
	}, shared)
	workload.names["image"] = objectOf("an image", []string{"prebuilt", "reference", "digest", "user", "platform"}, nil)
	workload.names["outputs"] = mapOf(objectOf("an output", []string{"path", "name", "media_type", "required", "disposition"}, nil))
	workload.names["policy"] = policy
	manifest := objectOf("a manifest", []string{"generation", "document", "digest"}, map[string]*shape{
		"policy": policy, "workloads": mapOf(workload),
		"group": objectOf("a group", []string{"id", "endpoint", "location"}, nil),
	})
	diskImage := &shape{noun: "a disk image", names: map[string]*shape{"image": workload.names["image"]}}
	return shapes{policy: policy, workload: workload, manifest: manifest, diskImage: diskImage}
}

// of is the shape of a block's own attributes, nil for blocks of others and for those
// that have no objects inside. An attribute of a block itself is Terraform's to refuse.
func (s shapes) of(kind string) *shape {
	switch kind {
	case "sandbox_policy":
		return s.policy
	case "sandbox_workload", "sandbox_capability_check":
		return s.workload // the data source takes what the resource takes
	case "sandbox_manifest":
		return s.manifest
	case "sandbox_disk_image":
		return s.diskImage
	default:
		return nil
	}
}
