package translate

import "strings"

// cover is a path pattern of a source as a prefix of whole segments.
type cover struct {
	// prefix is the widest path of this product's grammar that holds all the
	// pattern matches, "*" for any.
	prefix string
	// tight says that the prefix comes from the pattern's own literal segments,
	// with at most one star at the end, and beyond is one path that the prefix
	// admits and the pattern does not, empty where there is none.
	tight  bool
	beyond string
	// stars are how many end the pattern: none, one segment, or any number.
	stars int
}

// coverPath reads patterns of literal segments that may end in "/*" or "/**".
//
// A policy's path is a prefix of whole segments: /v1 admits /v1 and all that is
// below. A literal pattern is therefore carried together with what is below it,
// and one with a star together with the path before the star. Patterns with stars
// anywhere else have no prefix but one that is much wider than they are; they are
// not tight.
func coverPath(pattern string) cover {
	switch pattern {
	case "", "**", "/**":
		return cover{prefix: "*", tight: true, stars: 2}
	case "*", "/*":
		return cover{prefix: "*", tight: true, stars: 1, beyond: "/x/x"}
	}
	stars := 2
	literal, starred := strings.CutSuffix(pattern, "/**")
	if !starred {
		stars = 1
		literal, starred = strings.CutSuffix(pattern, "/*")
	}
	if at := strings.IndexAny(literal, "*?[]{}"); at >= 0 || !strings.HasPrefix(literal, "/") {
		prefix := "*"
		if at > 0 {
			if parent := literal[:max(strings.LastIndexByte(literal[:at], '/'), 0)]; parent != "" {
				prefix = parent
			}
		}
		return cover{prefix: prefix}
	}
	switch {
	case literal == "/":
		return cover{prefix: "*"}
	case starred:
		return cover{prefix: literal, tight: true, beyond: literal, stars: stars}
	default:
		return cover{prefix: literal, tight: true, beyond: literal + "/x"}
	}
}
