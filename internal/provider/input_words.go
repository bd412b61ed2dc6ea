package provider

import (
	"encoding"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/facts"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// word is a type of one of package sandbox's closed vocabularies, seen through
// its pointer.
type word[T any] interface {
	*T
	encoding.TextUnmarshaler
}

// readWord reads one word of a closed vocabulary. Null is unspecified; the empty
// string is not a word.
func readWord[T any, P word[T]](o *object, name string) T {
	var w T
	v, path, ok := o.get(name)
	if !ok {
		return w
	}
	text, ok := asText(v)
	if !ok {
		o.reading.wrongType(path, v, "a string")
		return w
	}
	if err := P(&w).UnmarshalText([]byte(text)); err != nil {
		o.reading.reject(path, sandbox.FindingsAt(err, path)...)
	}
	return w
}

// setMember is a word that package sandbox keeps in a set.
type setMember interface {
	~uint8
	String() string
}

// readWords reads a list of words as a set: order and repetition mean nothing.
// It also reports whether the list is stated.
func readWords[T setMember, P word[T]](o *object, name string) (words sandbox.Set[T], stated bool) {
	texts := o.texts(name)
	path := o.path.Append(sandbox.Attr(name))
	for i, text := range texts {
		at := path.Append(sandbox.Index(i))
		if !o.reading.known.Has(at) {
			continue
		}
		var w T
		if err := P(&w).UnmarshalText([]byte(text)); err != nil {
			o.reading.reject(at, sandbox.FindingsAt(err, at)...)
			continue
		}
		words = words.With(w)
	}
	return words, texts != nil
}

// readLimits reads transfer limits, which state all three of their numbers.
func readLimits(o *object, name string) *sandbox.TransferLimits {
	limits, ok := o.child(name)
	if !ok {
		return nil
	}
	l := &sandbox.TransferLimits{}
	for _, part := range []struct {
		name string
		to   *int64
	}{
		{"max_bytes_per_file", &l.MaxBytesPerFile},
		{"max_total_bytes", &l.MaxTotalBytes},
		{"max_files", &l.MaxFiles},
	} {
		n, stated := limits.whole(part.name)
		if !stated && limits.settled(part.name) {
			o.reading.null(limits.path.Append(sandbox.Attr(part.name)), "a number; limits state max_bytes_per_file, max_total_bytes and max_files")
		}
		*part.to = n
	}
	limits.done()
	return l
}

// readEgress reads the egress attributes, which policies and workloads share.
func readEgress(o *object) sandbox.Egress {
	e := sandbox.Egress{
		Mode:  readWord[sandbox.EgressMode](o, "egress_mode"),
		Hosts: o.texts("egress_hosts"),
	}
	rules := map[string]sandbox.EgressRule{}
	if o.eachObject("egress_rules", func(key string, rule *object) {
		// An absent part stays empty, which is a finding of the rule's parser.
		rules[key] = sandbox.EgressRule{
			Host:    rule.text("host"),
			Ports:   rule.texts("ports"),
			Methods: rule.texts("methods"),
			Paths:   rule.texts("paths"),
		}
	}) {
		e.Rules = rules
	}
	e.Guarantees, _ = readWords[sandbox.Guarantee](o, "egress_guarantees")
	return e
}

// unknownName is the finding for an attribute that an object does not have.
func unknownName(name string, names []string, at sandbox.FieldPath) sandbox.Finding {
	remedy := "remove it, or check how it is spelt"
	if near, ok := facts.Nearest(name, names); ok {
		remedy = "write " + strconv.Quote(near)
	}
	return sandbox.Finding{
		Code: sandbox.CodeUnknownName, Path: at.Append(sandbox.Attr(name)),
		Found: sandbox.Echo(name), Required: "a name that this object has", Remedy: remedy,
	}
}
