"""Moving a process's memory into a file: nothing but the cost of its forks may change."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sandmle.sandboxes import _guest
from sandmle.sandboxes._guest import linux
from sandmle.sandboxes._layout import base_environment, find_interpreter

pytestmark = pytest.mark.skipif(linux.MACHINE != "x86_64", reason="the instructions are those of x86-64")

PROGRAM = """
import gc, json, os, sys, time
sys.path.insert(0, sys.argv[1])
from _guest import heap
import numpy, pandas

kept = {"list": list(range(200_000)), "text": "x" * 3_000_000, "array": numpy.arange(500_000)}
table = pandas.DataFrame({"a": kept["array"] % 7, "b": kept["array"]})
def digest():
    sums = table.groupby("a").b.sum().tolist()
    return [hash(tuple(kept["list"])), hash(kept["text"]), int(kept["array"].sum()), sums]
def regions():
    return len(open("/proc/self/maps").readlines())
def own_kib():
    return int(open("/proc/self/smaps_rollup").read().split("Anonymous:")[1].split()[0])
def changes():
    kept["list"][0], kept["array"][0] = 5, 5
    return digest()

before = digest(), regions(), own_kib()
heap.move_to_file()
after = digest(), regions(), own_kib()
told, tell = os.pipe()
if os.fork() == 0:
    os.write(tell, json.dumps(changes()).encode())
    os._exit(0)
os.wait()
child = json.loads(os.read(told, 65536))
writable = [fd for fd in os.listdir("/proc/self/fd") if "libraries" in os.path.realpath(f"/proc/self/fd/{fd}")]
left = [line for line in open("/proc/self/maps") if line.split()[1] == "rwxs"]
gc.collect()
print(json.dumps({"before": before, "after": after, "child": child, "end": digest(), "open": writable, "left": left}))
"""


@pytest.fixture(scope="module")
def told() -> dict[str, object]:
    folder = Path(_guest.__file__).parents[1]
    command = [sys.executable, "-P", "-c", PROGRAM, str(folder)]
    environment = base_environment(find_interpreter(None), workspace="/tmp", home="/tmp")
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, object] = json.loads(ran.stdout)
    return found


def test_nothing_changes(told):
    assert told["before"][0] == told["after"][0] == told["end"]


def test_children_change_their_own_memory_alone(told):
    assert told["child"] != told["end"]


def test_forks_have_little_to_copy(told):
    assert told["after"][1] < told["before"][1] / 3, "regions"
    assert told["after"][2] < told["before"][2] / 3, "pages of the process's own"


def test_neither_the_file_nor_the_instructions_are_left(told):
    assert told["open"] == []
    assert told["left"] == []


def test_other_machines_do_without(monkeypatch):
    monkeypatch.setattr(linux, "MACHINE", "aarch64")
    from sandmle.sandboxes._guest import heap

    with pytest.raises(OSError, match="no instructions for aarch64"):
        heap.move_to_file()
