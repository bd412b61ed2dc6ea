package guestagent

import (
	"context"
	"fmt"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/guestagent/wire"
)

// Forwarding says what the guest's programs find on their loopback address.
type Forwarding struct {
	// Port on 127.0.0.1 in the guest.
	Port uint16
	// Socket is the path of a Unix socket in the guest, at most 107 bytes.
	Socket string
	// Connections is how many are open at once, 256 when zero and at most 1024;
	// more wait.
	Connections int
}

// Forward makes the agent relay connections to the port to the socket, byte for
// byte. It returns once the port listens, and lasts as long as the agent.
func (c *Client) Forward(ctx context.Context, f Forwarding) error {
	if f.Connections == 0 {
		f.Connections = 256
	}
	message := wire.Forward{Port: f.Port, Socket: f.Socket, Connections: uint32(f.Connections)}
	k, err := c.begin(ctx, message.Request(), shape{})
	if err == nil {
		var payload []byte
		payload, err = k.wait(ctx)
		err = c.plain(ctx, payload, err)
	}
	if err != nil {
		return fmt.Errorf("forward port %d of the guest: %w", f.Port, err)
	}
	return nil
}
