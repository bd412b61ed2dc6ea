package wire

// Status says how a call ended. Zero is nothing that is ever sent.
type Status uint8

const (
	StatusOK Status = iota + 1
	StatusCancelled
	StatusNotExist
	StatusNotDirectory
	StatusIsDirectory
	StatusNotRegular
	StatusThroughLink
	StatusNoSpace
	StatusPermission
	StatusSize
	StatusMemory
	StatusProcesses // the guest has no room for another process
	StatusNotProgram
	StatusTooLong // arguments and environment are more than the kernel takes
	StatusBusy
	StatusInvalid
	StatusOther
)

// Outcome is the beginning of every reply and result.
type Outcome struct {
	Status Status
	// Dir says that it is about the working directory of an exec.
	Dir bool
	// Errno is the guest's, for people to read.
	Errno uint32
}

func (w *writer) outcome(o Outcome) {
	w.byte(byte(o.Status))
	w.bool(o.Dir)
	w.u32(o.Errno)
}

func (r *reader) outcome() Outcome {
	o := Outcome{Status: Status(r.byte()), Dir: r.bool(), Errno: r.u32()}
	if o.Status < StatusOK || o.Status > StatusOther {
		r.fail("status %d", o.Status)
	}
	return o
}

// Result is the payload of a call that ended without more to say.
func (o Outcome) Result() []byte {
	var w writer
	w.outcome(o)
	return w
}

// ParseOutcome reads a result that says no more than how it ended.
func ParseOutcome(payload []byte) (Outcome, error) {
	r := reader{rest: payload}
	o := r.outcome()
	return o, r.end()
}

// Exit is the result of an exec whose program ran: its own code, or 128 and the
// number of the signal that ended it.
type Exit struct{ Code uint8 }

// Result is the payload.
func (e Exit) Result() []byte {
	var w writer
	w.outcome(Outcome{Status: StatusOK})
	w.byte(e.Code)
	return w
}

// ParseExit reads the result of an exec.
func ParseExit(payload []byte) (Outcome, Exit, error) {
	r := reader{rest: payload}
	o := r.outcome()
	if o.Status != StatusOK {
		return o, Exit{}, r.end()
	}
	e := Exit{Code: r.byte()}
	return o, e, r.end()
}

// EntryKind is what stands at a path.
type EntryKind uint8

const (
	EntryFile EntryKind = iota + 1
	EntryDirectory
	EntrySymlink
	EntryOther
)

// Info describes what stands at a path. Size is known for regular files only.
type Info struct {
	Kind EntryKind
	Size int64
}

// Result is the payload.
func (i Info) Result() []byte {
	var w writer
	w.outcome(Outcome{Status: StatusOK})
	w.info(i)
	return w
}

func (w *writer) info(i Info) {
	w.byte(byte(i.Kind))
	w.u64(uint64(i.Size))
}

func (r *reader) info() Info {
	i := Info{Kind: EntryKind(r.byte()), Size: r.size()}
	if i.Kind < EntryFile || i.Kind > EntryOther {
		r.fail("entry kind %d", i.Kind)
	}
	return i
}

// ParseInfo reads the result of Stat or the reply of Open.
func ParseInfo(payload []byte) (Outcome, Info, error) {
	r := reader{rest: payload}
	o := r.outcome()
	if o.Status != StatusOK {
		return o, Info{}, r.end()
	}
	i := r.info()
	return o, i, r.end()
}

// MaxName is the longest name of an entry that is sent.
const MaxName = 4096

// EntryHead is how many bytes of an entry say how many more there are.
const EntryHead = 1 + 8 + 4

// AppendEntry adds one entry of a directory to a stream of them.
func AppendEntry(b []byte, i Info, name string) []byte {
	w := writer(b)
	w.info(i)
	w.text(name)
	return w
}

// ParseEntryHead reads the first [EntryHead] bytes of an entry and answers how
// long the name behind them is: between one byte and [MaxName].
func ParseEntryHead(head []byte) (Info, int, error) {
	r := reader{rest: head}
	i := r.info()
	n := r.u32()
	if n == 0 || n > MaxName {
		r.fail("a name of %d bytes", n)
	}
	return i, int(n), r.end()
}
