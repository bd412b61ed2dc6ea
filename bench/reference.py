"""Decide the cases with the reference package and time it.

Reads the plain corpus and lists of case numbers from standard input, writes what
was decided (the class of the refusal, or null) and the nanoseconds of processor
time that one check took, the least of five rounds, for each list.
"""

import json
import sys
import time
import warnings

warnings.simplefilter("ignore")

import maf_sandbox as m  # noqa: E402


class Backend:
    """A backend that is only asked what it declares."""

    name = "bench"

    def __init__(self, b):
        self.isolation = m.Isolation(b["rung_word"])
        # Host tools would need a channel of the backend's own. No case turns on them.
        known = {c.value for c in m.Capability} - {"host_tools"}
        self.declarations = m.BackendDeclarations(
            capabilities=frozenset(m.Capability(c) for c in b["capabilities"] if c in known),
            limits=m.SandboxLimits(files_in=limits(b["files_in"]), files_out=limits(b["files_out"])),
            egress_modes=frozenset(m.Egress(e) for e in b["modes"]),
            os_families=frozenset(m.OsFamily(o) for o in b["os_families"]),
            isolation_scopes=frozenset(m.IsolationScope(s) for s in b["scopes"]),
            egress_method_tokens=None,
        )

    async def acquire(self, *_args, **_kwargs):
        raise NotImplementedError

    async def dispose(self, *_args, **_kwargs):
        raise NotImplementedError

    async def dispose_scope(self, *_args, **_kwargs):
        raise NotImplementedError


def limits(l):
    return m.TransferLimits(max_bytes_per_file=l["file"], max_total_bytes=l["total"], max_files=l["files"])


def rule(r):
    """Ports are left out: the reference has none."""
    if r["methods"] is None and r["paths"] is None:
        return r["host"]
    return m.EgressRule(host=r["host"], methods=tuple(r["methods"]), paths=tuple(r["paths"]))


def spec(w):
    known = {c.value for c in m.Capability}
    tools = None
    if w["identities"]:
        tools = m.HostToolAggregate(
            result_integrity=None, outbound_caps=frozenset(),
            identities=frozenset(m.Identity(i) for i in w["identities"]),
            requires_approval=False, has_undeclared=False,
            response_limits=m.DEFAULT_TRANSFER_LIMITS, max_host_tool_calls_per_run=1,
        )
    return m.SandboxSpec(
        kind="codeact",
        requires=frozenset(m.Capability(c) for c in w["requires"] if c in known),
        min_isolation=m.Isolation(w["floor_word"]) if w["floor_word"] else None,
        files_in=limits(w["files_in"]), files_out=limits(w["files_out"]),
        egress=m.Egress(w["mode"]), egress_allow=tuple(rule(r) for r in w["rules"]),
        requires_os_family=m.OsFamily(w["os_family"]) if w["os_family"] else None,
        host_tools=tools, isolation_scope=m.IsolationScope(w["scope"]),
    )


def check(router, workload):
    try:
        router.ensure_can_serve(workload)
    except Exception as refusal:  # the class is compared by the caller
        return type(refusal).__name__
    return None


def main():
    job = json.load(sys.stdin)
    routers, cases = {}, {}
    for i in sorted({i for numbers in job["lists"].values() for i in numbers}):
        case = job["corpus"]["cases"][i]
        key = (case["policy"], case["backend"])
        if key not in routers:
            policy = job["corpus"]["policies"][case["policy"]]
            routers[key] = m.SandboxRouter(
                [Backend(job["corpus"]["backends"][case["backend"]])],
                min_isolation=m.Isolation(policy["floor_word"]),
                denied_capabilities=[m.Capability(c) for c in policy["denied_capabilities"]],
                denied_identities=[m.Identity(i) for i in policy["denied_identities"]],
            )
        cases[i] = (routers[key], spec(case["workload"]))

    nanoseconds = {}
    for name, numbers in job["lists"].items():
        work = [cases[i] for i in numbers]
        least = None
        for _ in range(5):
            began, passes = time.process_time_ns(), 0
            while time.process_time_ns() - began < 200_000_000:
                for router, workload in work:
                    check(router, workload)
                passes += 1
            spent = (time.process_time_ns() - began) / (passes * len(work))
            least = spent if least is None else min(least, spent)
        nanoseconds[name] = least
    json.dump({
        "decided": {i: check(*case) for i, case in cases.items()},
        "nanoseconds": nanoseconds,
        "python": sys.version.split()[0],
    }, sys.stdout)


main()
