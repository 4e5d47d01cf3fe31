"""What of this machine code in a sandbox sees: the system's programs and one interpreter with its libraries."""

from __future__ import annotations

import importlib.util
import json
import os
import site
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandmle.errors import EnvironmentProblem

__all__ = ["Interpreter", "base_environment", "check_image", "find_interpreter", "root_plan"]

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives", "/etc/ld.so.cache")
_UTC = "/usr/share/zoneinfo/UTC"
_ASK = (
    "import json, site, sys; print(json.dumps([sys.prefix, sys.base_prefix,"
    " site.getusersitepackages() if site.ENABLE_USER_SITE else '']))"
)
_PASSED_ON = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "NVPL_BLAS_DEBUG_CPU_TYPE")
_THREADS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
    "LOKY_MAX_CPU_COUNT",
)
_ONE_THREAD = {"JE_ARROW_MALLOC_CONF": "background_thread:false", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""pyarrow, which pandas imports wherever it is installed, would start a thread when it is loaded: then the zygote could
neither fork safely nor enter a user namespace. Its own allocator reserves 1 GiB of addresses: the system's does not."""
_NEEDED = {"torch": "torch"}
"""The library without which an image would not be what its name says."""
_ASK_FOR = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"


@dataclass(frozen=True)
class Interpreter:
    """The Python that runs the code.

    Attributes:
        executable: its path as users call it; links are not resolved, since a virtual environment is found by them.
        prefix: the (virtual) environment with the libraries.
        base_prefix: the installation with the standard library.
        user_site: the user's own site-packages if this interpreter uses them, else empty.
    """

    executable: str
    prefix: str
    base_prefix: str
    user_site: str = ""


def find_interpreter(python: Path | None) -> Interpreter:
    """Describe ``python``, by default the interpreter that runs us.

    Raises:
        EnvironmentProblem: it can't be run.
    """
    if python is None or str(python) == sys.executable:
        user_site = site.getusersitepackages() if site.ENABLE_USER_SITE else ""
        return Interpreter(str(Path(sys.executable).absolute()), sys.prefix, sys.base_prefix, user_site)
    try:
        asked = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, check=True, timeout=60)
        prefix, base_prefix, user_site = json.loads(asked.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise EnvironmentProblem(f"{python}: can't be run as a Python interpreter ({error})") from error
    return Interpreter(str(python.absolute()), prefix, base_prefix, user_site)


def check_image(interpreter: Interpreter, image: str) -> None:
    """Make sure that the interpreter has what the image is named for.

    Raises:
        EnvironmentProblem: it has not.
    """
    library = _NEEDED.get(image)
    if library is None:
        return
    if interpreter.executable == str(Path(sys.executable).absolute()):
        found = importlib.util.find_spec(library) is not None
    else:
        asked = subprocess.run([interpreter.executable, "-c", _ASK_FOR, library], capture_output=True, timeout=60)
        found = asked.returncode == 0
    if not found:
        raise EnvironmentProblem(
            f"image {image}: {library} is not installed for {interpreter.executable};"
            f" install it there, name another interpreter, or use the image base"
        )


def base_environment(interpreter: Interpreter, *, workspace: str, home: str, cpus: int = 1) -> dict[str, str]:
    """All the variables that code sees, but for those of the sandbox's own spec and GPU."""
    folder = Path(interpreter.executable).parent
    environment = {
        "PATH": f"{folder}:/usr/local/bin:/usr/bin:/bin",
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "CUDA_VISIBLE_DEVICES": "",
        "MPLBACKEND": "Agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": workspace,
        "PYTHONUNBUFFERED": "1",
    }
    environment.update(dict.fromkeys(_THREADS, str(cpus)))
    environment.update(_ONE_THREAD)
    environment.update({name: os.environ[name] for name in _PASSED_ON if name in os.environ})
    if interpreter.user_site:
        environment["PYTHONUSERBASE"] = site.getuserbase()
    return environment


def root_plan(interpreter: Interpreter, uid: int) -> dict[str, Any]:
    """The sandbox's root as the init builds it: ``binds`` (host paths), ``links`` (path, target), ``files``.

    Raises:
        EnvironmentProblem: the interpreter lies so that showing it would show the user's home too.
    """
    parts = [interpreter.prefix, interpreter.base_prefix, interpreter.executable]
    if interpreter.user_site and Path(interpreter.user_site).is_dir():
        parts.append(interpreter.user_site)
    shown: set[str] = set()
    links: dict[str, str] = {}
    for path in (*_SYSTEM, *parts):
        if os.path.lexists(path):
            real, crossed = _resolve(path)
            shown.add(real)
            links.update(crossed)
    home = os.path.realpath(Path.home())
    for path in shown:
        if path == "/" or (home != "/" and _below(home, (path,))):
            raise EnvironmentProblem(f"{path}: Python is installed right in the home folder, which must stay hidden")
    if Path(_UTC).exists():
        links["/etc/localtime"] = _UTC
    binds = sorted(path for path in shown if not _below(path, shown - {path}))
    kept = sorted((path, target) for path, target in links.items() if not _below(path, binds))
    return {"binds": binds, "links": kept, "files": _accounts(uid)}


def _resolve(path: str) -> tuple[str, dict[str, str]]:
    """The real path and every link crossed on the way to it, each with its target."""
    links: dict[str, str] = {}
    current, rest = "/", [part for part in path.split("/") if part]
    while rest:
        part = rest.pop(0)
        step = os.path.normpath(f"{current}/{part}")
        if not Path(step).is_symlink():
            current = step
            continue
        target = links[step] = str(Path(step).readlink())
        if len(links) > 40:
            raise EnvironmentProblem(f"{path}: too many links")
        current = "/" if target.startswith("/") else current
        rest = [name for name in target.split("/") if name] + rest
    return current, links


def _below(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _accounts(uid: int) -> dict[str, str]:
    return {
        "/etc/passwd": f"root:x:0:0:root:/:/bin/sh\nsandbox:x:{uid}:{uid}:sandbox:/tmp:/bin/sh\n",
        "/etc/group": f"root:x:0:\nsandbox:x:{uid}:\n",
        "/etc/hosts": "127.0.0.1 localhost sandbox\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
