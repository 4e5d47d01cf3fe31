"""The tutorial's blocks run in order, as a reader would type them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.flow
TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.md"


def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 8
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(TUTORIAL), "exec"), names)
    said = capsys.readouterr().out
    assert "tasks holds a batch made with batch_seed = 11, not 12" in said
    assert said.count("True\n") == 2
    assert said.splitlines()[-1] == "procedural"
