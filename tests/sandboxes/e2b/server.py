"""A small local service that speaks E2B's protocol, so that the unmodified SDK can be pointed at it.

It answers the control plane's requests (machines, their time to live, forks, snapshots), the machine's file transfers
and its process service (Connect, JSON), as far as sandmle uses them. The machines are real enough to run what they are
told: see ``machines.py``. Needs root.

Faults can be injected: ``server.inject("POST /v2/sandboxes", 429, times=2)`` refuses the next two such requests; the
kind ``drop`` closes the connection without doing anything, ``cut`` does what was asked and then closes it unanswered,
``partial`` fails the last of several forks.
"""

from __future__ import annotations

import base64
import contextlib
import email.parser
import email.policy
import json
import os
import select
import shutil
import struct
import tempfile
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import ParseResult, parse_qs, urlparse

from machines import Body, Machine, Process, make_image

KEY = "e2b_" + "0" * 40


class Server(ThreadingHTTPServer):
    """The service; ``log`` holds method and path of each request, ``ttls`` the times to live asked for, ``streamed``
    the bytes of all that processes have printed."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = Path(tempfile.mkdtemp(prefix="e2b-"))
        self.folder.chmod(0o755)
        self.image = make_image(self.folder / "image")
        self.machines: dict[str, Machine] = {}
        self.snapshots: dict[str, Machine] = {}
        self.timers: dict[str, threading.Timer] = {}
        self.created: dict[str, str] = {}
        self.log: list[str] = []
        self.ttls: list[int] = []
        self.faults: list[list[Any]] = []
        self.streamed = 0
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        """What points the SDK here."""
        url = f"http://127.0.0.1:{self.server_port}"
        return {"E2B_API_KEY": KEY, "E2B_API_URL": url, "E2B_SANDBOX_URL": url, "E2B_HTTP_VERSION": "1.1"}

    def inject(self, request: str, kind: int | str, times: int = 1) -> None:
        """Let the next ``times`` requests that begin with ``request`` (method and path) fail."""
        self.faults.append([request, kind, times])

    def fault(self, request: str) -> int | str:
        with self.lock:
            for fault in self.faults:
                if fault[2] and request.startswith(fault[0]):
                    fault[2] -= 1
                    return fault[1]
        return 0

    def count(self, request: str) -> int:
        return sum(line.startswith(request) for line in self.log)

    def start(self, key: str, template: str, ttl: int, internet: bool) -> Machine:
        with self.lock:
            if key and key in self.created:
                return self.machines[self.created[key]]
            source = self.snapshots.get(template)
            machine = source.copy(1)[0] if source else Machine(Body(self.folder, self.image, internet))
            self.created[key] = machine.id
        return self.keep(machine, ttl)

    def keep(self, machine: Machine, ttl: int) -> Machine:
        self.machines[machine.id] = machine
        self.renew(machine.id, ttl)
        return machine

    def renew(self, machine: str, ttl: int) -> None:
        self.ttls.append(ttl)
        if old := self.timers.pop(machine, None):
            old.cancel()
        timer = self.timers[machine] = threading.Timer(ttl, self.stop, [machine])
        timer.daemon = True
        timer.start()

    def stop(self, machine: str) -> bool:
        if timer := self.timers.pop(machine, None):
            timer.cancel()
        if found := self.machines.pop(machine, None):
            found.close()
        return found is not None

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        for machine in list(self.machines):
            self.stop(machine)
        for snapshot in self.snapshots.values():
            snapshot.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def handle_one_request(self) -> None:
        with contextlib.suppress(ConnectionError):
            super().handle_one_request()

    def do_POST(self) -> None:
        body, url = self._body(), urlparse(self.path)
        request = f"{self.command} {url.path}"
        self.server.log.append(request)
        fault = self.server.fault(request)
        self._cut, self._partial = fault == "cut", fault == "partial"
        if isinstance(fault, int) and fault:
            self._json(fault, {"code": fault, "message": "injected"})
        elif fault == "drop":
            self._hang_up()
        else:
            self._answer(url, body)

    do_GET = do_DELETE = do_PUT = do_POST

    def _answer(self, url: ParseResult, body: bytes) -> None:
        try:
            if url.path.startswith(("/sandboxes", "/v2/sandboxes", "/templates")):
                self._control([part for part in url.path.replace("/v2/", "/").split("/") if part], body)
            else:
                query = {name: values[0] for name, values in parse_qs(url.query).items()}
                self._envd(url.path, query, body)
        except RuntimeError as error:
            self._json(500, {"code": 500, "message": str(error)})

    def _control(self, parts: list[str], body: bytes) -> None:
        if self.headers.get("X-API-KEY") != KEY:
            return self._json(401, {"code": 401, "message": "unknown key"})
        asked = json.loads(body) if body else {}
        match (self.command, *parts):
            case ("POST", "sandboxes"):
                key, internet = self.headers.get("Idempotency-Key", ""), asked.get("allow_internet_access", True)
                return self._json(201, _shown(self.server.start(key, asked["templateID"], asked["timeout"], internet)))
            case ("DELETE", "templates", name):
                snapshot = self.server.snapshots.pop(name, None)
                if snapshot is not None:
                    snapshot.close()
                return self._gone() if snapshot is None else self._json(204, None)
            case ("DELETE", "sandboxes", name):
                return self._json(204, None) if self.server.stop(name) else self._gone()
        machine = self.server.machines.get(parts[1])
        if machine is None:
            return self._gone()
        match parts[2:]:
            case ["timeout"]:
                self.server.renew(machine.id, asked["timeout"])
                return self._json(204, None)
            case ["fork"]:
                copies = machine.copy(asked.get("count", 1))
                forks: list[dict[str, Any]] = []
                if self._partial:
                    copies.pop().close()
                    forks.append({"error": {"code": 429, "message": "too many machines"}})
                kept = [{"sandbox": _shown(self.server.keep(one, asked["timeout"]))} for one in copies]
                return self._json(201, kept + forks)
            case ["snapshots"]:
                (snapshot,) = machine.copy(1)
                self.server.snapshots[snapshot.id] = snapshot
                return self._json(201, {"snapshotID": snapshot.id, "names": []})
        return self._json(501, {"code": 501, "message": f"{self.command} {self.path} is not served here"})

    def _envd(self, path: str, query: dict[str, str], body: bytes) -> None:
        machine = self.server.machines.get(self.headers.get("E2b-Sandbox-Id", ""))
        if machine is None:
            return self._json(502, {"code": 502, "message": "The sandbox was not found"})
        if path == "/health":
            return self._json(204, None)
        if path == "/files":
            return self._files(machine, query, body)
        if path == "/process.Process/Start":
            return self._start(machine, json.loads(body[5:]))
        return self._json(501, {"code": "unimplemented", "message": f"{path} is not served here"})

    def _files(self, machine: Machine, query: dict[str, str], body: bytes) -> None:
        path, user = query["path"], query.get("username", "user")
        if self.command == "GET":
            code, data = _run(machine, ["cat", path], user)
            return self._json(404, {"code": 404, "message": f"{path}: no such file"}) if code else self._send(200, data)
        kind = self.headers["Content-Type"]
        if kind.startswith("multipart/"):
            message = b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body
            (part,) = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(message).iter_parts()
            body = part.get_payload(decode=True)
        script = 'mkdir -p "$(dirname "$1")" && cat > "$1"'
        with tempfile.TemporaryFile() as data:
            data.write(body)
            data.seek(0)
            code, _ = _run(machine, ["sh", "-c", script, "sh", path], user, data.fileno())
        if code:
            return self._json(500, {"code": 500, "message": f"{path}: can't be written"})
        return self._json(200, [{"name": Path(path).name, "type": "file", "path": path}])

    def _start(self, machine: Machine, message: dict[str, Any]) -> None:
        asked = message["process"]
        user = base64.b64decode(self.headers["Authorization"].split()[1]).decode().partition(":")[0]
        argv, env = [asked["cmd"], *asked.get("args", [])], asked.get("envs", {})
        body = machine.body
        process = body.start(argv, user, asked.get("cwd", "/home/user"), env)
        limit = float(self.headers.get("Connect-Timeout-Ms", "0")) / 1000
        timer = threading.Timer(limit or 1e6, body.kill_process, [process])
        timer.daemon = True
        timer.start()
        self.send_response(200)
        self.send_header("Content-Type", "application/connect+json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._event({"start": {"pid": process.number}})
        if self._cut:
            os.close(process.stdout)
            os.close(process.stderr)
            return self._hang_up()
        for name, data in _outputs(process):
            self._event({"data": {name: base64.b64encode(data).decode()}})
        process.ended.wait()
        timer.cancel()
        if process.lost:
            return self._hang_up()
        self._event(
            {"end": {"exitCode": process.code, "exited": process.code >= 0, "status": f"exit status {process.code}"}}
        )
        self._chunk(struct.pack(">BI", 2, 2) + b"{}")
        self._chunk(b"")

    def _event(self, event: dict[str, Any]) -> None:
        text = json.dumps({"event": event}).encode()
        self.server.streamed += len(text)
        self._chunk(struct.pack(">BI", 0, len(text)) + text)

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def _json(self, status: int, value: object) -> None:
        self._send(status, b"" if value is None else json.dumps(value).encode(), "application/json")

    def _send(self, status: int, data: bytes, kind: str = "application/octet-stream") -> None:
        if self._cut:
            return self._hang_up()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _gone(self) -> None:
        self._json(404, {"code": 404, "message": f"{self.path} was not found"})

    def _hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(2)

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        parts = bytearray()
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return bytes(parts)


def _shown(machine: Machine) -> dict[str, Any]:
    return {
        "templateID": "code-interpreter-v1",
        "sandboxID": machine.id,
        "clientID": "local",
        "envdVersion": "0.6.2",
        "envdAccessToken": uuid.uuid4().hex,
        "domain": None,
    }


def _outputs(process: Process) -> Iterator[tuple[str, bytes]]:
    names = {process.stdout: "stdout", process.stderr: "stderr"}
    while names:
        for fd in select.select(list(names), [], [])[0]:
            if data := os.read(fd, 1 << 15):
                yield names[fd], data
            else:
                del names[fd]
                os.close(fd)


def _run(machine: Machine, argv: list[str], user: str, stdin: int = -1) -> tuple[int, bytes]:
    process = machine.body.start(argv, user, stdin=stdin)
    data = b"".join(part for name, part in _outputs(process) if name == "stdout")
    process.ended.wait()
    return process.code, data
