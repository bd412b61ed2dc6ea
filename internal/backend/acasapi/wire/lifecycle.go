package wire

import "github.com/go-json-experiment/json/jsontext"

// Lifecycle is when a sandbox is suspended and deleted. Writing it replaces the
// whole: sending one part drops the other.
type Lifecycle struct {
	AutoSuspend *AutoSuspend `json:"autoSuspendPolicy,omitzero"`
	AutoDelete  *AutoDelete  `json:"autoDeletePolicy,omitzero"`
	Extra       Extra        `json:",embed"`
}

// AutoSuspend stops an idle sandbox after Interval seconds.
type AutoSuspend struct {
	Enabled  bool `json:"enabled"`
	Interval int  `json:"interval,omitzero"`
	// Mode is Memory or Disk.
	Mode  string `json:"mode,omitempty"`
	Extra Extra  `json:",embed"`
}

// AutoDelete deletes a sandbox some time after it was made or suspended.
type AutoDelete struct {
	Enabled                 bool `json:"enabled"`
	DeleteIntervalInDays    int  `json:"deleteIntervalInDays,omitzero"`
	DeleteIntervalInSeconds int  `json:"deleteIntervalInSeconds,omitzero"`
	// Trigger is AfterSuspend or AfterCreation.
	Trigger string `json:"trigger,omitempty"`
	Extra   Extra  `json:",embed"`
}

// How much of a suspended sandbox is kept.
const (
	SuspendMemory = "Memory"
	SuspendDisk   = "Disk"
)

// ReadLifecycle reads the answer to a lifecycle write, which is the policy in some
// versions and the whole sandbox in others.
func ReadLifecycle(b []byte) (Lifecycle, error) {
	var both struct {
		Lifecycle jsontext.Value `json:"lifecycle"`
		Extra     Extra          `json:",embed"`
	}
	if err := Decode(b, &both); err != nil {
		return Lifecycle{}, err
	}
	if both.Lifecycle.Kind() == '{' {
		b = both.Lifecycle
	}
	var policy Lifecycle
	err := Decode(b, &policy)
	return policy, err
}
