//go:build linux

package main

import (
	"context"
	"net"
	"time"
)

// lookups asks the guest's own resolver for each name.
func lookups(args []string) answer {
	var a answer
	for _, name := range args {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		resolver := net.Resolver{PreferGo: true}
		addresses, err := resolver.LookupHost(ctx, name)
		cancel()
		a.Tried++
		if err == nil {
			a.reach("%s, which is %v", name, addresses)
		}
	}
	return a
}
