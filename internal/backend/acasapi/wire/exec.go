package wire

import "errors"

// ShellCommand is run by the guest's shell.
type ShellCommand struct {
	Command          string `json:"command"`
	WorkingDirectory string `json:"workingDirectory,omitempty"`
	// The rest is of 2026-09-01-preview.
	Shell          string            `json:"shell,omitempty"`
	Environment    map[string]string `json:"environment,omitempty"`
	User           string            `json:"user,omitempty"`
	ActivationMode string            `json:"activationMode,omitempty"`
	Extra          Extra             `json:",embed"`
}

// Command is run without a shell.
type Command struct {
	Command          string            `json:"command"`
	Args             []string          `json:"args,omitempty"`
	Environment      map[string]string `json:"environment,omitempty"`
	WorkingDirectory string            `json:"workingDirectory,omitempty"`
	User             string            `json:"user,omitempty"`
	ActivationMode   string            `json:"activationMode,omitempty"`
	Extra            Extra             `json:",embed"`
}

// ExecResult is what a command left. The streams are text: bytes that are not
// UTF-8 do not survive this operation.
type ExecResult struct {
	// ExitCode may be missing on the wire; that is refused rather than read as
	// success.
	ExitCode        *int   `json:"exitCode"`
	Stdout          string `json:"stdout"`
	Stderr          string `json:"stderr"`
	ExecutionTimeMS int64  `json:"executionTimeMs"`
	Extra           Extra  `json:",embed"`
}

// Check reports a result that does not say how the command ended.
func (r *ExecResult) Check() error {
	if r.ExitCode == nil {
		return errors.New("an exec result without exitCode")
	}
	return nil
}
