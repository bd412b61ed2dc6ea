package egress

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

func itoa(n int) string { return strconv.Itoa(n) }

// meantHost guesses what somebody meant by a text that is not a host. What it
// tells them to write is always accepted by [ParseHost].
func meantHost(text string) string {
	const fallback = `name one host, such as "api.example.com" or "*.example.com"`
	if len(text) > maxHostText {
		return fallback
	}
	if parts := strings.FieldsFunc(text, isSeparator); len(parts) > 1 {
		hosts := quotedHosts(parts)
		if hosts == nil {
			return fallback
		}
		return "write each host as an entry of its own: " + strings.Join(hosts, ", ")
	}
	u := splitURL(visible(text))
	if _, f := parseHost(u.host); f != nil {
		return fallback
	}
	// Short forms have no ports and paths; only rules do.
	var parts []string
	if _, f := parsePortRange(u.port); f == nil {
		parts = append(parts, u.port+" into its ports")
	}
	if p, f := parsePath(u.path); f == nil && p != "" {
		parts = append(parts, sandbox.Echo(p)+" into its paths")
	}
	if len(parts) == 0 {
		return write(u.host)
	}
	return write(u.host) + "; in a rule of egress_rules put " + strings.Join(parts, ", and ")
}

func isSeparator(r rune) bool { return r == ',' || r == ';' || r == '|' || unicode.IsSpace(r) }

// quotedHosts gives at most three hosts of a list, quoted, and none when one of
// them is not a host.
func quotedHosts(parts []string) []string {
	const most = 3
	var hosts []string
	for i, part := range parts {
		if _, f := parseHost(part); f != nil {
			return nil
		}
		switch {
		case i < most:
			hosts = append(hosts, sandbox.Echo(part))
		case i == most:
			hosts = append(hosts, "…")
		}
	}
	return hosts
}

// visible replaces characters that map to ASCII by what they map to, and drops
// those that cannot be seen.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == utf8.RuneError, unicode.IsSpace(r), unicode.IsControl(r):
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case whyNotUnicode(r) == "":
			b.WriteRune(r)
		default:
			if mapped, err := mappingOnly.ToUnicode(string(r)); err == nil {
				b.WriteString(mapped)
			}
		}
	}
	return b.String()
}

type urlParts struct{ host, port, path string }

// splitURL takes a text apart as a lenient reader of URLs would. It is only used
// to guess.
func splitURL(text string) urlParts {
	var u urlParts
	if _, after, ok := strings.Cut(text, "://"); ok {
		text = after
	}
	text = strings.TrimLeft(text, "/\\")
	if i := strings.IndexAny(text, "/\\?#"); i >= 0 {
		u.path, _, _ = strings.Cut(text[i:], "?")
		u.path, _, _ = strings.Cut(u.path, "#")
		text = text[:i]
	}
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		text = text[i+1:]
	}
	u.host = text
	if strings.HasPrefix(text, "[") {
		u.host, text, _ = strings.Cut(text[1:], "]")
		u.port = strings.TrimPrefix(text, ":")
	} else if host, port, ok := strings.Cut(text, ":"); ok && !strings.Contains(port, ":") {
		u.host, u.port = host, port
	}
	if host, _, ok := strings.Cut(u.host, "%"); ok {
		u.host = host
	}
	u.host = strings.Trim(strings.ReplaceAll(u.host, "..", "."), ".-")
	return u
}
