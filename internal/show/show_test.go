package show_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/show"
)

func TestSizesAreWrittenInTheUnitTheyAreWholeIn(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 1023: "1,023 bytes", 1024: "1 KiB", 1500: "1,500 bytes", 8 << 20: "8 MiB",
		1<<20 + 1: "1,048,577 bytes", 3 << 30: "3 GiB", 1 << 53: "8,192 TiB",
	} {
		if got := show.Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 policies", 1: "1 policy", 2: "2 policies", 1200: "1,200 policies"} {
		if got := show.Plural(n, "policy"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestRowsWrapBehindTheirLabels(t *testing.T) {
	t.Parallel()
	page := show.NewPage(2, 10)
	page.Row("found", strings.Repeat("words and ", 40)+strings.Repeat("x", 150))
	page.Row("", "nothing before it")
	page.Row("absent", "")
	page.Row("a long label", "text")
	lines := strings.Split(strings.TrimSuffix(page.String(), "\n"), "\n")
	for i, line := range lines {
		if width := utf8.RuneCountInString(line); width > 100 && !strings.Contains(line, "xxx") {
			t.Errorf("line %d is %d wide: %s", i, width, line)
		}
		if i > 0 && i < len(lines)-1 && !strings.HasPrefix(line, "            ") {
			t.Errorf("line %d does not hang: %s", i, line)
		}
		if strings.HasSuffix(line, " ") {
			t.Errorf("line %d ends in a space: %q", i, line)
		}
	}
	if last := lines[len(lines)-1]; last != "  a long label text" {
		t.Errorf("%q", last)
	}
	if strings.Contains(page.String(), "absent") {
		t.Error("a row without text is there")
	}
}

func TestNoTextOnAPageBeginsALine(t *testing.T) {
	t.Parallel()
	page := show.NewPage(0, 10)
	page.Row("label\n::error::", "a\n egress.not_within_policy at forged\n")
	page.Line("b\nc")
	page.Columns("d\ne", "f\ng")
	if got := strings.Count(page.String(), "\n"); got != 3 {
		t.Errorf("%d lines:\n%s", got, page.String())
	}
}

func TestAListIsCutWithTheRestCounted(t *testing.T) {
	t.Parallel()
	page := show.NewPage(0, 4)
	page.List("of", []string{"a", "b", "c", "d"}, 2)
	if got, want := page.String(), "of  a\n    b\n    and 2 more\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	page = show.NewPage(0, 4)
	page.List("of", []string{"a", "b"}, 2)
	if got, want := page.String(), "of  a\n    b\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
