from __future__ import annotations

import pytest

from sandmle.agents.llm._reading import Unusable, read_files, read_json
from sandmle.record import Record


class Point(Record):
    x: int
    y: int = 0


@pytest.mark.parametrize(
    "text",
    [
        '{"x": 1}',
        'Sure!\n```json\n{"x": 1}\n```\nDone.',
        '```\n{"x": 9}\n```\nor better\n````json\n{"x": 1, "y": 0}\n````',
    ],
)
def test_the_last_block_or_the_whole_reply_is_the_object(text: str) -> None:
    assert read_json(text, Point) == Point(x=1)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("I can't help with that.", "no JSON object"),
        ('```json\n{"x": 1,\n```', "no JSON object"),
        ('{"x": NaN}', "NaN is not JSON"),
        ('{"x": "a"}', "- x: Input should be a valid integer"),
        ('{"x": 1, "z": 2}', "- z: Extra inputs"),
        ("{" * 5000 + "}" * 5000, "no JSON object"),
    ],
)
def test_what_is_wrong_with_an_object_is_said(text: str, problem: str) -> None:
    with pytest.raises(Unusable) as fault:
        read_json(text, Point)
    assert problem in str(fault.value)


TWO = "### a.py\n\n```python\nx = 1\n```\n\nand\n\n## `b/c.py`\n````\ny = '''\n```\n'''\n````\n"


def test_files_are_found_by_their_headings() -> None:
    assert read_files(TWO, ("a.py", "b/c.py")) == {"a.py": "x = 1\n", "b/c.py": "y = '''\n```\n'''\n"}
    assert list(read_files(TWO.partition("and")[0], ("a.py", "b/c.py"), all_of_them=False)) == ["a.py"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("```python\nx = 1\n```", "no file a.py"),
        ("### a.py\n```python\nx = 1\n", "no file a.py"),
        ("### a.py\n```python\nx = (\n```\n", "a.py is no Python"),
        ("### ../../etc/passwd\n```\nroot\n```\n", "../../etc/passwd was not asked for"),
        ("### a.py\n```python\n" + "# long\n" * 40_000 + "```\n", "at most 200000"),
    ],
)
def test_files_that_can_not_be_used_are_refused(text: str, problem: str) -> None:
    with pytest.raises(Unusable) as fault:
        read_files(text, ("a.py",))
    assert problem in str(fault.value)
