"""Servers in processes of their own: real ones, killed in every way, and nothing of them is left."""

import asyncio
import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sandmle.errors import EnvironmentProblem
from sandmle.rl.serving import serving

SERVER = """
import http.server, os, subprocess, sys
print("a line of the log", flush=True)
stray = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True)
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()
        self.wfile.write(f"{os.getpid()} {stray.pid}".encode())
    def log_message(self, *_):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
STARTER = """
import asyncio, sys
from sandmle.rl.serving import serving
async def main():
    async with serving(sys.argv[2:], sys.argv[1], "a model"):
        print("ready", flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.fixture
def place():
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return [sys.executable, "-c", SERVER, str(port)], f"http://127.0.0.1:{port}"


def processes(url):
    """The server's own process and the one that it started in another session."""
    from urllib.request import urlopen

    with urlopen(f"{url}/health") as answer:
        return [int(pid) for pid in answer.read().split()]


def are_gone(pids):
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


async def test_it_is_healthy_inside_and_gone_with_all_it_started_outside(place):
    command, url = place
    async with serving(command, url, "a model") as server:
        pids = processes(server.url)
        assert not are_gone(pids)
    assert are_gone(pids)


async def test_an_error_inside_ends_it_too(place):
    command, url = place
    pids = []

    async def fail():
        async with serving(command, url, "a model"):
            pids.extend(processes(url))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert are_gone(pids)


async def test_one_that_dies_at_start_up_is_told_at_once_with_its_last_lines():
    dying = [sys.executable, "-c", "print('loading'); raise SystemExit('no such weights')"]
    with pytest.raises(EnvironmentProblem, match="ended with exit code 1 before it was ready") as caught:
        async with serving(dying, "http://127.0.0.1:1", "a model"):
            pass
    assert str(caught.value).startswith("the server of a model ")
    assert {"    loading", "    no such weights"} <= set(str(caught.value).splitlines())


async def test_one_that_never_answers_is_given_up(place):
    _, url = place
    silent = [sys.executable, "-c", "import signal; signal.pause()"]
    with pytest.raises(EnvironmentProblem, match=r"gave no answer in 0\.1 s"):
        async with serving(silent, url, "a model", start_seconds=0.1):
            pass


async def test_one_that_speaks_no_http_is_not_ready(place):
    _, url = place
    port = int(url.rpartition(":")[2])

    async def babble(_, writer):
        writer.write(b"SSH-2.0-something\r\n")
        writer.close()

    silent = [sys.executable, "-c", "import signal; signal.pause()"]
    async with await asyncio.start_server(babble, "127.0.0.1", port):
        with pytest.raises(EnvironmentProblem, match="gave no answer"):
            async with serving(silent, url, "a model", start_seconds=0.1):
                pass


async def test_one_that_is_killed_ends_the_work_with_one_clear_line(place):
    command, url = place
    cancelled, pids = asyncio.Event(), []

    async def work():
        try:
            pids.extend(processes(url))
            os.kill(pids[0], signal.SIGKILL)
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def served():
        async with serving(command, url, "a model", advice="; try again") as server:
            await server.during(work())

    with pytest.raises(EnvironmentProblem, match="the server of a model was killed by SIGKILL; try again"):
        await served()
    assert cancelled.is_set()
    assert are_gone(pids)


async def test_work_that_ends_or_fails_first_is_as_if_alone(place):
    command, url = place

    async def work(broken):
        return 1 / (not broken)

    async with serving(command, url, "a model") as server:
        assert await server.during(work(False)) == 1
        with pytest.raises(ZeroDivisionError):
            await server.during(work(True))


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_does_not_outlive_a_killed_starter(place, by):
    command, url = place
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, url, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as starter:
        assert starter.stdout.readline() == "ready\n"
        watched = [os.pidfd_open(pid) for pid in processes(url)]
        starter.send_signal(by)
    for descriptor in watched:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        assert ended.poll(30_000)
        os.close(descriptor)
