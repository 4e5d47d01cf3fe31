"""Running many scripts of the team in one sandbox: libraries are imported once, each script runs in its own fork.

A script sees its folder as current directory and ends in a ``ScriptResult``; after one that fails no other is run.
CPU time is bounded, not wall time, so that a verdict never depends on the load of the machine.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping, Sequence

from pydantic import TypeAdapter

from sandmle.errors import InfraError
from sandmle.record import Record
from sandmle.sandboxes import Sandbox
from sandmle.trajectory import StepResult

__all__ = ["ScriptJob", "ScriptResult", "run_scripts"]

WALL_PER_CPU = 6.0
"""Wall seconds allowed for one CPU second: the outer limit, for scripts that wait instead of working."""
ENDINGS = {-signal.SIGXCPU: "used up its CPU time", -signal.SIGXFSZ: "wrote a file that is larger than allowed"}
MAX_LOG = 4_000
MAX_RESULTS = 8 * 2**20

DRIVER = """
import importlib, json, os, resource, runpy, sys, traceback

workspace, max_log = os.getcwd(), int(sys.argv[2])
with open(sys.argv[1]) as stream:
    jobs = json.load(stream)
for name in sys.argv[3:]:
    importlib.import_module(name)


def log_path(job):
    return os.path.join(workspace, ".log-" + job["name"])


def open_only_once(path):
    watched, opened = os.path.realpath(path), []

    def watch(event, args):
        named = event == "open" and isinstance(args[0], (str, bytes, os.PathLike))
        if named and os.path.realpath(os.fsdecode(args[0])) == watched:
            opened.append(path)
            if len(opened) > 1:
                os.write(2, b"opened " + os.fsencode(os.path.basename(watched)) + b" more than once")
                os._exit(1)

    sys.addaudithook(watch)


def run(job):
    log = os.open(log_path(job), os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    limit = max(int(job["cpu_seconds"] + 0.999), 1)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    code = 0
    try:
        os.makedirs(os.path.join(workspace, job["folder"]), exist_ok=True)
        os.chdir(os.path.join(workspace, job["folder"]))
        if job["input"]:
            os.symlink(os.path.join(workspace, job["input"]), "input")
        script = os.path.join(workspace, job["script"])
        sys.argv = [script, *job["args"]]
        if job["read_once"]:
            open_only_once(os.path.join(workspace, job["read_once"]))
        runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        if not isinstance(stop.code, (int, type(None))):
            print(stop.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 255)


results = []
for job in jobs:
    child = os.fork()
    if child == 0:
        run(job)
    _, status, used = os.wait4(child, 0)
    with open(log_path(job), "rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(size - max_log, 0))
        log = stream.read().decode(errors="replace")
    results.append({
        "name": job["name"],
        "exit_code": os.waitstatus_to_exitcode(status),
        "cpu_s": used.ru_utime + used.ru_stime,
        "log": log,
    })
    if status:
        break
with open("results.json.part", "w") as stream:
    json.dump(results, stream)
os.replace("results.json.part", "results.json")
"""


class ScriptJob(Record):
    """One script to run.

    Attributes:
        name: unique among the jobs of one call, usable in a file name.
        script: path of the script, relative to the workspace.
        folder: folder to run in, relative to the workspace; made if it is not there.
        input: folder of the workspace that the script sees as ``input``; none if empty.
        read_once: file of the workspace that ends the script with exit code 1 when it opens it again by name; none if
            empty. It catches what is written that way, not what is meant to get around it.
    """

    name: str
    script: str
    folder: str = "."
    input: str = ""
    read_once: str = ""
    args: tuple[str, ...] = ()
    cpu_seconds: float = 60.0


class ScriptResult(Record):
    """How one script ended: ``exit_code`` is negative for a signal; ``log`` is the end of stdout and stderr."""

    name: str
    exit_code: int
    cpu_s: float
    log: str

    @property
    def ok(self) -> bool:
        """Whether it ended well."""
        return self.exit_code == 0

    @property
    def ending(self) -> str:
        """How it ended, for whoever wrote it."""
        if self.exit_code >= 0:
            return f"ended with exit code {self.exit_code}"
        if self.exit_code in ENDINGS:
            return ENDINGS[self.exit_code]
        return f"was stopped by signal {-self.exit_code}"


_RESULTS = TypeAdapter(tuple[ScriptResult, ...])


async def run_scripts(
    sandbox: Sandbox, jobs: Sequence[ScriptJob], *, preload: Sequence[str] = ()
) -> Mapping[str, ScriptResult]:
    """Run ``jobs`` one after the other in ``sandbox``, after importing ``preload`` once.

    Returns:
        One result by name for each job up to the first that failed. If the whole run was cut (a script slept past the
        outer limit, or killed its parent), every job carries the same non-zero exit code and says so.

    Raises:
        InfraError: the sandbox itself failed, or the machine killed the run.
    """
    await sandbox.write("jobs.json", json.dumps([job.model_dump() for job in jobs]).encode())
    await sandbox.remove("results.json")
    limit = WALL_PER_CPU * sum(job.cpu_seconds for job in jobs)
    step = await sandbox.run(DRIVER, timeout=limit, args=("jobs.json", str(MAX_LOG), *preload))
    try:
        data = await sandbox.read("results.json", max_bytes=MAX_RESULTS)
        return {result.name: result for result in _RESULTS.validate_json(data)}
    except FileNotFoundError:
        if step.status in ("oom", "killed"):
            raise InfraError(
                f"{len(jobs)} scripts were killed ({step.status}); is the machine out of memory?"
            ) from None
        return _all_cut(jobs, step)
    except ValueError as error:
        raise InfraError(f"the results of {len(jobs)} scripts can't be read: {error}") from error


def _all_cut(jobs: Sequence[ScriptJob], step: StepResult) -> dict[str, ScriptResult]:
    log = f"the whole run was cut ({step.status}): {step.output[-MAX_LOG:]}"
    return {job.name: ScriptResult(name=job.name, exit_code=-9, cpu_s=0.0, log=log) for job in jobs}
