// Package acasguests runs the insides of an emulated group's sandboxes as process
// sandboxes with a root of their own: commands as the image's user, files as root
// and through links, as the service has them, and a network that is a proxy which
// holds the sandbox's egress policy as the service orders it.
//
// It keeps what outlives a guest, which are the files of snapshots, in one directory
// and knows nothing of the service's documents but the egress policy.
//
// Read [New] first, then box_linux.go for a sandbox's life.
package acasguests

import (
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/backend/process"
)

// Config is what guests are made with.
type Config struct {
	// Process is how process sandboxes are made. Its Images, and of its Egress the
	// Observer and the Judge, are set here.
	Process process.Config
	// Dir is where the files of snapshots are kept: a directory of this user's own.
	Dir string
	// Resolve gives names the address, such as 127.0.0.1:8080, that guests reach them
	// at where their policies admit them.
	Resolve map[string]string
}
