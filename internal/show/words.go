package show

import (
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Bytes writes a size as people read it: "8 MiB", "1,234 bytes". Only a size
// that is a whole number of a unit is written in that unit.
func Bytes(n int64) string {
	units := [...]string{"KiB", "MiB", "GiB", "TiB"}
	unit := ""
	for _, u := range units {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	switch {
	case unit != "":
		return Count(n) + " " + unit
	case n == 1:
		return "1 byte"
	default:
		return Count(n) + " bytes"
	}
}

// Count writes a number with separators.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Limits writes transfer limits in words.
func Limits(l sandbox.TransferLimits) string {
	files := Count(l.MaxFiles) + " files"
	if l.MaxFiles == 1 {
		files = "1 file"
	}
	return Bytes(l.MaxBytesPerFile) + " a file, " + Bytes(l.MaxTotalBytes) + " in all, " + files
}

// Verdict is the word that stands in tables: allowed, refused, undecided.
func Verdict(v sandbox.Verdict) string {
	switch v {
	case sandbox.Allow:
		return "allowed"
	case sandbox.Undecided:
		return "undecided"
	default:
		return "refused"
	}
}

// More ends a list that was cut short.
func More(n int) string { return " and " + Count(int64(n)) + " more" }

// Plural writes a number and its noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if before, ok := strings.CutSuffix(noun, "y"); ok {
		noun = before + "ie"
	} else if strings.HasSuffix(noun, "x") {
		noun += "e"
	}
	return Count(int64(n)) + " " + noun + "s"
}

func imageText(i sandbox.Image) string {
	if i.IsZero() {
		return ""
	}
	name := i.Reference
	if i.Prebuilt != "" {
		name = "prebuilt " + i.Prebuilt
	}
	var more []string
	if i.Digest != "" {
		more = append(more, shortDigest(i.Digest))
	}
	if i.User != "" {
		more = append(more, "user "+i.User)
	}
	if i.Platform != "" {
		more = append(more, i.Platform)
	}
	if len(more) == 0 {
		return name
	}
	return name + " (" + strings.Join(more, ", ") + ")"
}

// shortDigest keeps enough of a digest to tell two apart by eye.
func shortDigest(digest string) string {
	const shown = len("sha256:") + 12
	if len(digest) <= shown {
		return digest
	}
	return digest[:shown] + "…"
}

func outputText(name string, o sandbox.Output) string {
	text := name + " from " + o.Path
	if o.Name != "" && o.Name != o.Path {
		text += " as " + o.Name
	}
	var more []string
	if o.MediaType != "" {
		more = append(more, o.MediaType)
	}
	if o.Optional {
		more = append(more, "optional")
	}
	if !o.Lands() {
		more = append(more, "consumed")
	}
	if len(more) == 0 {
		return text
	}
	return text + " (" + strings.Join(more, ", ") + ")"
}

// Times is how often something happened.
func Times(n int64) string {
	if n == 1 {
		return "once"
	}
	return Count(n) + " times"
}
