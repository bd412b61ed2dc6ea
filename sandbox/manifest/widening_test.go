package manifest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/manifest"
)

func TestWideningDigestIsThatOfTheDocumentedText(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("sandbox/v1 widening\n" +
		"before " + string(manifest.DigestOf([]byte("a"))) + " warn allow\n" +
		"after " + string(manifest.DigestOf([]byte("b"))) + " refuse\n"))
	got := manifest.WideningDigest(
		manifest.Guarded{Document: []byte("a"), Rules: []sandbox.OnWidening{0, sandbox.OnWideningAllow}},
		manifest.Guarded{Document: []byte("b"), Rules: []sandbox.OnWidening{sandbox.OnWideningRefuse}},
	)
	if want := "sha256:" + hex.EncodeToString(sum[:]); string(got) != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

func TestWideningDigestNamesOneChangeOnly(t *testing.T) {
	t.Parallel()
	sides := []manifest.Guarded{
		{Document: []byte("a")},
		{Document: []byte("b")},
		{Document: []byte("a"), Rules: []sandbox.OnWidening{sandbox.OnWideningAllow}},
		{Document: []byte("a"), Rules: []sandbox.OnWidening{sandbox.OnWideningRefuse}},
		{Document: []byte("a"), Rules: []sandbox.OnWidening{sandbox.OnWideningRefuse, sandbox.OnWideningAllow}},
		{Document: []byte("a"), Rules: []sandbox.OnWidening{sandbox.OnWideningAllow, sandbox.OnWideningRefuse}},
	}
	seen := map[manifest.Digest]bool{}
	for _, before := range sides {
		for _, after := range sides {
			seen[manifest.WideningDigest(before, after)] = true
		}
	}
	if len(seen) != len(sides)*len(sides) {
		t.Errorf("%d changes have %d digests", len(sides)*len(sides), len(seen))
	}
}
