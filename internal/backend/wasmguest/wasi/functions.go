package wasi

import (
	"io"
	"math"
	"time"

	"github.com/tetratelabs/wazero/sys"
)

// wasiFunctions is all of WASI preview 1. Functions that have nothing to act on
// here answer an error and do nothing.
func wasiFunctions() []function {
	f := func(name, params string, run func(call) errno) function {
		return function{name, params, "i", func(c call) uint32 { return uint32(run(c)) }}
	}
	refuse := func(e errno) func(call) errno { return func(call) errno { return e } }
	return []function{
		f("args_get", "ii", argsGet),
		f("args_sizes_get", "ii", argsSizesGet),
		f("environ_get", "ii", refuse(success)),
		f("environ_sizes_get", "ii", environSizesGet),
		f("clock_res_get", "ii", clockRes),
		f("clock_time_get", "iIi", clockTime),
		f("random_get", "ii", randomGet),
		f("sched_yield", "", refuse(success)),
		f("poll_oneoff", "iiii", poll),
		{"proc_exit", "i", "", procExit},
		f("proc_raise", "i", refuse(errNosys)),

		f("fd_advise", "iIIi", withFD(func(call, *descriptor) errno { return success })),
		f("fd_allocate", "iII", withFile(fdAllocate)),
		f("fd_close", "i", fdClose),
		f("fd_datasync", "i", withFD(func(call, *descriptor) errno { return success })),
		f("fd_sync", "i", withFD(func(call, *descriptor) errno { return success })),
		f("fd_fdstat_get", "ii", withFD(fdStat)),
		f("fd_fdstat_set_flags", "ii", withFD(fdSetFlags)),
		f("fd_fdstat_set_rights", "iII", refuse(errNosys)),
		f("fd_filestat_get", "ii", withFD(fdFilestat)),
		f("fd_filestat_set_size", "iI", withFile(fdSetSize)),
		f("fd_filestat_set_times", "iIIi", withFile(fdSetTimes)),
		f("fd_pread", "iiiIi", withFile(fdPread)),
		f("fd_prestat_get", "ii", withFD(fdPrestat)),
		f("fd_prestat_dir_name", "iii", withFD(fdPrestatName)),
		f("fd_pwrite", "iiiIi", withFile(fdPwrite)),
		f("fd_read", "iiii", withFD(fdRead)),
		f("fd_readdir", "iiiIi", withFD(fdReaddir)),
		f("fd_renumber", "ii", fdRenumber),
		f("fd_seek", "iIii", withFD(fdSeek)),
		f("fd_tell", "ii", withFile(fdTell)),
		f("fd_write", "iiii", withFD(fdWrite)),

		f("path_create_directory", "iii", withDir(pathMkdir)),
		f("path_filestat_get", "iiiii", withDir(pathStat)),
		f("path_filestat_set_times", "iiiiIIi", withDir(pathSetTimes)),
		f("path_link", "iiiiiii", refuse(errPerm)),
		f("path_open", "iiiiiIIii", withDir(pathOpen)),
		f("path_readlink", "iiiiii", withDir(pathReadlink)),
		f("path_remove_directory", "iii", withDir(pathRmdir)),
		f("path_rename", "iiiiii", withDir(pathRename)),
		f("path_symlink", "iiiii", refuse(errPerm)),
		f("path_unlink_file", "iii", withDir(pathUnlink)),

		f("sock_accept", "iii", withFD(func(call, *descriptor) errno { return errNotsock })),
		f("sock_recv", "iiiiii", withFD(func(call, *descriptor) errno { return errNotsock })),
		f("sock_send", "iiiii", withFD(func(call, *descriptor) errno { return errNotsock })),
		f("sock_shutdown", "ii", withFD(func(call, *descriptor) errno { return errNotsock })),
	}
}

// sandboxFunctions are for the guest of this repository.
func sandboxFunctions() []function {
	return []function{
		// memory_limit() answers how much memory the run may have, in bytes.
		{"memory_limit", "", "i", func(c call) uint32 { return c.p.MemoryLimit }},
		// source(ptr, size) answers the length of the program's text and copies it
		// to ptr if it is not longer than size.
		{"source", "ii", "i", func(c call) uint32 {
			if len(c.p.Source) <= int(c.u32(1)) {
				c.memory.Write(c.u32(0), c.p.Source)
			}
			return uint32(len(c.p.Source))
		}},
	}
}

func procExit(c call) uint32 {
	panic(sys.NewExitError(c.u32(0))) //nolint:forbidigo // how a host function ends its guest; the engine recovers it
}

func argsSizesGet(c call) errno {
	size := 0
	for _, arg := range c.p.Args {
		size += len(arg) + 1
	}
	if e := c.put32(0, uint32(len(c.p.Args))); e != success {
		return e
	}
	return c.put32(1, uint32(size))
}

func argsGet(c call) errno {
	table, at := c.u32(0), c.u32(1)
	for _, arg := range c.p.Args {
		if !c.memory.WriteUint32Le(table, at) || !c.memory.Write(at, append([]byte(arg), 0)) {
			return errFault
		}
		table += 4
		at += uint32(len(arg)) + 1
	}
	return success
}

func environSizesGet(c call) errno {
	if e := c.put32(0, 0); e != success {
		return e
	}
	return c.put32(1, 0)
}

const (
	clockRealtime  = 0
	clockMonotonic = 1
)

func (c call) now(clock uint32) (uint64, errno) {
	switch clock {
	case clockRealtime:
		return uint64(c.p.Now().UnixNano()), success
	case clockMonotonic:
		return uint64(time.Since(c.p.started)) + 1, success
	default:
		return 0, errInval
	}
}

func clockRes(c call) errno {
	if c.u32(0) > clockMonotonic {
		return errInval
	}
	return c.put64(1, uint64(time.Microsecond))
}

func clockTime(c call) errno {
	now, e := c.now(c.u32(0))
	if e != success {
		return e
	}
	return c.put64(2, now)
}

// maxRandom is how much randomness is made between two looks at the context.
const maxRandom = 64 << 10

func randomGet(c call) errno {
	b, ok := c.bytes(0, 1)
	if !ok {
		return errFault
	}
	for len(b) > 0 {
		c.p.check(c.ctx)
		n := min(len(b), maxRandom)
		if _, err := io.ReadFull(c.p.Rand, b[:n]); err != nil {
			c.p.end(err)
		}
		b = b[n:]
	}
	return success
}

// duration is ns as a duration, at most the longest there is.
func duration(ns uint64) time.Duration {
	return time.Duration(min(ns, math.MaxInt64))
}
