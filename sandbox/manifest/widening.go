package manifest

import "github.com/sandbox-iac/terraform-provider-sandbox/sandbox"

// Guarded is one side of a change: a document and the rule about widening that
// stands beside it. An unspecified rule is the default one.
type Guarded struct {
	Document   []byte
	OnWidening sandbox.OnWidening
}

// WideningDigest names one change, so that accepting it accepts nothing else:
// the SHA-256 of the text
//
//	sandbox/v1 widening
//	before DIGEST RULE
//	after DIGEST RULE
//
// each line ended by a line feed, where DIGEST is the document's digest and RULE
// what on_widening says. The rule is part of it because taking the guard away is
// a widening too. The text names documents by their digests so that anyone who
// has those can compute it with printf and sha256sum.
func WideningDigest(before, after Guarded) Digest {
	return DigestOf([]byte(APIVersion + " widening\n" + before.line("before") + after.line("after")))
}

func (g Guarded) line(side string) string {
	return side + " " + string(DigestOf(g.Document)) + " " + g.OnWidening.OrDefault().String() + "\n"
}
