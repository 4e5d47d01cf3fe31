"""Control groups: where this machine lets us, each sandbox's processes share one limit of memory and of processes.

A group is only ever made below one that is ours to divide: the group that a hierarchy begins with as we see it (that of
a container, or of a machine without a manager of groups), or one that its manager has marked as delegated. Version 2
has one more rule: a group with processes in it can't be divided, but for the machine's root. So there it is our parent
that must be delegated (systemd: ``Delegate=yes`` with ``DelegateSubgroup=``). Nothing that we did not make is moved or
removed.

A group's name holds our process id, so that those of a process that was killed are recognized and removed later.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sandmle.errors import InfraError
from sandmle.sandboxes._protocol import SandboxLimits

__all__ = ["Group", "Groups"]

_NAME = "sandmle"
_CONTROLLERS = {"memory": "memory", "pids": "processes"}
_EVENTS = {1: "memory.oom_control", 2: "memory.events"}
_numbers = itertools.count()


@dataclass(frozen=True)
class _Place:
    """A folder below which groups may be made, and what they control."""

    folder: Path
    version: int
    controllers: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """What is controlled, in words."""
        return [_CONTROLLERS[controller] for controller in self.controllers]


@dataclass(frozen=True)
class Group:
    """The group of one sandbox.

    Attributes:
        join: descriptors to which a process writes ``0`` to join.
        events: descriptor of the count of processes killed for want of memory; None if memory is not controlled.
    """

    join: tuple[int, ...] = ()
    events: int | None = None
    _folders: tuple[Path, ...] = ()

    @property
    def descriptors(self) -> list[int]:
        """Those of ``join``, then ``events``."""
        return [*self.join, *(() if self.events is None else (self.events,))]

    def close(self) -> None:
        """Remove the group, whose processes must be gone; one that can't be removed is left to a later start."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        for folder in self._folders:
            with contextlib.suppress(OSError):
                folder.rmdir()


@dataclass(frozen=True)
class Groups:
    """The places for groups on this machine.

    Attributes:
        detail: in words what is bounded, and why the rest is not.
    """

    detail: str
    _places: tuple[_Place, ...] = field(default=())

    @classmethod
    def find(cls, process: Path = Path("/proc/self")) -> Groups:
        """Look for places, prove each by making a group there, and remove the groups of processes that are gone.

        Args:
            process: where the kernel tells of the groups that we are in.
        """
        if sys.platform != "linux":
            return cls("memory bounded per process")
        places = []
        faults = []
        for place in _own_places(process):
            _sweep(place.folder)
            fault = _fault(place)
            if not fault:
                places.append(place)
            elif "memory" in place.controllers:
                faults.append(fault)
        bounded = [word for place in places for word in place.words]
        words = [f"{' and '.join(bounded)} bounded by control groups"] if bounded else []
        if "memory" not in bounded:
            words.append(
                "memory bounded per process, not together: " + (", ".join(faults) or "no control group is ours")
            )
        return cls("; ".join(words), tuple(places))

    def make(self, limits: SandboxLimits, *, processes: bool) -> Group:
        """Make a sandbox's group; an empty one where there is no place.

        Every step joins it, which takes the kernel some milliseconds for each place.

        Args:
            limits: what is bounded.
            processes: bound their number too, for a sandbox that has no namespaces to do so.

        Raises:
            InfraError: it could not be made.
        """
        try:
            wanted = [place for place in self._places if processes or "memory" in place.controllers]
            return _make(tuple(wanted), limits)
        except OSError as error:
            raise InfraError(f"{error.filename}: the control group could not be made ({error.strerror})") from error


def _make(places: tuple[_Place, ...], limits: SandboxLimits) -> Group:
    name = f"{_prefix()}{os.getpid()}-{next(_numbers)}"
    join: list[int] = []
    folders: list[Path] = []
    events = None
    try:
        for place in places:
            folder = place.folder / name
            folder.mkdir()
            folders.append(folder)
            _limit(folder, place, limits)
            join.append(os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
            if "memory" in place.controllers:
                events = os.open(folder / _EVENTS[place.version], os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        Group(tuple(join), events, tuple(folders)).close()
        raise
    return Group(tuple(join), events, tuple(folders))


def _limit(folder: Path, place: _Place, limits: SandboxLimits) -> None:
    memory = str(limits.memory_mib << 20)
    if "memory" in place.controllers:
        if place.version == 1:
            (folder / "memory.limit_in_bytes").write_text(memory)
            swap, most = folder / "memory.memsw.limit_in_bytes", memory
        else:
            (folder / "memory.max").write_text(memory)
            swap, most = folder / "memory.swap.max", "0"
        if swap.exists():
            swap.write_text(most)
    if "pids" in place.controllers:
        (folder / "pids.max").write_text(str(limits.processes))


def _fault(place: _Place) -> str:
    """Why no group can be made at a place; empty if one can."""
    try:
        _make((place,), SandboxLimits()).close()
    except OSError as error:
        return f"{' and '.join(place.words)}: {error.strerror}"
    return ""


def _sweep(folder: Path) -> None:
    """Remove what processes of ours that are gone have left."""
    for left in folder.glob(f"{_prefix()}*"):
        pid = left.name.removeprefix(_prefix()).partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            with contextlib.suppress(OSError):
                left.rmdir()


def _prefix() -> str:
    """How the names of our groups begin: process ids mean something in their own namespace alone."""
    return f"{_NAME}-{Path('/proc/self/ns/pid').stat().st_ino}-"


def _own_places(process: Path) -> Iterator[_Place]:
    """The places that are ours to divide."""
    own = [line.split(":", 2) for line in (process / "cgroup").read_text().splitlines()]
    mounts = list(_mounts(process))
    for _, names, path in own:
        for root, point, kind, options in mounts:
            inside = Path(path).is_relative_to(root)
            if not inside or kind != ("cgroup" if names else "cgroup2") or not set(names.split(",")) <= {*options, ""}:
                continue
            folder = point / Path(path).relative_to(root)
            if names:
                found = tuple(name for name in _CONTROLLERS if name in names.split(","))
                if found and (folder == point or _delegated(folder)):
                    yield _Place(folder, 1, found)
            else:
                yield from _places_of_version_2(folder)
            break


def _places_of_version_2(own: Path) -> Iterator[_Place]:
    folder = own
    if (own / "cgroup.type").exists():  # all but the machine's root have it
        folder = own.parent
        if not _delegated(folder):
            return
        with contextlib.suppress(OSError):
            (folder / "cgroup.subtree_control").write_text("+memory +pids")
    with contextlib.suppress(OSError):
        enabled = (folder / "cgroup.subtree_control").read_text().split()
        found = tuple(name for name in _CONTROLLERS if name in enabled)
        if found:
            yield _Place(folder, 2, found)


def _delegated(folder: Path) -> bool:
    """Whether systemd has handed this group over to its processes."""
    for name in ("trusted.delegate", "user.delegate"):
        with contextlib.suppress(OSError):
            if os.getxattr(folder, name) == b"1":
                return True
    return False


def _mounts(process: Path) -> Iterator[tuple[str, Path, str, set[str]]]:
    """Root, mount point, kind and options of every hierarchy that is mounted."""
    for line in (process / "mountinfo").read_text().splitlines():
        mount, _, source = line.partition(" - ")
        kind, _, options = source.split()[:3]
        if kind in ("cgroup", "cgroup2"):
            root, point = (text.encode().decode("unicode_escape") for text in mount.split()[3:5])
            yield root, Path(point), kind, set(options.split(","))
