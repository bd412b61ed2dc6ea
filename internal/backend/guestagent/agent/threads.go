//go:build linux

package agent

import (
	"runtime"
	"sync"
)

// A guest that has used up its processes leaves none for a thread either, and the
// Go runtime ends a program that cannot have one. So the agent starts all that it
// will ever need while nobody else is there: maxProcs to run on, kernelThreads and
// removalThreads to wait in the kernel, one to fork, and some for the runtime.
const (
	maxProcs       = 4
	kernelThreads  = 6
	removalThreads = 2
	allThreads     = maxProcs + kernelThreads + removalThreads + 6
)

// startThreads makes the runtime start its threads and keep them: each goroutine
// has one for itself until all have one.
func startThreads() {
	var ready, over sync.WaitGroup
	release := make(chan struct{})
	ready.Add(allThreads)
	for range allThreads {
		over.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			<-release
		})
	}
	ready.Wait()
	close(release)
	over.Wait()
}

// enterKernel stands around calls that can take a thread for long.
func (a *Agent) enterKernel() (leave func()) {
	a.kernel <- struct{}{}
	return func() { <-a.kernel }
}
