package learn

import "github.com/sandbox-iac/terraform-provider-sandbox/sandbox"

// Refusal is a request that was refused, and how often.
type Refusal struct {
	// Request reads "api.example.com:443 (GET /v1)", or is the guest's own text, quoted,
	// where that is no host.
	Request string       `json:"request"`
	Code    sandbox.Code `json:"code"`
	Count   int64        `json:"count"`
	// Change is the smallest addition to the rules that would admit it, empty where none
	// does.
	Change string `json:"change,omitempty"`
}

// Refused are the requests that were refused, those that were asked for most first and
// at most n, and how many refusals are not among them.
func (t *Tally) Refused(n int) (list []Refusal, beside int64) {
	list = []Refusal{}
	beside = t.undescribed.denied
	for _, s := range t.inOrder() {
		count, code := saturated(s.ruled, s.failed), s.code
		if code == "" {
			code = sandbox.CodeEgressDenied
		}
		switch {
		case count == 0:
		case len(list) < n:
			list = append(list, Refusal{s.text(), code, count, s.change})
		default:
			beside = saturated(beside, count)
		}
	}
	return list, beside
}
