"""The log of a phase: strict JSON, cut off where a resumed training goes on."""

import json
from math import isnan, nan

import pytest

pytest.importorskip("torch", reason="needs the extra train")

from sandmle.rl.experiments._curves import draw_curves, rewards_of
from sandmle.rl.trainer._metrics import MetricsLog


def test_what_is_no_number_is_null_and_the_curve_leaves_it_out(tmp_path):
    with MetricsLog(tmp_path, "grpo", "update", keep=0) as log:
        log.add({"update": 1, "reward": nan})
        log.add({"update": 2, "reward": 0.5})
    lines = (tmp_path / "metrics-grpo.jsonl").read_text().splitlines()
    assert [json.loads(line, parse_constant=pytest.fail)["reward"] for line in lines] == [None, 0.5]
    first, second = rewards_of(tmp_path)
    assert isnan(first)
    assert second == 0.5
    draw_curves({"grpo": [first, second]}, tmp_path / "curves.png")


def test_lines_beyond_the_last_step_to_keep_are_cut_off(tmp_path):
    with MetricsLog(tmp_path, "grpo", "update", keep=0) as log:
        for number in (1, 2, 3):
            log.add({"update": number})
    with (tmp_path / "metrics-grpo.jsonl").open("a") as file:
        file.write('{"update": 4')
    with MetricsLog(tmp_path, "grpo", "update", keep=2) as log:
        log.add({"update": 3, "again": 1})
    lines = [json.loads(line) for line in (tmp_path / "metrics-grpo.jsonl").read_text().splitlines()]
    assert lines == [{"update": 1}, {"update": 2}, {"update": 3, "again": 1}]
