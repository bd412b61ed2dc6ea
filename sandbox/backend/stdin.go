package backend

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// input is a program's standard input as its caller gave it. An engine can only
// end a program's input when the source of it fails, which looks to the program
// like the end of all there is; so the failure is remembered here, and what came
// of such a program is not passed off as an answer to the whole input.
type input struct {
	from io.Reader

	mu     sync.Mutex
	failed error
}

func watched(from io.Reader) *input { return &input{from: from} }

// reader is what an engine gets: nil for no input.
func (i *input) reader() io.Reader {
	if i.from == nil {
		return nil
	}
	return i
}

func (i *input) Read(p []byte) (int, error) {
	n, err := i.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.failed = err
	}
	return n, err
}

// whole answers a program's result if the source did not fail.
func (i *input) whole(result sandbox.ExecResult, err error) (sandbox.ExecResult, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err != nil || i.failed == nil {
		return result, err
	}
	return sandbox.ExecResult{}, fmt.Errorf("reading standard input: %w", i.failed)
}
