package sandbox

// OSFamily means path grammar and argument quoting. It never says which system or
// which commands a guest has (spec A18).
type OSFamily uint8

const (
	OSFamilyUnspecified OSFamily = iota
	// OSFamilyPOSIX: slash-separated paths, argument vectors.
	OSFamilyPOSIX
	// OSFamilyWindows: drive letters, one command line.
	OSFamilyWindows
)

var osFamilies = vocabulary[OSFamily]{
	noun:  "OS family",
	words: []string{"", "posix", "windows"},
}

// ParseOSFamily reads a word such as "posix", exactly as written.
func ParseOSFamily(text string) (OSFamily, error) { return osFamilies.parse(text) }

// OSFamilies lists every value.
func OSFamilies() []OSFamily { return osFamilies.all() }

// String is the value's text, empty when unspecified.
func (o OSFamily) String() string { return osFamilies.text(o) }

// MarshalText fails on a value outside the vocabulary.
func (o OSFamily) MarshalText() ([]byte, error) { return osFamilies.marshal(o) }

// UnmarshalText accepts exactly what [ParseOSFamily] does.
func (o *OSFamily) UnmarshalText(text []byte) error { return osFamilies.unmarshal(o, text) }

// ImageUser is a policy's rule about the user an image runs as. A user that
// nobody knows meets neither root nor non_root.
type ImageUser uint8

const (
	ImageUserUnspecified ImageUser = iota
	// ImageUserAny: the policy does not mind.
	ImageUserAny
	// ImageUserNonRoot: the image must be known to run as somebody other than root.
	ImageUserNonRoot
	// ImageUserRoot: the image must be known to run as root.
	ImageUserRoot
)

var imageUsers = vocabulary[ImageUser]{
	noun:  "image user rule",
	words: []string{"", "any", "non_root", "root"},
}

// ParseImageUser reads a word such as "any", exactly as written.
func ParseImageUser(text string) (ImageUser, error) { return imageUsers.parse(text) }

// ImageUsers lists every value.
func ImageUsers() []ImageUser { return imageUsers.all() }

// String is the value's text, empty when unspecified.
func (i ImageUser) String() string { return imageUsers.text(i) }

// MarshalText fails on a value outside the vocabulary.
func (i ImageUser) MarshalText() ([]byte, error) { return imageUsers.marshal(i) }

// UnmarshalText accepts exactly what [ParseImageUser] does.
func (i *ImageUser) UnmarshalText(text []byte) error { return imageUsers.unmarshal(i, text) }

// PrebuiltRule is a policy's rule about images from a service's catalogue.
type PrebuiltRule uint8

const (
	PrebuiltRuleUnspecified PrebuiltRule = iota
	// PrebuiltDeny: catalogue images are refused.
	PrebuiltDeny
	// PrebuiltAllow: catalogue images are let through.
	PrebuiltAllow
)

var prebuiltRules = vocabulary[PrebuiltRule]{
	noun:  "prebuilt image rule",
	words: []string{"", "deny", "allow"},
}

// ParsePrebuiltRule reads a word such as "deny", exactly as written.
func ParsePrebuiltRule(text string) (PrebuiltRule, error) { return prebuiltRules.parse(text) }

// PrebuiltRules lists every value.
func PrebuiltRules() []PrebuiltRule { return prebuiltRules.all() }

// String is the value's text, empty when unspecified.
func (p PrebuiltRule) String() string { return prebuiltRules.text(p) }

// MarshalText fails on a value outside the vocabulary.
func (p PrebuiltRule) MarshalText() ([]byte, error) { return prebuiltRules.marshal(p) }

// UnmarshalText accepts exactly what [ParsePrebuiltRule] does.
func (p *PrebuiltRule) UnmarshalText(text []byte) error { return prebuiltRules.unmarshal(p, text) }

// ImageSource is a way of naming what a sandbox is made from.
type ImageSource uint8

const (
	ImageSourceUnspecified ImageSource = iota
	// ImageSourcePrebuilt: a name of the service's catalogue.
	ImageSourcePrebuilt
	// ImageSourceReference: a registry reference.
	ImageSourceReference
)

var imageSources = vocabulary[ImageSource]{
	noun:  "image source",
	words: []string{"", "prebuilt", "reference"},
}

// ParseImageSource reads "prebuilt" or "reference", exactly as written.
func ParseImageSource(text string) (ImageSource, error) { return imageSources.parse(text) }

// ImageSources lists every value.
func ImageSources() []ImageSource { return imageSources.all() }

// String is the value's text, empty when unspecified.
func (i ImageSource) String() string { return imageSources.text(i) }

// MarshalText fails on a value outside the vocabulary.
func (i ImageSource) MarshalText() ([]byte, error) { return imageSources.marshal(i) }

// UnmarshalText accepts exactly what [ParseImageSource] does.
func (i *ImageSource) UnmarshalText(text []byte) error { return imageSources.unmarshal(i, text) }
