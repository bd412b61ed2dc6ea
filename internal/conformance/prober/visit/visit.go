// Package visit is what the suites ask the prober to do on a network, and what it
// answers: both sides of one exchange of JSON, by the program's standard input and
// output. It is linked into the guest's program, so it holds types and nothing else.
package visit

// Order is what one run of the prober does.
type Order struct {
	// Visits are made at the same time, or InTurn.
	Visits []Visit `json:"visits"`
	InTurn bool    `json:"in_turn,omitempty"`
	// Milliseconds are what one visit may take.
	Milliseconds int `json:"milliseconds"`
}

// Visit is one connection and what is done on it, step after step, until one fails.
type Visit struct {
	// To is "tcp ADDRESS:PORT", "udp ADDRESS:PORT" or "unix PATH"; empty is the proxy
	// that the environment names, as programs look for it.
	To    string `json:"to,omitempty"`
	Steps []Step `json:"steps"`
}

// Step does what its one field says.
type Step struct {
	// Say sends bytes, Times times if that is not 0.
	Say   []byte `json:"say,omitempty"`
	Times int    `json:"times,omitempty"`
	// Tunnel asks for a tunnel to an authority. Where it is refused the step fails,
	// and what was answered has been heard whole.
	Tunnel string `json:"tunnel,omitempty"`
	// TLS is spoken from here on.
	TLS *TLS `json:"tls,omitempty"`
	// End says that nothing more will be said; the other direction stays.
	End bool `json:"end,omitempty"`
	// Hear waits for so many bytes, or one of the below.
	Hear int `json:"hear,omitempty"`
}

// What can be heard beside a number of bytes.
const (
	ToTheEnd = -1
	OneReply = -2 // of HTTP/1.1, whole
)

// TLS says how a client speaks it.
type TLS struct {
	// Name is the server's; without one the server is not verified.
	Name string `json:"name,omitempty"`
	// Protocols are offered.
	Protocols []string `json:"protocols,omitempty"`
	// Roots verify the server, as PEM; empty are those that a program of the guest
	// finds.
	Roots string `json:"roots,omitempty"`
	// Hide is a list of configurations by which the name is encrypted (ECH).
	Hide []byte `json:"hide,omitempty"`
}

// MaxHeard is how much is kept of what was heard on one visit.
const MaxHeard = 32 << 10

// Outcome is what became of a visit.
type Outcome struct {
	// Done counts the steps that were done; of all of them, if nothing failed.
	Done   int    `json:"done"`
	Failed string `json:"failed,omitempty"`
	// Heard is the beginning of what was heard, outside or inside of TLS, and Bytes
	// how much there was in all.
	Heard []byte `json:"heard,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	// Chain are the certificates that the server showed.
	Chain [][]byte `json:"chain,omitempty"`
	// Milliseconds is how long it took.
	Milliseconds int64 `json:"milliseconds"`
}
