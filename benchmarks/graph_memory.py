"""Does the memory of a long batch stay flat, and its checkpoint database small?

    python benchmarks/graph_memory.py [--runs 1000] [--out DIR]

A stub plays the developer: a server in a process of its own that always sends the same scripts, which end with an
error. So every slot runs the real graph, the real client and a real sandbox, and ends discarded. Memory is the resident
size of this process, looked at after run 200 and after the last.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path

from sandmle.graphs.synthesis import Batch, SynthesisContext, synthesize

WARM = 200
RUNGS = ("dummy", "linear", "trees", "blend", "informed")
TEAM = '[roles]\ndeveloper = "stub"\n[models.stub]\nname = "stub"\nbase_url = "{url}"\n'
MEBIBYTE = 1 << 20


def reply() -> bytes:
    """What the stub says, whatever it is asked."""
    scripts = ["generate.py", *(f"baselines/{rung}.py" for rung in RUNGS)]
    text = "\n".join(f"### {name}\n\n```python\nraise SystemExit('a stub')\n```" for name in scripts)
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return json.dumps(
        {"id": "c", "object": "chat.completion", "created": 0, "model": "stub", "choices": [choice], "usage": usage}
    ).encode()


def serve(told: Connection) -> None:
    """Be the stub, and tell its address."""
    body = reply()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.send(f"http://127.0.0.1:{server.server_port}/v1")
    server.serve_forever()


@contextmanager
def stub() -> Iterator[str]:
    """The address of a running stub."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()


def resident() -> float:
    """MiB of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / MEBIBYTE


async def measure(out: Path, url: str, runs: int) -> dict[str, float]:
    """Run the batch; MiB, seconds."""
    (out / "team.toml").write_text(TEAM.format(url=url))
    context = SynthesisContext(team=str(out / "team.toml"), max_draws=1, max_attempts=0, n_test=500)
    batch = Batch(out / "tasks", ["iris", "wine"], context)
    found, start = {"warm_mib": 0.0}, time.monotonic()
    async for record in synthesize(batch, runs, jobs=2):
        if record.outcome != "discarded" or "a stub" not in record.rejections[0].reason:
            raise SystemExit(f"slot {record.slot} ended otherwise: {record}")
        if record.slot + 1 == WARM:
            found["warm_mib"] = resident()
        if (record.slot + 1) % 50 == 0:
            print(f"{record.slot + 1} runs, {resident():.1f} MiB", file=sys.stderr)
    database = out / "tasks/.sandmle/checkpoints.sqlite"
    found |= {"last_mib": resident(), "seconds": time.monotonic() - start, "runs": runs}
    return found | {"database_mib": database.stat().st_size / MEBIBYTE}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, stub() as url:
        found = asyncio.run(measure(args.out or Path(folder), url, args.runs))
    print(json.dumps({name: round(value, 2) for name, value in found.items()}))


if __name__ == "__main__":
    main()
