package guestenv

import "testing"

// What a sandbox whose TLS is opened costs beside the others.
func BenchmarkTrust(b *testing.B) {
	roots, err := Roots("/")
	if err != nil || roots == nil {
		b.Skip("this machine trusts nobody")
	}
	own := roots[:len(roots)/50]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewTrust(roots, own); err != nil {
			b.Fatal(err)
		}
	}
}
