package egressproxy

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestNetHTTPAloneTakesWhatTwoReadersTakeForTwo says why heads are judged before
// net/http reads them.
func TestNetHTTPAloneTakesWhatTwoReadersTakeForTwo(t *testing.T) {
	t.Parallel()
	var taken []string
	for _, row := range smuggled {
		br := bufio.NewReader(strings.NewReader(row.bad))
		r, err := http.ReadRequest(br)
		if err != nil {
			continue
		}
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			taken = append(taken, row.name)
		}
	}
	t.Logf("net/http takes %d of %d: %s", len(taken), len(smuggled), strings.Join(taken, "; "))
	if len(taken) == 0 {
		t.Error("net/http takes none of them any more: httphead may go")
	}
}
