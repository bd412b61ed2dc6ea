"""Time the reference's bubblewrap backend: acquire, exec, files in and out, stat.

Runs as root in a mount namespace of its own, with a runtime directory into which
/usr is bound, since the backend takes a whole root file system. It wants cgroup v2
controllers; where the machine has none, its limits are left out and the answer
says so, which spares it work. Writes one JSON object: medians in seconds by name.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import maf_sandbox as m  # noqa: E402
from maf_sandbox_bubblewrap import BubblewrapSandboxBackend, BubblewrapSandboxConfig  # noqa: E402

LIMITS = {"memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max"}
WORK = "."


def cgroup_root():
    for root in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")):
        if (root / "cgroup.controllers").exists():
            return root
    sys.exit("no cgroup v2 hierarchy is mounted")


def without_controllers():
    """Let limits that the kernel does not offer here be written nowhere."""
    plain = Path.open

    def opened(self, mode="r", *args, **kwargs):
        if self.name in LIMITS and not self.exists():
            return open(os.devnull, "w", encoding="ascii")
        return plain(self, mode, *args, **kwargs)

    Path.open = opened


def runtime(parent):
    root = parent / "runtime"
    for name in ("usr", "proc", "dev", "tmp", "run", "maf-sandbox", "etc"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        if Path("/" + name).exists():
            (root / name).symlink_to("usr/" + name)
    subprocess.run(["mount", "--bind", "/usr", root / "usr"], check=True)
    return root


async def timed(rounds, call):
    spent = []
    for n in range(rounds):
        began = time.perf_counter()
        await call(n)
        spent.append(time.perf_counter() - began)
    return statistics.median(spent)


async def measure(rounds):
    answer = {}
    # Not under /tmp or /run, which the guest has of its own.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as parent:
        parent = Path(parent)
        root = cgroup_root()
        group = root / f"bench-{os.getpid()}"
        group.mkdir()
        if not (group / "memory.max").exists():
            without_controllers()
            answer["without_limits"] = True
        base = runtime(parent)
        try:
            backend = await BubblewrapSandboxBackend.create(
                BubblewrapSandboxConfig(runtime_root=base, state_root=parent / "state", cgroup_root=group)
            )
            spec = m.SandboxSpec(kind="bench", requires=backend.declarations.capabilities)
            keys = [m.SandboxKey("bench", f"thread-{n}", "agent") for n in range(rounds + 1)]

            async def acquire(n):
                await backend.acquire(keys[n], spec)

            async def dispose(n):
                await backend.dispose(keys[n])

            answer["acquire"] = await timed(rounds, acquire)
            answer["dispose"] = await timed(rounds, dispose)
            sandbox = await backend.acquire(keys[rounds], spec)

            async def true(_):
                result = await sandbox.exec(["/bin/true"], working_directory=WORK, timeout=30)
                assert result.exit_code == 0

            answer["exec"] = await timed(rounds, true)
            for name, size in (("1MiB", 1 << 20), ("8MiB", 8 << 20)):
                content = os.urandom(size)

                async def write(_, content=content):
                    await sandbox.write_file("file", content, working_directory=WORK)

                async def read(_, content=content, size=size):
                    got = await sandbox.read_file("file", working_directory=WORK, max_bytes=size)
                    assert got == content

                try:
                    answer["write_" + name] = await timed(max(3, rounds // 5), write)
                    answer["read_" + name] = await timed(max(3, rounds // 5), read)
                except Exception as error:  # a bound of the backend: named, not timed
                    answer.setdefault("refused", {})[name] = type(error).__name__

            async def stat(_):
                await sandbox.stat_file("file", working_directory=WORK)

            answer["stat"] = await timed(rounds, stat)
            await backend.dispose(keys[rounds])
        finally:
            subprocess.run(["umount", base / "usr"], check=False)
            group.rmdir()
    return answer


print(json.dumps(asyncio.run(measure(int(sys.argv[1])))))
