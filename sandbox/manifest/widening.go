package manifest

import "github.com/sandbox-iac/terraform-provider-sandbox/sandbox"

// Guarded is one side of a change: a document, and what on_widening says beside
// it. A manifest has a rule of its own and then its policy's. An unspecified rule
// is the default one.
type Guarded struct {
	Document []byte
	Rules    []sandbox.OnWidening
}

// WideningDigest names one change, so that accepting it accepts nothing else:
// the SHA-256 of the text
//
//	sandbox/v1 widening
//	before DIGEST RULES
//	after DIGEST RULES
//
// each line ended by a line feed, where DIGEST is the document's digest and RULES
// are separated by single spaces. The rules are part of it because taking a guard
// away is a widening too. The text names documents by their digests so that
// anyone who has those can compute it with printf and sha256sum.
func WideningDigest(before, after Guarded) Digest {
	return DigestOf([]byte(APIVersion + " widening\n" + before.line("before") + after.line("after")))
}

func (g Guarded) line(side string) string {
	line := side + " " + string(DigestOf(g.Document))
	for _, rule := range g.Rules {
		line += " " + rule.OrDefault().String()
	}
	return line + "\n"
}
