package wire

import "encoding/binary"

// magic begins a [Hello], so that something else on the pipe is told apart.
const magic = "sandbox agent\x00"

const helloSize = uint32(len(magic)) + 4

// Hello is the payload of each side's first frame.
func Hello() []byte { return binary.BigEndian.AppendUint32([]byte(magic), Version) }

// CheckHello accepts exactly what [Hello] of the same version gives.
func CheckHello(payload []byte) error {
	switch {
	case uint32(len(payload)) != helloSize || string(payload[:len(magic)]) != magic:
		return malformed("a first frame of another protocol")
	case binary.BigEndian.Uint32(payload[len(magic):]) != Version:
		return malformed("protocol version %d, not %d", binary.BigEndian.Uint32(payload[len(magic):]), Version)
	}
	return nil
}

// Op is what a request asks for.
type Op uint8

const (
	OpExec Op = iota + 1
	OpStat
	OpOpen
	OpWrite
	OpMkdir
	OpList
	OpRemove
	OpForward
	OpLook
	OpUnpack
	OpPack
	OpHold
)

// SplitRequest takes the operation off a request's payload.
func SplitRequest(payload []byte) (Op, []byte, error) {
	if len(payload) == 0 || payload[0] < byte(OpExec) || payload[0] > byte(OpHold) {
		return 0, nil, malformed("a request for no operation")
	}
	return Op(payload[0]), payload[1:], nil
}

// Exec is the message of [OpExec]. Its result is an [Exit].
type Exec struct {
	Args, Env []string
	Dir       string
	// Stdin says whether there is a stream of standard input; without, the
	// program finds it at its end.
	Stdin bool
	// GraceMillis is between SIGTERM and SIGKILL when the call is cancelled;
	// with zero there is only SIGKILL.
	GraceMillis uint32
	// Window is the credit of each output stream to begin with.
	Window uint32
	// As is who it runs as, nil for the agent's own user.
	As *User
}

// User is numbers of the guest's own. Groups are the supplementary ones, all of
// them.
type User struct {
	UID, GID uint32
	Groups   []uint32
}

// Request is the payload.
func (e Exec) Request() []byte {
	w := writer{byte(OpExec)}
	w.texts(e.Args)
	w.texts(e.Env)
	w.text(e.Dir)
	w.bool(e.Stdin)
	w.u32(e.GraceMillis)
	w.u32(e.Window)
	w.user(e.As)
	return w
}

// ParseExec reads what follows the operation.
func ParseExec(message []byte) (Exec, error) {
	r := reader{rest: message}
	e := Exec{Args: r.texts(), Env: r.texts(), Dir: r.text(), Stdin: r.bool(), GraceMillis: r.u32(), Window: r.window(), As: r.user()}
	return e, r.end()
}

func (w *writer) user(u *User) {
	w.bool(u != nil)
	if u == nil {
		return
	}
	w.u32(u.UID)
	w.u32(u.GID)
	w.u32(uint32(len(u.Groups)))
	for _, g := range u.Groups {
		w.u32(g)
	}
}

func (r *reader) user() *User {
	if !r.bool() {
		return nil
	}
	u := &User{UID: r.u32(), GID: r.u32()}
	n := r.u32()
	if n > MaxGroups {
		r.fail("%d groups", n)
		return nil
	}
	for range n {
		u.Groups = append(u.Groups, r.u32())
	}
	return u
}

// MaxGroups is how many supplementary groups a program can have.
const MaxGroups = 64

func (r *reader) window() uint32 {
	n := r.u32()
	if n > MaxCredit {
		r.fail("a window of %d bytes", n)
	}
	return n
}

// File is the message of every operation on files. Open and List stream to the
// host; the result of Stat, and Open's reply, are an [Info]; Look's is [Details].
type File struct {
	// Path is absolute and clean.
	Path string
	// Size is how many bytes Write will be sent.
	Size int64
	// Recursive lets Remove remove directories.
	Recursive bool
	// Follow lets links lead the way to the path's last component.
	Follow bool
	// SetMode gives what Write or Mkdir makes the permissions of Mode.
	SetMode bool
	Mode    uint32
	// Window is the credit of the output stream to begin with.
	Window uint32
}

// Request is the payload.
func (f File) Request(op Op) []byte {
	w := writer{byte(op)}
	w.text(f.Path)
	w.u64(uint64(f.Size))
	w.bool(f.Recursive)
	w.bool(f.Follow)
	w.bool(f.SetMode)
	w.u32(f.Mode)
	w.u32(f.Window)
	return w
}

// ParseFile reads what follows the operation.
func ParseFile(message []byte) (File, error) {
	r := reader{rest: message}
	f := File{Path: r.text(), Size: r.size(), Recursive: r.bool(), Follow: r.bool(), SetMode: r.bool(), Mode: r.u32(), Window: r.window()}
	if f.Mode > 0o7777 {
		r.fail("mode %o", f.Mode)
	}
	return f, r.end()
}

// Forward is the message of [OpForward]: what connects to the guest's loopback
// address at Port is relayed to the Unix socket at Socket. The result comes when
// the port listens; the relay lasts as long as the agent.
type Forward struct {
	Port        uint16
	Socket      string
	Connections uint32
}

// Request is the payload.
func (f Forward) Request() []byte {
	w := writer{byte(OpForward)}
	w.u32(uint32(f.Port))
	w.text(f.Socket)
	w.u32(f.Connections)
	return w
}

// ParseForward reads what follows the operation.
func ParseForward(message []byte) (Forward, error) {
	r := reader{rest: message}
	port := r.u32()
	if port > 1<<16-1 {
		r.fail("port %d", port)
	}
	f := Forward{Port: uint16(port), Socket: r.text(), Connections: r.u32()}
	return f, r.end()
}
