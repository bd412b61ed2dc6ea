//go:build unix

package acasemu_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
)

// The numbers that matter to a test suite and to a plan: how long until it answers,
// and what it answers in a second over TLS with a client on each of two cores.

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		w := newWorld(b, acasemu.Config{})
		w.put(b, "/sandboxGroups-warm", "")
		w.stop(b)
	}
}

func BenchmarkReads(b *testing.B) {
	w := newWorld(b, acasemu.Config{})
	w.group(b, "g")
	var ids []string
	for range 50 {
		ids = append(ids, w.sandbox(b, "g"))
	}
	var n atomic.Int64
	parallel(b, w, func(i int) *http.Request {
		return w.request(b, http.MethodGet, w.data("g")+"/sandboxes/"+ids[i%len(ids)], "")
	}, &n)
}

func BenchmarkWrites(b *testing.B) {
	w := newWorld(b, acasemu.Config{})
	w.group(b, "g")
	var n atomic.Int64
	parallel(b, w, func(i int) *http.Request {
		return w.request(b, http.MethodPut, fmt.Sprintf("%s/secrets/s-%d", w.data("g"), i%200), `{"values":{"k":"v"}}`)
	}, &n)
}

func BenchmarkWritesOneAfterAnother(b *testing.B) {
	w := newWorld(b, acasemu.Config{})
	w.group(b, "g")
	began := time.Now()
	for i := range b.N {
		w.must(b, w.request(b, http.MethodPut, fmt.Sprintf("%s/volumes/v-%d", w.data("g"), i%200), `{"type":"AzureBlob"}`))
	}
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "requests/s")
}

// parallel sends requests from as many clients as there are cores times four.
func parallel(b *testing.B, w *world, request func(i int) *http.Request, n *atomic.Int64) {
	b.Helper()
	b.SetParallelism(4)
	b.ReportAllocs()
	b.ResetTimer()
	began, used := time.Now(), processorTime(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			w.must(b, request(int(n.Add(1))))
		}
	})
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "requests/s")
	// Of client and server together: what cores could do that have nothing else to do.
	b.ReportMetric(float64((processorTime(b)-used).Microseconds())/float64(b.N), "cpu-µs/request")
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
