"""``sandmle doctor --sandbox``: a line a check, JSON, and exit codes 0, 1 and 3."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from sandmle.cli import app
from sandmle.sandboxes import SandboxBackend, contract
from sandmle.sandboxes.contract import Check, CheckFailure


async def _break(backend: SandboxBackend) -> None:
    raise CheckFailure("expected [red]more[/red]")


BROKEN = Check("running", "broken", "A promise that is broken.", _break, lambda found: "")
RULED_OUT = Check("running", "ruled_out", "A promise that is not made.", _break, lambda found: "not offered here")


@pytest.fixture
def choose(monkeypatch):
    def choose(*checks: Check) -> None:
        monkeypatch.setattr(contract, "CHECKS", checks)

    return choose


def by_id(name: str) -> Check:
    return next(check for check in contract.CHECKS if check.id == name)


def test_lines_and_exit_code_0(choose):
    choose(by_id("running.ok"), by_id("files.round_trip"), RULED_OUT)
    done = CliRunner().invoke(app, ["doctor", "--sandbox", "local"])
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0].startswith("local: tier ")
    assert any(line.startswith("ok   running.ok  A script that ends well") for line in lines)
    assert "skip running.ruled_out  A promise that is not made." in lines
    assert "     not offered here" in lines
    assert lines[-1] == "2 passed, 0 failed, 1 skipped"


def test_a_broken_promise_is_exit_code_1_and_json_tells_all(choose):
    choose(by_id("running.ok"), BROKEN)
    done = CliRunner().invoke(app, ["doctor", "--sandbox", "local", "--json"])
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert told["sandbox"] == "local"
    assert told["capabilities"]["tier"] in ("A", "B", "C", "D")
    assert [(one["check"], one["status"]) for one in told["results"]] == [
        ("running.ok", "passed"),
        ("running.broken", "failed"),
    ]
    assert told["results"][1]["reason"] == "expected [red]more[/red]"
    assert "FAIL running.broken" in done.stderr
    assert "[red]more[/red]" in done.stderr


def test_a_missing_key_is_exit_code_3():
    environment = {name: value for name, value in os.environ.items() if name != "E2B_API_KEY"}
    command = [sys.executable, "-c", "from sandmle.cli import run; run()", "doctor", "--sandbox", "e2b"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("error: E2B")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("options", "warned"), [([], False), (["--verbose"], True)])
def test_replays_do_not_warn_between_the_lines_unless_asked(options: list[str], warned: bool):
    code = """
from sandmle.cli import run
from sandmle.sandboxes import _probe, contract
_probe.candidates = lambda: ()
contract.CHECKS = [check for check in contract.CHECKS if check.id == "forks.unused"]
run()
"""
    command = [sys.executable, "-c", code, *options, "doctor", "--sandbox", "local"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.endswith("1 passed, 0 failed, 0 skipped\n")
    assert ("can't be forked" in done.stderr) == warned
