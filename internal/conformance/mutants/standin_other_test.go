//go:build !linux

package mutants_test

const standIn = "bwrap-"

func isStandIn() bool { return false }

func actAsBubblewrap() int { return 1 }
