package wasi

import "encoding/binary"

const (
	subscriptionSize = 48
	eventSize        = 32
	maxSubscriptions = 4096

	eventClock = 0
	eventRead  = 1
	eventWrite = 2

	clockAbsolute = 1
)

type subscription struct {
	userdata uint64
	kind     byte
	errno    errno
	wait     uint64 // nanoseconds, of a clock
}

// poll waits for the first of several events. Files and streams are always
// ready: reading a stream that has nothing waits in the read, which watches the
// context as well.
func poll(c call) errno {
	count := c.u32(2)
	if count == 0 || count > maxSubscriptions {
		return errInval
	}
	table, ok := c.memory.Read(c.u32(0), count*subscriptionSize)
	if !ok {
		return errFault
	}
	subscriptions := make([]subscription, 0, count)
	shortest, ready := ^uint64(0), false
	for ; len(table) > 0; table = table[subscriptionSize:] {
		s, immediate := c.subscribe(table)
		ready = ready || immediate
		if s.kind == eventClock && s.errno == success {
			shortest = min(shortest, s.wait)
		}
		subscriptions = append(subscriptions, s)
	}
	if ready {
		shortest = 0
	}
	c.p.wait(c.ctx, duration(shortest))

	events := make([]byte, 0, eventSize)
	happened := uint32(0)
	for _, s := range subscriptions {
		if s.kind == eventClock && s.errno == success && s.wait > shortest {
			continue
		}
		events = binary.LittleEndian.AppendUint64(events, s.userdata)
		events = binary.LittleEndian.AppendUint16(events, uint16(s.errno))
		events = append(events, s.kind)
		events = append(events, make([]byte, eventSize-11)...)
		happened++
	}
	if e := c.put(1, events); e != success {
		return e
	}
	return c.put32(3, happened)
}

// subscribe reads one subscription and reports whether it is ready at once.
func (c call) subscribe(raw []byte) (s subscription, ready bool) {
	s = subscription{userdata: binary.LittleEndian.Uint64(raw), kind: raw[8]}
	switch s.kind {
	case eventClock:
		now, e := c.now(binary.LittleEndian.Uint32(raw[16:]))
		if e != success {
			s.errno = e
			return s, true
		}
		s.wait = binary.LittleEndian.Uint64(raw[24:])
		if raw[40]&clockAbsolute != 0 {
			s.wait -= min(s.wait, now)
		}
		return s, false
	case eventRead, eventWrite:
		if _, e := c.p.descriptor(binary.LittleEndian.Uint32(raw[16:])); e != success {
			s.errno = e
		}
		return s, true
	default:
		s.errno = errInval
		return s, true
	}
}
