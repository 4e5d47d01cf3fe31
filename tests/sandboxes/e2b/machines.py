"""The machines of the local E2B server: a folder as root, namespaces, and a process 1 (``machine_init.py``) for each.

The kernel lets a process move only into namespaces within its own. So a machine that is copied while processes run in
it goes on in a copy itself, and its old ``Body`` is kept, idle, around those of the copies, until all of them are gone.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import shutil
import site
import socket
import subprocess
import sys
import threading
import venv
from pathlib import Path
from typing import Any

import copying

import sandmle.sandboxes

HERE = Path(__file__).parent
SANDBOXES = str(Path(sandmle.sandboxes.__file__).parent)
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64")
ACCOUNTS = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000::/home/user:/bin/bash\n",
    "group": "root:x:0:\nuser:x:1000:\n",
    "hosts": "127.0.0.1 localhost\n",
}
USERS = {"root": 0, "user": 1000}


def make_image(folder: Path) -> Path:
    """A virtual environment with the libraries of this one and ``copying.py`` as its ``sitecustomize``."""
    venv.create(folder, symlinks=True)
    packages = next((folder / "lib").glob("python3.*")) / "site-packages"
    shutil.copy(copying.__file__, packages / "sitecustomize.py")
    (packages / "libraries.pth").write_text("\n".join(site.getsitepackages()))
    return folder


class Process:
    """A process in a machine and the ends of its pipes."""

    def __init__(self, number: int, stdout: int, stderr: int) -> None:
        self.number, self.stdout, self.stderr = number, stdout, stderr
        self.ended = threading.Event()
        self.lost = False
        self.code = 0


class Machine:
    """One machine, whose body changes whenever it is copied."""

    def __init__(self, body: Body) -> None:
        self.id = secrets.token_hex(8)
        self.body = body
        self._copying = threading.Lock()

    def copy(self, n: int) -> list[Machine]:
        """``n`` machines with this one's files, and its processes of code's user."""
        with self._copying:
            old = self.body
            busy = old.count_processes() > 0
            bodies = [Body(old.folder, old.image, old.internet, old, inside=busy) for _ in range(n + busy)]
            if busy:
                self.body = bodies.pop()
                old.close()
            return [Machine(body) for body in bodies]

    def close(self) -> None:
        self.body.close()


class Body:
    """What a machine is made of: the files of ``source`` and, if it lies ``inside`` that, its processes too."""

    def __init__(
        self, folder: Path, image: Path, internet: bool, source: Body | None = None, *, inside: bool = False
    ) -> None:
        self.folder, self.image, self.internet = folder, image, internet
        self.source = source if inside else None
        self.root = folder / secrets.token_hex(8)
        self._holders = 1
        self._numbers, self._processes = itertools.count(1), dict[int, Process]()
        self._answers: list[dict[str, Any]] = []
        self._answered = threading.Condition()
        self._lock = threading.Lock()
        self._make_root(source)
        self._gate = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._gate.bind(f"{self.root}{copying.SOCKET}")
        (self.root / copying.SOCKET[1:]).chmod(0o777)
        self._gate.listen()
        self._gate.settimeout(20)
        self._boot(self.source)
        if self.source is not None:
            self.source.hold()
            self.source.send_processes_to(self)

    def start(
        self, argv: list[str], user: str, cwd: str = "/", env: dict[str, str] | None = None, stdin: int = -1
    ) -> Process:
        out, err = os.pipe(), os.pipe()
        process = Process(next(self._numbers), out[0], err[0])
        self._processes[process.number] = process
        environment = {"PATH": "/image/bin:/usr/local/bin:/usr/bin:/bin", "HOME": f"/home/{user}", "USER": user}
        message = {
            "start": process.number,
            "argv": argv,
            "uid": USERS[user],
            "cwd": cwd,
            "env": environment | (env or {}),
        }
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            self._send(message, [stdin if stdin >= 0 else nothing, out[1], err[1]])
        finally:
            for fd in (nothing, out[1], err[1]):
                os.close(fd)
        return process

    def kill_process(self, process: Process) -> None:
        if not process.ended.is_set():
            self._send({"kill": process.number})

    def send_processes_to(self, copy: Body) -> None:
        """Have each process of code's user go on in ``copy`` too."""
        for _ in range(self._ask({"signal": copying.SIGNAL})["signalled"]):
            line, _ = self._gate.accept()
            with line:
                socket.send_fds(line, [b"go"], copy.namespaces)
                line.settimeout(20)
                answer = line.recv(1000)
                if answer != b"ok":
                    raise RuntimeError(f"a process can't be copied: {answer.decode() or 'it has ended'}")

    def count_processes(self) -> int:
        """How many processes of code's user there are."""
        return int(self._ask({"signal": 0})["signalled"])

    def hold(self) -> None:
        """Outlive another ``close``."""
        with self._lock:
            self._holders += 1

    def close(self) -> None:
        """End all processes, unless copies still need the namespaces."""
        with self._lock:
            self._holders -= 1
            if self._holders:
                return
        self._link.shutdown(socket.SHUT_RDWR)
        self._init.wait()
        self._listener.join()
        self._link.close()
        self._gate.close()
        for fd in self.namespaces:
            os.close(fd)
        shutil.rmtree(self.root, ignore_errors=True)
        if self.source is not None:
            self.source.close()

    def _make_root(self, source: Body | None) -> None:
        if source is not None:
            subprocess.run(["cp", "-a", source.root, self.root], check=True)
            (self.root / copying.SOCKET[1:]).unlink()
            return
        for name in ("tmp", "proc", "dev", "etc", "run", "home/user", "root", "opt"):
            (self.root / name).mkdir(parents=True)
        (self.root / "tmp").chmod(0o1777)
        (self.root / "home/user").chmod(0o700)
        os.chown(self.root / "home/user", 1000, 1000)
        for name, text in ACCOUNTS.items():
            (self.root / "etc" / name).write_text(text)
        for path in SYSTEM:
            if Path(path).is_symlink():
                (self.root / path[1:]).symlink_to(Path(path).readlink())

    def _boot(self, source: Body | None) -> None:
        shown = [(path, path) for path in SYSTEM if Path(path).is_dir() and not Path(path).is_symlink()]
        libraries = {sys.base_prefix, *(path for path in site.getsitepackages() if Path(path).is_dir())}
        shown += [(path, path) for path in sorted(libraries) if not path.startswith("/usr/")]
        plan = {"root": str(self.root), "shown": [*shown, (str(self.image), "/image")], "internet": self.internet}
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        around = [source.namespaces[index] for index in (0, -2)] if source else []
        numbers = ",".join(map(str, around or (-1, -1)))
        command = [sys.executable, "-S", HERE / "machine_init.py", str(theirs.fileno()), numbers, json.dumps(plan)]
        with theirs:
            self._init = subprocess.Popen(command, pass_fds=[theirs.fileno(), *around], env={"PYTHONPATH": SANDBOXES})
        text, self.namespaces, _, _ = socket.recv_fds(self._link, 100, 8)
        if text != b"ready":
            raise RuntimeError("the machine does not start")
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        while text := self._hear():
            message = json.loads(text)
            if "ended" in message:
                process = self._processes.pop(message["ended"])
                process.code = message["code"]
                process.ended.set()
            else:
                with self._answered:
                    self._answers.append(message)
                    self._answered.notify_all()
        for process in list(self._processes.values()):
            process.lost = True
            process.ended.set()

    def _hear(self) -> bytes:
        with contextlib.suppress(OSError):
            return self._link.recv(1 << 16)
        return b""

    def _send(self, message: dict[str, Any], fds: list[int] | None = None) -> None:
        with self._lock:
            socket.send_fds(self._link, [json.dumps(message).encode()], fds or [])

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        with self._answered:
            self._send(message)
            assert self._answered.wait_for(lambda: self._answers, timeout=20)
            return self._answers.pop()
