package acas

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/frame"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/engine"
)

// maxStdin bounds what a program is given to read.
const maxStdin = 16 << 20

// input is what a program reads: a file in the guest, which stands there before the
// program begins, since the service takes no stream.
type input struct {
	path   string
	taken  int // where there is more than the file has: how much that is; the program must not come to miss it
	remove func()
}

// stdin puts what a program reads where it can read it. Names are random, so nobody
// has put a link there.
func (g *guest) stdin(ctx context.Context, from io.Reader, token string) (input, error) {
	none := input{path: frame.NoStdin, remove: func() {}}
	if from == nil {
		return none, nil
	}
	data, err := io.ReadAll(io.LimitReader(from, maxStdin+1))
	switch {
	case err != nil:
		return none, fmt.Errorf("read the program's input: %w", err)
	case ctx.Err() != nil:
		return none, context.Cause(ctx)
	case len(data) == 0:
		return none, nil
	}
	in := input{path: "/tmp/.sandbox-in-" + token}
	if len(data) > maxStdin {
		data, in.taken = data[:maxStdin], maxStdin
	}
	if err := g.sandbox.WriteFile(ctx, in.path, bytes.NewReader(data), acasapi.Writing{Size: int64(len(data)), NoDirs: true}); err != nil {
		return none, g.fileError(ctx, "write", in.path, err)
	}
	in.remove = func() { g.forget(ctx, in.path) }
	return in, nil
}

// forget removes files that a call needed, unless they go with the sandbox.
func (g *guest) forget(ctx context.Context, names ...string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	if g.engine.isLost(g.ID()) {
		return
	}
	for _, name := range names {
		_ = g.sandbox.DeleteFile(ctx, name, false) // it is the guest's own to read, and goes with it
	}
}

var errInput = fmt.Errorf("the program read all of the %d bytes that are taken, of an input that is longer: %w", maxStdin, engine.ErrRefused)
