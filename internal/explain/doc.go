// Package explain answers people's questions about documents: why a request is
// admitted or refused, and the smallest edit that turns the answer ([Why]); and
// what a later document permits that an earlier one did not ([Compare]).
//
// It decides nothing itself: verdicts and directions come from package policy, sets
// of requests from package egress. Answers are data and JSON; their text and
// markdown forms go through package plaintext.
package explain
