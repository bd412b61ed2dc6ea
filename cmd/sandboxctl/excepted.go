package main

// notInGroup are the probes that do not hold in a group on the service, and why. What
// they attack is not promised there: a sandbox is a machine of its own, with nothing
// of the host's in it, and the backend declares that files are root's.
func notInGroup() map[string]string {
	const (
		race  = "nothing holds a guest still; files are served where programs are root, as the file plane is, and gain nothing by a race"
		shell = "what starts a program in the guest is a shell of the program's own user, for the one call"
		root  = "programs may be root of a machine of their own"
	)
	except := map[string]string{
		"BOUNDARY/init-environ-unreadable":         shell,
		"BOUNDARY/agent-channel-unreachable":       shell,
		"BOUNDARY/agent-memory-unreachable":        shell,
		"BOUNDARY/the-agent-survives-every-signal": shell,
		"BOUNDARY/no-capabilities":                 root,
		"BOUNDARY/no-way-to-gain-privileges":       root,
		"BOUNDARY/the-system-is-read-only":         root,
	}
	for _, probe := range []string{
		"a-read-through-a-swapped-directory", "a-read-of-a-swapped-file", "a-stat-through-a-swapped-directory",
		"a-write-through-a-swapped-directory", "a-write-onto-a-swapped-file", "a-removal-through-a-swapped-directory",
		"a-recursive-removal-over-a-swapped-directory", "a-listing-of-a-swapped-directory",
	} {
		except["RACES/"+probe] = race
	}
	return except
}
