package manifest

import (
	"encoding"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// wordsOf writes a set as its sorted words; the empty set is absent.
func wordsOf[T interface {
	~uint8
	String() string
}](s sandbox.Set[T]) []string {
	if s.Empty() {
		return nil
	}
	return s.Strings()
}

// setOf reads words that the schema has already admitted.
func setOf[T interface {
	~uint8
	String() string
}, P interface {
	*T
	encoding.TextUnmarshaler
}](words []string,
) sandbox.Set[T] {
	s, _ := sandbox.ParseSet[T, P](words, nil)
	return s
}

func absentWhenEmpty[E any, S ~[]E](s S) S {
	if len(s) == 0 {
		return nil
	}
	return s
}

func absentWhenEmptyMap[V any, M ~map[string]V](m M) M {
	if len(m) == 0 {
		return nil
	}
	return m
}

func policyToWire(p sandbox.Policy) policyWire {
	return policyWire{
		Name:                  p.Name,
		MinimumIsolation:      p.MinimumIsolation,
		MinimumEvidence:       p.MinimumEvidence,
		MinimumIsolationScope: p.MinimumIsolationScope,
		MinimumCleanup:        p.MinimumCleanup,
		DeniedCapabilities:    wordsOf(p.DeniedCapabilities),
		DeniedIdentities:      wordsOf(p.DeniedIdentities),
		MaximumIdentityScope:  p.MaximumIdentityScope,
		EgressMode:            p.Egress.Mode,
		EgressHosts:           absentWhenEmpty(p.Egress.Hosts),
		EgressRules:           absentWhenEmptyMap(p.Egress.Rules),
		EgressGuarantees:      wordsOf(p.Egress.Guarantees),
		EgressMatch:           p.EgressMatch,
		MissingGuarantees:     p.MissingGuarantees,
		NeverReaches:          absentWhenEmpty(p.NeverReaches),
		FilesInLimits:         p.FilesIn,
		FilesOutLimits:        p.FilesOut,
		ImageRegistries:       p.Images.Registries,
		ImageRequireDigest:    p.Images.RequireDigest,
		ImagePrebuilt:         p.Images.Prebuilt,
		ImageUser:             p.Images.User,
	}
}

func policyFromWire(w policyWire) sandbox.Policy {
	return sandbox.Policy{
		Name:                  w.Name,
		MinimumIsolation:      w.MinimumIsolation,
		MinimumEvidence:       w.MinimumEvidence,
		MinimumIsolationScope: w.MinimumIsolationScope,
		MinimumCleanup:        w.MinimumCleanup,
		DeniedCapabilities:    setOf[sandbox.Capability](w.DeniedCapabilities),
		DeniedIdentities:      setOf[sandbox.Identity](w.DeniedIdentities),
		MaximumIdentityScope:  w.MaximumIdentityScope,
		Egress: sandbox.Egress{
			Mode: w.EgressMode, Hosts: w.EgressHosts, Rules: w.EgressRules,
			Guarantees: setOf[sandbox.Guarantee](w.EgressGuarantees),
		},
		EgressMatch:       w.EgressMatch,
		MissingGuarantees: w.MissingGuarantees,
		NeverReaches:      w.NeverReaches,
		FilesIn:           w.FilesInLimits,
		FilesOut:          w.FilesOutLimits,
		Images: sandbox.ImagePolicy{
			Registries: w.ImageRegistries, RequireDigest: w.ImageRequireDigest,
			Prebuilt: w.ImagePrebuilt, User: w.ImageUser,
		},
	}
}

func workloadToWire(s sandbox.Spec) workloadWire {
	w := workloadWire{
		Kind:                     s.Kind,
		Backend:                  s.Backend,
		Requires:                 s.RequiredCapabilities().Strings(),
		MinimumIsolation:         s.MinimumIsolation,
		IsolationScope:           s.IsolationScope,
		MinimumCleanup:           s.MinimumCleanup,
		OSFamily:                 s.OSFamily,
		WorkDir:                  s.WorkDir,
		Labels:                   absentWhenEmptyMap(s.Labels),
		EgressMode:               s.Egress.Mode,
		EgressHosts:              absentWhenEmpty(s.Egress.Hosts),
		EgressRules:              absentWhenEmptyMap(s.Egress.Rules),
		EgressGuarantees:         wordsOf(s.Egress.Guarantees),
		FilesInLimits:            s.FilesIn,
		FilesOutLimits:           s.FilesOut,
		OutputsNamedAtCallTime:   s.OutputsNamedAtCallTime,
		Identities:               wordsOf(s.Identities),
		MaximumIdentityScope:     s.MaximumIdentityScope,
		IdentityRetentionSeconds: s.IdentityRetentionSeconds,
		ProgramProfile:           s.ProgramProfile,
	}
	if !s.Image.IsZero() {
		w.Image = &imageWire{
			Prebuilt: s.Image.Prebuilt, Reference: s.Image.Reference, Digest: s.Image.Digest,
			User: s.Image.User, Platform: s.Image.Platform,
		}
	}
	if len(s.Outputs) > 0 {
		w.Outputs = make(map[string]outputWire, len(s.Outputs))
		for name, o := range s.Outputs {
			w.Outputs[name] = outputToWire(o)
		}
	}
	return w
}

// outputToWire writes what is not the default, by the words that Terraform has.
func outputToWire(o sandbox.Output) outputWire {
	w := outputWire{Path: o.Path, Name: o.Name, MediaType: o.MediaType}
	if o.Optional {
		w.Required = new(bool)
	}
	if !o.Lands() {
		w.Disposition = o.Disposition
	}
	return w
}

func outputFromWire(w outputWire) sandbox.Output {
	return sandbox.Output{
		Path: w.Path, Name: w.Name, MediaType: w.MediaType,
		Optional: w.Required != nil && !*w.Required, Disposition: w.Disposition,
	}
}

func workloadFromWire(w workloadWire) sandbox.Spec {
	requires := setOf[sandbox.Capability](w.Requires)
	s := sandbox.Spec{
		Kind:             w.Kind,
		Backend:          w.Backend,
		Requires:         &requires,
		MinimumIsolation: w.MinimumIsolation,
		IsolationScope:   w.IsolationScope,
		MinimumCleanup:   w.MinimumCleanup,
		OSFamily:         w.OSFamily,
		WorkDir:          w.WorkDir,
		Labels:           w.Labels,
		Egress: sandbox.Egress{
			Mode: w.EgressMode, Hosts: w.EgressHosts, Rules: w.EgressRules,
			Guarantees: setOf[sandbox.Guarantee](w.EgressGuarantees),
		},
		FilesIn:                  w.FilesInLimits,
		FilesOut:                 w.FilesOutLimits,
		OutputsNamedAtCallTime:   w.OutputsNamedAtCallTime,
		Identities:               setOf[sandbox.Identity](w.Identities),
		MaximumIdentityScope:     w.MaximumIdentityScope,
		IdentityRetentionSeconds: w.IdentityRetentionSeconds,
		ProgramProfile:           w.ProgramProfile,
	}
	if w.Image != nil {
		s.Image = sandbox.Image(*w.Image)
	}
	if len(w.Outputs) > 0 {
		s.Outputs = make(map[string]sandbox.Output, len(w.Outputs))
		for name, o := range w.Outputs {
			s.Outputs[name] = outputFromWire(o)
		}
	}
	return s
}

func manifestToWire(m Manifest) manifestWire {
	w := manifestWire{
		APIVersion: APIVersion, Document: "manifest",
		Generation: m.Generation,
		Policy:     policyToWire(m.Policy),
		Workloads:  make(map[string]workloadWire, len(m.Workloads)),
	}
	if m.HostPolicy != nil {
		host := policyToWire(*m.HostPolicy)
		w.HostPolicy = &host
	}
	if m.Group != nil {
		group := groupWire(*m.Group)
		w.Group = &group
	}
	for name, g := range m.Guarantees {
		if w.Guarantees == nil {
			w.Guarantees = make(map[string][]string, len(m.Guarantees))
		}
		w.Guarantees[name] = g.Strings()
	}
	for name, spec := range m.Workloads {
		w.Workloads[name] = workloadToWire(spec)
	}
	return w
}

func manifestFromWire(w manifestWire) Manifest {
	m := Manifest{
		Generation: w.Generation,
		Policy:     policyFromWire(w.Policy),
		Workloads:  make(map[string]sandbox.Spec, len(w.Workloads)),
	}
	if w.HostPolicy != nil {
		host := policyFromWire(*w.HostPolicy)
		m.HostPolicy = &host
	}
	if w.Group != nil {
		group := Group(*w.Group)
		m.Group = &group
	}
	for name, words := range w.Guarantees {
		if m.Guarantees == nil {
			m.Guarantees = make(map[string]sandbox.GuaranteeSet, len(w.Guarantees))
		}
		m.Guarantees[name] = setOf[sandbox.Guarantee](words)
	}
	for name, spec := range w.Workloads {
		m.Workloads[name] = workloadFromWire(spec)
	}
	return m
}

func declarationsToWire(d sandbox.Declarations) backendDocument {
	w := backendDocument{
		APIVersion: APIVersion, Document: "backend",
		Backend:            d.Backend,
		Isolation:          d.Isolation,
		IsolationEvidence:  d.IsolationEvidence,
		FilesInLimits:      d.FilesIn,
		FilesOutLimits:     d.FilesOut,
		EgressModes:        wordsOf(d.EgressModes),
		MethodTokens:       d.MethodTokens,
		ImageSources:       wordsOf(d.ImageSources),
		OSFamilies:         wordsOf(d.OSFamilies),
		IsolationScopes:    wordsOf(d.IsolationScopes),
		WriteAuthority:     d.WriteAuthority,
		ObservesEgress:     d.ObservesEgress,
		ExclusiveAdmission: d.ExclusiveAdmission,
	}
	if d.Capabilities != nil {
		w.Capabilities = d.Capabilities.Strings()
	}
	for g, e := range d.Guarantees {
		if w.Guarantees == nil {
			w.Guarantees = make(map[string]evidenceWire, len(d.Guarantees))
		}
		w.Guarantees[g.String()] = e
	}
	if a := d.AttachedIdentity; a.Attached() {
		w.AttachedIdentity = &attachedIdentityWire{
			Scope: a.Scope, RetentionSeconds: a.RetentionSeconds, Channels: a.Channels.Strings(),
		}
	}
	for _, c := range d.ProgramChannels {
		w.ProgramChannels = append(w.ProgramChannels, channelWire{
			Name: c.Name, Profiles: c.Profiles, HostTools: c.HostTools, Needs: wordsOf(c.Needs),
		})
	}
	return w
}

func declarationsFromWire(w backendDocument) sandbox.Declarations {
	d := sandbox.Declarations{
		Backend:            w.Backend,
		Isolation:          w.Isolation,
		IsolationEvidence:  w.IsolationEvidence,
		FilesIn:            w.FilesInLimits,
		FilesOut:           w.FilesOutLimits,
		EgressModes:        setOf[sandbox.EgressMode](w.EgressModes),
		MethodTokens:       w.MethodTokens,
		ImageSources:       setOf[sandbox.ImageSource](w.ImageSources),
		OSFamilies:         setOf[sandbox.OSFamily](w.OSFamilies),
		IsolationScopes:    setOf[sandbox.IsolationScope](w.IsolationScopes),
		WriteAuthority:     w.WriteAuthority,
		ObservesEgress:     w.ObservesEgress,
		ExclusiveAdmission: w.ExclusiveAdmission,
	}
	if w.Capabilities != nil {
		set := setOf[sandbox.Capability](w.Capabilities)
		d.Capabilities = &set
	}
	for word, e := range w.Guarantees {
		g, err := sandbox.ParseGuarantee(word)
		if err != nil {
			continue
		}
		if d.Guarantees == nil {
			d.Guarantees = make(map[sandbox.Guarantee]sandbox.Evidence, len(w.Guarantees))
		}
		d.Guarantees[g] = e
	}
	if a := w.AttachedIdentity; a != nil {
		d.AttachedIdentity = sandbox.AttachedIdentity{
			Scope: a.Scope, RetentionSeconds: a.RetentionSeconds,
			Channels: setOf[sandbox.AuthorityChannel](a.Channels),
		}
	}
	for _, c := range w.ProgramChannels {
		d.ProgramChannels = append(d.ProgramChannels, sandbox.ProgramChannel{
			Name: c.Name, Profiles: c.Profiles, HostTools: c.HostTools, Needs: setOf[sandbox.Capability](c.Needs),
		})
	}
	return d
}
