package egress

import "errors"

// ErrTooComplex is returned where an answer would take more than the bounded
// work that is spent on one question. Whoever asked knows nothing then, and
// refuses.
var ErrTooComplex = errors.New("the rules are too many and too entangled to be taken apart")

// maxSteps is how much work one question may take, in comparisons of one part of
// a rule: about a second of a slow processor. Five hundred rules against five
// hundred of any usual shape take a hundredth of it or less.
const maxSteps = 1 << 23

// steps counts the work of one question.
type steps struct{ taken int }

// take counts n steps and reports whether the work may go on.
func (s *steps) take(n int) bool {
	s.taken += n
	return s.taken <= maxSteps
}

// err is [ErrTooComplex] once the work had to stop.
func (s *steps) err() error {
	if s.taken > maxSteps {
		return ErrTooComplex
	}
	return nil
}
