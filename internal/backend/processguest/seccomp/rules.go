package seccomp

// Flags and numbers of the kernel's interface, the same on both architectures.
const (
	afUnix, afInet, afInet6, afNetlink = 1, 2, 10, 16

	netlinkRoute = 0

	// newNamespaces are CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID
	// and NEWNET. Unshare knows CLONE_NEWTIME too, whose bit means a signal to
	// clone.
	newNamespaces = 0x7e020000
	newTime       = 0x80

	ioctlTIOCSTI   = 0x5412
	ioctlTIOCLINUX = 0x541c

	personalityQuery = 0xffffffff
)

// Rules is the profile. What is not here is refused; what a reader may look for
// and not find is: ptrace and process_vm_* (a guest has no business in its
// agent), bpf, perf_event_open, userfaultfd, io_uring and kernel AIO (attack
// surface, and AIO's slots are shared by the whole machine), inotify (the few there
// are of it are shared by all sandboxes of a user, and with the user), keyctl and its kin
// (keys are not confined by namespaces), mount and its kin, setns, chroot and
// pivot_root, open_by_handle_at, modules, kexec, reboot, swap, clocks, quotas,
// accounting, syslog, memfd_secret, NUMA placement, modify_ldt, iopl.
func Rules() []Rule {
	self := []Arg{{Index: 0, Op: Equal, Value: 0}}
	selfByWho := []Arg{{Index: 1, Op: Equal, Value: 0}}
	return []Rule{
		{Why: "files", Names: []string{
			"access", "chdir", "chmod", "chown", "close", "close_range", "copy_file_range", "creat", "dup", "dup2", "dup3",
			"faccessat", "faccessat2", "fadvise64", "fallocate", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat",
			"fcntl", "fdatasync", "fgetxattr", "flistxattr", "flock", "fremovexattr", "fsetxattr", "fstat", "fstatfs", "fsync",
			"ftruncate", "futimesat", "getcwd", "getdents", "getdents64", "getxattr", "getxattrat", "lchown", "lgetxattr", "link",
			"linkat", "listxattr", "listxattrat", "llistxattr", "lremovexattr", "lseek", "lsetxattr", "lstat", "mkdir", "mkdirat",
			"mknod", "mknodat", "newfstatat", "open", "openat", "openat2", "pread64", "preadv", "preadv2", "pwrite64", "pwritev",
			"pwritev2", "read", "readahead", "readlink", "readlinkat", "readv", "removexattr", "removexattrat", "rename",
			"renameat", "renameat2", "rmdir", "sendfile", "setxattr", "setxattrat", "splice", "stat", "statfs", "statx", "symlink",
			"symlinkat", "sync", "sync_file_range", "syncfs", "tee", "truncate", "umask", "unlink", "unlinkat", "utime",
			"utimensat", "utimes", "vmsplice", "write", "writev",
		}},
		{Why: "memory", Names: []string{
			"brk", "cachestat", "madvise", "map_shadow_stack", "membarrier", "memfd_create", "mincore", "mlock", "mlock2", "mlockall",
			"mmap", "mprotect", "mremap", "mseal", "msync", "munlock", "munlockall", "munmap", "pkey_alloc", "pkey_free",
			"pkey_mprotect", "remap_file_pages",
		}},
		{Why: "processes, threads and signals of the sandbox, which the kernel confines to it", Names: []string{
			"alarm", "arch_prctl", "execve", "execveat", "exit", "exit_group", "fork", "futex", "futex_requeue", "futex_wait",
			"futex_waitv", "futex_wake", "get_robust_list", "get_thread_area", "getitimer", "getpgid", "getpgrp", "getpid",
			"getppid", "getsid", "gettid", "kill", "pause", "pidfd_open", "pidfd_send_signal", "prctl", "restart_syscall", "rseq",
			"rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
			"rt_sigtimedwait", "rt_tgsigqueueinfo", "set_robust_list", "set_thread_area", "set_tid_address", "setitimer",
			"setpgid", "setsid", "sigaltstack", "signalfd", "signalfd4", "tgkill", "tkill", "vfork", "wait4", "waitid",
		}},
		{Why: "a program may confine itself further", Names: []string{
			"landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "seccomp",
		}},
		{Why: "identity; the sandbox has one user and no capability to gain", Names: []string{
			"capget", "capset", "getegid", "geteuid", "getgid", "getgroups", "getresgid", "getresuid", "getuid", "setfsgid",
			"setfsuid", "setgid", "setgroups", "setregid", "setresgid", "setresuid", "setreuid", "setuid",
		}},
		{Why: "waiting and time", Names: []string{
			"clock_getres", "clock_gettime", "clock_nanosleep", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old",
			"epoll_pwait", "epoll_pwait2", "epoll_wait", "epoll_wait_old", "eventfd", "eventfd2", "gettimeofday",
			"nanosleep", "poll", "ppoll", "pselect6",
			"select", "time", "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
			"timerfd_create", "timerfd_gettime", "timerfd_settime", "times",
		}},
		{Why: "what the machine is and how much of it is used", Names: []string{
			"getcpu", "getpriority", "getrandom", "getrlimit", "getrusage", "ioprio_get", "sched_get_priority_max",
			"sched_get_priority_min", "sched_getaffinity", "sched_getattr", "sched_getparam", "sched_getscheduler",
			"sched_rr_get_interval", "sched_yield", "setrlimit", "sysinfo", "uname",
		}},
		{Why: "pipes and IPC, in the sandbox's own namespace", Names: []string{
			"mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink", "msgctl", "msgget", "msgrcv",
			"msgsnd", "pipe", "pipe2", "semctl", "semget", "semop", "semtimedop", "shmat", "shmctl", "shmdt", "shmget",
		}},
		{Why: "sockets, once one of an allowed family is there", Names: []string{
			"accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recvfrom", "recvmmsg",
			"recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown",
		}},

		{Why: "local sockets", Names: []string{"socket", "socketpair"}, Args: []Arg{{Index: 0, Op: Equal, Value: afUnix}}},
		{Why: "IPv4, over loopback", Names: []string{"socket"}, Args: []Arg{{Index: 0, Op: Equal, Value: afInet}}},
		{Why: "IPv6, over loopback", Names: []string{"socket"}, Args: []Arg{{Index: 0, Op: Equal, Value: afInet6}}},
		{
			Why: "listing interfaces, as every resolver does; other netlink protocols reach more of the kernel", Names: []string{"socket"},
			Args: []Arg{{Index: 0, Op: Equal, Value: afNetlink}, {Index: 2, Op: Equal, Value: netlinkRoute}},
		},
		{Why: "new processes and threads, in the namespaces there are", Names: []string{"clone"}, Args: []Arg{{Index: 0, Mask: newNamespaces, Op: Equal}}},
		{Why: "a thread's own working directory or descriptors", Names: []string{"unshare"}, Args: []Arg{{Index: 0, Mask: newNamespaces | newTime, Op: Equal}}},
		{
			Why: "devices and sockets, but no typing into somebody's terminal", Names: []string{"ioctl"},
			Args: []Arg{{Index: 1, Op: NotEqual, Value: ioctlTIOCSTI}, {Index: 1, Op: NotEqual, Value: ioctlTIOCLINUX}},
		},
		{Why: "the usual execution domain", Names: []string{"personality"}, Args: []Arg{{Index: 0, Op: Equal, Value: 0}}},
		{Why: "asking for the execution domain", Names: []string{"personality"}, Args: []Arg{{Index: 0, Op: Equal, Value: personalityQuery}}},
		{
			Why: "limits and scheduling of the caller alone: on other processes they would stop the agent", Args: self,
			Names: []string{"prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"},
		},
		{Why: "priority of the caller alone", Names: []string{"setpriority"}, Args: append([]Arg{{Index: 0, Op: Equal, Value: 0}}, selfByWho...)},
		{Why: "input and output priority of the caller alone", Names: []string{"ioprio_set"}, Args: append([]Arg{{Index: 0, Op: Equal, Value: 1}}, selfByWho...)},
	}
}
