package sandbox

import "strconv"

// Key says for whom a sandbox is. Its values come from the host's own request
// context, never from a model. A sandbox's identity is the router's owner, the
// key and the workload's kind together (spec A30, A58).
type Key struct {
	// Scope is the tenant or user: the widest thing that is disposed at once.
	Scope string
	// Thread is the conversation.
	Thread string
	// Agent is the agent within the conversation.
	Agent string
	// Call is set only where the isolation scope is call, one value a call.
	Call string
}

// maxKeyPart bounds one part of a key, in bytes.
const maxKeyPart = 1024

// Validate refuses a key whose scope, thread or agent is empty, or whose parts
// are longer than 1024 bytes. Call may be empty.
func (k Key) Validate() error {
	var refusals Refusals
	for _, part := range []struct {
		name, value string
		optional    bool
	}{
		{"scope", k.Scope, false},
		{"thread", k.Thread, false},
		{"agent", k.Agent, false},
		{"call", k.Call, true},
	} {
		switch {
		case part.value == "" && !part.optional:
			refusals = append(refusals, Finding{
				Code: CodeKeyInvalid, Path: Path("key", part.name),
				Found: "an empty " + part.name, Required: "text from the request's own context",
				Remedy: "set Key." + part.name + " before acquiring",
			}.Refusal(nil))
		case len(part.value) > maxKeyPart:
			refusals = append(refusals, Finding{
				Code: CodeKeyInvalid, Path: Path("key", part.name),
				Found:    Echo(part.value),
				Required: "at most " + strconv.Itoa(maxKeyPart) + " bytes",
				Remedy:   "use an identifier, not content",
			}.Refusal(nil))
		}
	}
	switch len(refusals) {
	case 0:
		return nil
	case 1:
		return refusals[0]
	default:
		return refusals
	}
}
