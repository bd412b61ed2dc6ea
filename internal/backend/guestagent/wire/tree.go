package wire

// Tree is the message of [OpPack], which streams a tar archive of all that the
// guest's root file system holds, and of [OpUnpack], which is streamed one to put
// there. Other file systems that are mounted in it are neither read nor changed.
type Tree struct {
	// Window is the credit of the output stream to begin with.
	Window uint32
}

// Request is the payload.
func (t Tree) Request(op Op) []byte {
	w := writer{byte(op)}
	w.u32(t.Window)
	return w
}

// ParseTree reads what follows the operation.
func ParseTree(message []byte) (Tree, error) {
	r := reader{rest: message}
	t := Tree{Window: r.window()}
	return t, r.end()
}

// Hold is the message of [OpHold]: every program of the guest stops, or those go
// on that it stopped.
type Hold struct{ Release bool }

// Request is the payload.
func (h Hold) Request() []byte {
	w := writer{byte(OpHold)}
	w.bool(h.Release)
	return w
}

// ParseHold reads what follows the operation.
func ParseHold(message []byte) (Hold, error) {
	r := reader{rest: message}
	h := Hold{Release: r.bool()}
	return h, r.end()
}

// Details is all that the agent says about what stands at a path.
type Details struct {
	Info
	// Mode are the type, as the kernel has it, and the permissions; UID and GID are the guest's numbers; Modified is in
	// seconds since 1970; Target is what a link says.
	Mode     uint32
	UID, GID uint32
	Modified int64
	Target   string
}

// Result is the payload.
func (d Details) Result() []byte {
	var w writer
	w.outcome(Outcome{Status: StatusOK})
	w.info(d.Info)
	w.u32(d.Mode)
	w.u32(d.UID)
	w.u32(d.GID)
	w.u64(uint64(d.Modified))
	w.text(d.Target)
	return w
}

// ParseDetails reads the result of Look.
func ParseDetails(payload []byte) (Outcome, Details, error) {
	r := reader{rest: payload}
	o := r.outcome()
	if o.Status != StatusOK {
		return o, Details{}, r.end()
	}
	d := Details{Info: r.info(), Mode: r.u32(), UID: r.u32(), GID: r.u32(), Modified: int64(r.u64()), Target: r.text()}
	if d.Mode > 0o177777 {
		r.fail("mode %o", d.Mode)
	}
	return o, d, r.end()
}
