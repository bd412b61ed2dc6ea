package sandbox

import (
	"slices"
	"strconv"
	"strings"
)

// vocabulary is a closed list of words for a small integer type. Words stand in
// rank order where the type is a ladder. The word at 0 is empty: zero is always
// "unspecified" and has no text. Text is the contract; the integers are never
// written anywhere.
type vocabulary[T ~uint8] struct {
	noun  string
	words []string
}

// parse reads a word exactly: no case folding, no trimming, no aliases.
func (v vocabulary[T]) parse(text string) (T, error) {
	if text != "" {
		if i := slices.Index(v.words, text); i > 0 {
			return T(i), nil
		}
	}
	return 0, Finding{
		Code:     CodeUnknownWord,
		Found:    v.noun + " " + Echo(text),
		Required: "one of " + strings.Join(v.words[1:], ", "),
		Remedy:   v.suggest(text),
	}.Refusal(nil)
}

func (v vocabulary[T]) suggest(text string) string {
	if meant := loosely(text); meant != "" {
		for _, word := range v.words[1:] {
			if loosely(word) == meant {
				return "write " + strconv.Quote(word)
			}
		}
	}
	return "write one of these words exactly"
}

// loosely is a word without its case and without what separates its parts.
func loosely(word string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "", "\t", "").Replace(strings.ToLower(word))
}

func (v vocabulary[T]) text(t T) string {
	if int(t) < len(v.words) {
		return v.words[t]
	}
	return v.noun + "(" + strconv.Itoa(int(t)) + ")"
}

func (v vocabulary[T]) valid(t T) bool { return t > 0 && int(t) < len(v.words) }

func (v vocabulary[T]) marshal(t T) ([]byte, error) {
	if !v.valid(t) {
		_, err := v.parse(v.text(t))
		return nil, err
	}
	return []byte(v.words[t]), nil
}

func (v vocabulary[T]) unmarshal(t *T, text []byte) error {
	parsed, err := v.parse(string(text))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

func (v vocabulary[T]) all() []T {
	all := make([]T, 0, len(v.words)-1)
	for i := range v.words[1:] {
		all = append(all, T(i+1))
	}
	return all
}
