from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandmle.agents.procedural.writer import ProceduralWriter
from sandmle.agents.roles import Feedback, TaskPlan, Team
from sandmle.graphs.synthesis import SynthesisContext
from sandmle.graphs.synthesis.check import check_task
from sandmle.graphs.synthesis.novelty import Fingerprint, NoveltyIndex
from sandmle.sandboxes import LocalBackend
from sandmle.task import Thresholds, load_tasks

pytestmark = pytest.mark.flow

ONWARD = [
    "data_strategist", "ml_developer", "threshold_check", "mlops_engineer", "evaluator_check",
    "technical_writer", "brief_check", "final_verification", "novelty_check", "human_review", "publish",
]  # fmt: skip


async def test_a_slot_ends_with_a_whole_task_that_passes_its_check(
    run_slot, team: Team, context: SynthesisContext, backend: LocalBackend
) -> None:
    ended = await run_slot(team)
    assert ended.nodes == ONWARD
    assert ended.state.outcome == "published"
    (task,) = load_tasks(context.out)
    assert task.id == ended.state.task_id
    assert not list(Path(context.out).glob(".sandmle/work/*"))
    report = await check_task(task, backend)
    assert report.findings == ()


@pytest.mark.slow
async def test_scripts_that_crash_go_back_to_the_developer(run_slot, team: Team) -> None:
    told: list[Feedback | None] = []
    real = team.developer

    class CrashesFirst:
        async def develop(self, plan: TaskPlan, workdir: Path, feedback: Feedback | None) -> TaskPlan:
            told.append(feedback)
            plan = await real.develop(plan, workdir, feedback)
            if feedback is None:
                (workdir / "provenance" / "baselines" / "trees.py").write_text("raise RuntimeError('no trees here')\n")
            return plan

    team.developer = CrashesFirst()
    ended = await run_slot(team)
    assert ended.nodes == [*ONWARD[:2], "threshold_check", *ONWARD[1:]]
    assert told[0] is None
    assert told[1] is not None
    assert "no trees here" in told[1].problem


@pytest.mark.slow
async def test_a_ladder_out_of_order_goes_back_with_the_measured_scores_and_is_given_up_after_bounded_attempts(
    run_slot, team: Team, context: SynthesisContext
) -> None:
    told: list[Feedback] = []
    real = team.developer

    class InformedKnowsNothing:
        async def develop(self, plan: TaskPlan, workdir: Path, feedback: Feedback | None) -> TaskPlan:
            if feedback is not None:
                told.append(feedback)
            plan = await real.develop(plan, workdir, feedback)
            baselines = workdir / "provenance" / "baselines"
            (baselines / "informed.py").write_text((baselines / "dummy.py").read_text())
            return plan

    team.developer = InformedKnowsNothing()
    ended = await run_slot(team)
    assert ended.nodes[-3:] == ["threshold_check", "reject", "discard"]
    assert ended.state.outcome == "discarded"
    assert [feedback.attempt for feedback in told] == [1]
    assert told[0].calibration is not None
    assert told[0].calibration.informed == told[0].calibration.dummy
    (rejection,) = ended.state.rejections
    assert rejection.stage == "thresholds"
    assert "informed" in rejection.reason
    assert not list(Path(context.out).glob("*/task.json"))


@pytest.mark.slow
async def test_an_evaluator_that_disagrees_goes_back_to_the_engineer(run_slot, team: Team) -> None:
    told: list[Feedback | None] = []
    real = team.engineer

    class AlwaysOneFirst:
        async def write_evaluator(
            self, plan: TaskPlan, thresholds: Thresholds, workdir: Path, feedback: Feedback | None
        ) -> None:
            told.append(feedback)
            await real.write_evaluator(plan, thresholds, workdir, feedback)
            if feedback is None:
                answer = json.dumps({"score": 1.0})
                (workdir / "provenance" / "evaluator.py").write_text(f"print({answer!r})\n")

    team.engineer = AlwaysOneFirst()
    ended = await run_slot(team)
    assert ended.nodes.count("mlops_engineer") == 2
    assert ended.state.outcome == "published"
    assert told[1] is not None
    assert "score" in told[1].problem


@pytest.mark.slow
async def test_a_brief_that_tells_the_rule_goes_back_to_the_writer(run_slot, team: Team) -> None:
    told: list[Feedback | None] = []
    real = team.writer

    class TellsTheRule:
        async def write_brief(self, plan: TaskPlan, workdir: Path, feedback: Feedback | None) -> None:
            told.append(feedback)
            await real.write_brief(plan, workdir, feedback)
            brief = workdir / "prepared" / "public" / "description.md"
            if feedback is None:
                brief.write_text(brief.read_text() + "\nThe hidden rule is " + "; ".join(plan.rule_terms) + "\n")

    team.writer = TellsTheRule()
    ended = await run_slot(team)
    assert ended.nodes.count("technical_writer") == 2
    assert ended.state.outcome == "published"
    assert told[1] is not None
    assert "hidden rule" in told[1].problem


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("None", "other test rows"),
        ('[seed, 1] if split == "test" else None', "other training rows"),
    ],
)
async def test_a_generator_that_changes_its_mind_is_rejected(run_slot, team: Team, source: str, reason: str) -> None:
    real = team.developer

    class Unseeded:
        async def develop(self, plan: TaskPlan, workdir: Path, feedback: Feedback | None) -> TaskPlan:
            plan = await real.develop(plan, workdir, feedback)
            script = workdir / "provenance" / "generate.py"
            seeded = "np.random.default_rng([seed, 1])"
            assert seeded in script.read_text()
            script.write_text(script.read_text().replace(seeded, f"np.random.default_rng({source})"))
            return plan

    team.developer = Unseeded()
    ended = await run_slot(team)
    assert ended.state.outcome == "discarded"
    assert reason in ended.state.rejections[0].reason


async def test_a_near_duplicate_of_a_lower_slots_task_is_dropped(run_slot, team: Team) -> None:
    known = NoveltyIndex()

    class RemembersItsOwnTask:
        """Stands for a lower slot that published the same task under another id."""

        async def write_brief(self, plan: TaskPlan, workdir: Path, feedback: Feedback | None) -> None:
            await ProceduralWriter().write_brief(plan, workdir, feedback)
            brief = (workdir / "prepared" / "public" / "description.md").read_text()
            known.add(Fingerprint.of(plan.model_copy(update={"task_id": "a-twin-00000000"}), brief))

    team.writer = RemembersItsOwnTask()
    ended = await run_slot(team, novelty=known)
    assert ended.nodes[-3:] == ["novelty_check", "reject", "discard"]
    (rejection,) = ended.state.rejections
    assert rejection.stage == "novelty"
    assert rejection.reached == "leak_free"
    assert "a-twin-00000000" in rejection.reason


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("raise SystemExit(3)", "search ended with exit code 3"),
        ("for k in (1, 4, 16, 64): open(f'submission-{k}.csv', 'w').write('nothing')", "search-"),
    ],
)
async def test_a_search_that_fails_costs_the_candidate_and_neither_retunes_it_nor_stops_the_batch(
    run_slot, team: Team, monkeypatch, script: str, reason: str
) -> None:
    monkeypatch.setattr("sandmle.graphs.synthesis.trial.search_script", lambda: script)
    ended = await run_slot(team)
    assert ended.state.outcome == "discarded"
    assert {rejection.stage for rejection in ended.state.rejections} == {"verification"}
    assert all(reason in rejection.reason for rejection in ended.state.rejections)
