package egress

import (
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Observer is told of decisions, one at a time and in order. It may be slow: then
// events are dropped, no guest waits for it, and once it takes events again it is
// told how many decisions it has missed.
type Observer interface {
	Observe(Event)
}

// Event is one decision of a sandbox's proxy, a number of equal denials that were
// not told one by one, or the end of a tunnel. What guests wrote stands in it as it
// can be printed. It never holds a query, a header or a body.
type Event struct {
	Time    time.Time `json:"time"`
	Allowed bool      `json:"allowed"`
	// Code is why it was refused, and Found what was found, in our words.
	Code  sandbox.Code `json:"code,omitzero"`
	Found string       `json:"found,omitzero"`
	// Rule is the name of the rule that admitted it or came nearest. It is the only
	// field that is fit for a metric's label.
	Rule string `json:"rule,omitzero"`
	// Layer is what was judged.
	Layer Layer `json:"layer"`
	// Host, Port, Method and Path are what was asked for, as far as it could be read
	// and the layer shows it. Change is the smallest addition that would admit it.
	Host   string `json:"host,omitzero"`
	Port   uint16 `json:"port,omitzero"`
	Method string `json:"method,omitzero"`
	Path   string `json:"path,omitzero"`
	Change string `json:"change,omitzero"`
	// Count is how many decisions the event stands for. Where Summary is set they are
	// of one code and rule, and what was asked for is left out.
	Count   int  `json:"count"`
	Summary bool `json:"summary,omitzero"`
	// Lost is set, beside Summary, where decisions were not told or not recorded at
	// all: whoever takes them was too slow, or its log was full. They are of any code
	// and rule, and happened since the event before. Ends of tunnels that were lost are
	// not among them, since they are no decisions.
	Lost bool `json:"lost,omitzero"`
	// End is set where the event tells that a tunnel has ended, however it did. That
	// is no decision, so its Count is 0: the tunnel was told of when it was admitted,
	// or, where it was opened, request by request.
	End *End `json:"end,omitzero"`
}

// End is what a tunnel has carried, TLS and all.
type End struct {
	Sent     int64         `json:"sent"`     // bytes, from the sandbox
	Received int64         `json:"received"` // bytes, to the sandbox
	Duration time.Duration `json:"duration_ns"`
}

// Layer is what a decision was about.
type Layer string

// The layers.
const (
	LayerConnection Layer = "connection" // a tunnel, as a whole
	LayerRequest    Layer = "request"    // a request without TLS
	LayerOpened     Layer = "opened"     // a request inside TLS that was opened
)
