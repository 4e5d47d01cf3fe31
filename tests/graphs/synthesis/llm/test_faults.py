"""Every fault that a model may make: the check that is meant for it sees it, and the role that can mend it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sandmle.eval.metrics import get_metric
from sandmle.files import hash_tree
from sandmle.graphs.synthesis import SynthesisContext, SynthesisState, builder
from sandmle.task import load_tasks

pytestmark = [pytest.mark.flow, pytest.mark.slow]


class Fault(NamedTuple):
    """What a role says instead of the good reply, and what it is told of it."""

    say: Callable[[str], Any]
    told: str


def changed(old: str, new: str) -> Callable[[str], str]:
    def fault(good: str) -> str:
        assert old in good
        return good.replace(old, new, 1)

    return fault


def in_main(line: str) -> Callable[[str], str]:
    """The generator with a statement before its work."""
    parsed = "    args = parser.parse_args()\n"
    return changed(parsed, f"{parsed}    {line}\n")


def swapped(one: str, other: str) -> Callable[[str], str]:
    """Two entries of the evaluator's thresholds in each other's place."""

    def fault(good: str) -> str:
        return good.replace(f'"{one}":', '"_":').replace(f'"{other}":', f'"{one}":').replace('"_":', f'"{other}":')

    return fault


def levelled(good: str) -> str:
    """All thresholds are that of gold."""
    start = good.index("THRESHOLDS = {")
    gold = good[start:].partition('"gold": ')[2].partition(",")[0]
    line = good[start:].partition("\n")[0]
    return good.replace(line, f'THRESHOLDS = dict.fromkeys(("gold", "silver", "bronze", "median"), {gold})')


BUSY = (429, "slow down", {"Retry-After": "0"})
MADE_BEFORE_THE_REPLY_IS_READ = ""
FAULTS: dict[str, list[Fault]] = {
    "strategist": [
        *[Fault(lambda _: BUSY, MADE_BEFORE_THE_REPLY_IS_READ)] * 3,
        Fault(lambda _: threading.Event(), MADE_BEFORE_THE_REPLY_IS_READ),
        Fault(lambda _: "I am sorry, I can't help with that.", "no JSON object"),
        Fault(lambda good: {"finish_reason": "length", "text": good[:300]}, "was cut"),
        Fault(changed('"hidden"', '"hidden" oops'), "JSON"),
        Fault(changed('"bee-yards"', '"iris-yards"'), "the seed's own"),
    ],
    "developer": [
        Fault(in_main("raise RuntimeError('no luck')"), "no luck"),
        Fault(in_main("while True: pass"), "used up its CPU time"),
        Fault(in_main("raise SystemExit(open('/etc/passwd').read().replace(chr(10), ' '))"), "exit code 1"),
        Fault(in_main("open('/etc/shadow')"), "/etc/shadow"),
        Fault(in_main("__import__('socket').create_connection(('192.0.2.1', 80), 5)"), "Error"),
        Fault(in_main("[open(str(k), 'wb').write(bytes(1 << 28)) for k in range(40)]"), "redraw-0"),
        Fault(changed("make(args.train_seed,", "make(args.train_seed + args.test_seed,"), "only --test-seed changes"),
        Fault(changed("make(args.test_seed,", "make(7,"), "same test rows"),
        Fault(changed("rng.random(len(p)) < p", "rng.random(len(p)) < sigmoid(3 * signal)"), "do not follow the rule"),
    ],
    "engineer": [
        Fault(changed("def main", "print('{\"score\": 1.0}')\nraise SystemExit\n\n\ndef main"), "score is 1.0"),
        Fault(changed("if not math.isfinite(value):\n        raise", "if False:\n        raise"), "not null"),
        Fault(changed("data = file.read(", "path.open('rb').close()\n            data = file.read("), "more than once"),
        Fault(swapped("gold", "median"), "threshold"),
        Fault(levelled, "threshold"),
    ],
    "writer": [
        Fault(changed("## Data\n", "## Data\n\nThe hidden rule is a sum of two terms.\n"), "hidden rule"),
        Fault(changed("## Data\n", "## Data\n\nSee also `hives.csv`.\n"), "hives.csv"),
        Fault(lambda good: good.replace(get_metric("roc_auc").title, "Accuracy"), "is not named"),
        Fault(changed("Higher is better", "Lower is better"), "Lower is better"),
    ],
    "reviewer": [Fault(lambda _: '{"faults": [{"quote": "Bees that leave", "why": "it tells the pair"}]}', "it tells")],
}  # fmt: skip


async def slot(team: Path, out: Path, **settings: Any) -> SynthesisState:
    context = SynthesisContext(out=str(out), team=str(team), n_test=1000, max_draws=1, max_attempts=20, **settings)
    start = SynthesisState(seed="iris", modality="tabular")
    return SynthesisState.model_validate(await builder().compile().ainvoke(start, context=context))


async def test_every_fault_is_seen_told_to_who_can_mend_it_and_leaves_no_trace(
    server, team_file: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr("sandmle.graphs.synthesis.drawing.CPU_SECONDS", 4.0)
    text = team_file.read_text().replace("timeout_s = 5", "timeout_s = 2").replace("repairs = 2", "repairs = 5")
    team_file.write_text(text)
    server.faults = {role: [fault.say for fault in faults] for role, faults in FAULTS.items()}
    ended = await slot(team_file, tmp_path / "bad")
    assert ended.outcome == "published", ended.rejections
    assert not any(server.faults.values())
    hears = {**FAULTS, "writer": [*FAULTS["writer"], *FAULTS["reviewer"]]}
    for role in ("strategist", "developer", "engineer", "writer"):
        told = [heard for who, heard in server.asked if who == role]
        pairs = zip(hears[role], told[1:], strict=True)
        assert [fault.told for fault, heard in pairs if fault.told not in heard] == []
    good = await slot(team_file, tmp_path / "good")
    (bad_task,), (good_task,) = load_tasks(tmp_path / "bad"), load_tasks(tmp_path / "good")
    assert good.task_id == ended.task_id
    assert hash_tree(bad_task.root) == hash_tree(good_task.root)
