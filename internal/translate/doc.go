// Package translate reads the network rules of other tools into a policy of this
// one, and lists what it could not carry over.
//
// [Read] is the one door. It takes the bytes of one file and gives a
// [Translation]: a policy that the provider accepts, and a [Loss] for every part
// of the file that the policy does not say, with its place, the reason and the
// effect. Nothing is guessed: what a reader does not know is a loss.
//
// The rule that all readers keep: the policy never admits a request that the
// source refuses, unless a loss with the effect [Widens] or [Unknown] names where. So a
// denial is subtracted from what it carves into, what cannot be written without
// becoming wider in hosts, addresses, ports or methods is left out, and no source
// is ever read as unrestricted.
//
// It resolves nothing, opens no files and decides nothing: what a policy means is
// the business of package policy.
package translate
