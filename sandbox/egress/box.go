package egress

import "strings"

// Box is the requests to some of the hosts of a pattern, on some ports, with some
// methods, to some paths: any combination of the four is in it. Boxes come from
// [Region.Boxes] and are never empty.
type Box struct {
	// Host is the pattern, and Except the patterns inside it that are left out;
	// they share nothing with each other.
	Host   Host
	Except []Host
	// Ports are sorted and do not touch.
	Ports []PortRange
	// Methods are sorted. AnyMethodBut turns them round: then every method is in
	// the box but these.
	Methods      []string
	AnyMethodBut bool
	// Paths are the trees of paths in the box; they share nothing.
	Paths []PathTree

	place Host // one name or address of Host outside Except
}

// PathTree is the paths at or below a prefix, without those at or below some
// others inside it.
type PathTree struct {
	// Prefix is in normal form. Empty is every path, and a connection whose path
	// cannot be seen.
	Prefix string
	Except []string
}

// Witness is one request of the box, with a host, a port, a method and a path that
// people recognise where it has such. It names no rule.
func (b Box) Witness() Witness {
	w := Witness{Port: b.Ports[0].First}
	if portsContain(b.Ports, httpsPort) {
		w.Port = httpsPort
	}
	if !b.anyMethod() || !b.anyPath() {
		w.Method, w.Path = b.method(), "/"
		if prefix := b.Paths[0].Prefix; prefix != "" {
			w.Path = prefix
		}
	}
	return w.at(b.place)
}

func (b Box) anyMethod() bool { return b.AnyMethodBut && len(b.Methods) == 0 }

func (b Box) anyPath() bool {
	return len(b.Paths) == 1 && b.Paths[0].Prefix == "" && len(b.Paths[0].Except) == 0
}

func (b Box) method() string {
	if !b.AnyMethodBut {
		return b.Methods[0]
	}
	return methodOutside(func(method string) bool { return tokensContain(b.Methods, method) && b.Methods != nil })
}

// String reads as [Rule.String] does, and says what is left out:
// "api.example.com:443 (any method but GET or HEAD; /v1/*)",
// "*.example.com:443, but not a.example.com".
func (b Box) String() string {
	text := bracketed(b.Host.String()) + ":" + listed(stringsOf(b.Ports), ",")
	var parts []string
	separator := " "
	switch {
	case b.anyMethod():
	case b.AnyMethodBut:
		parts = append(parts, "any method but "+listed(b.Methods, " or "))
		separator = "; "
	default:
		parts = append(parts, listed(b.Methods, ", "))
	}
	if !b.anyPath() {
		parts = append(parts, listed(stringsOf(b.Paths), ", "))
		if b.Paths[0].Prefix == "" {
			separator = "; "
		}
	}
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, separator) + ")"
	}
	if len(b.Except) > 0 {
		text += ", but not " + listed(stringsOf(b.Except), " or ")
	}
	return text
}

// String reads "/v1/*", "/v1/* but not /v1/admin/*", or "any path but /v1/*".
func (t PathTree) String() string {
	text, but := t.Prefix+"/*", " but not "
	if t.Prefix == "" {
		text, but = "any path", " but "
	}
	if len(t.Except) == 0 {
		return text
	}
	except := make([]string, len(t.Except))
	for i, p := range t.Except {
		except[i] = p + "/*"
	}
	return text + but + listed(except, " or ")
}

func stringsOf[T interface{ String() string }](list []T) []string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = e.String()
	}
	return texts
}

// listed names the first few and counts the rest.
func listed(texts []string, separator string) string {
	const most = 4
	if len(texts) <= most {
		return strings.Join(texts, separator)
	}
	return strings.Join(texts[:most], separator) + separator + itoa(len(texts)-most) + " more"
}
