"""Episodes in the layouts of others, through the command line, from a training's transcripts."""

import json
import sys
from collections import Counter

import pytest
from typer.testing import CliRunner

from sandmle.cli import app
from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.files import write_text
from sandmle.grades import GradeError, GradeReport
from sandmle.rl.exports import Selection, conversations, export_episodes, selected_episodes
from sandmle.rl.rllm.records import TRAJECTORY
from sandmle.rl.statistics import TokenStatistics
from sandmle.trajectory import Action, Episode, EpisodeStatus, Message, Reward, StepResult, TokenFields, Turn

OPENING = (Message(role="system", content="rules"), Message(role="user", content="the task"))


def turn(index, asked, reply, status="ok", **fields):
    return Turn(
        index=index,
        messages=asked,
        reply=reply,
        action=Action(kind="python", code=reply),
        format_ok=True,
        step=StepResult(status=status, tier="A"),
        **fields,
    )


def grade(valid):
    outcome = {"score": 0.5} if valid else {"error": GradeError.MISSING}
    return GradeReport(task_id="t", metric="rmse", lower_is_better=True, **outcome)


def episode(name, reward=0.5, *, valid=True, turns=None, status=EpisodeStatus.ANSWERED, task="a:b", **fields):
    observation = (Message(role="user", content="it crashed"),)
    return Episode(
        id=name,
        task_id=task,
        task_hash=f"hash of {task}",
        scaffold="react",
        policy="train:policy",
        protocol="train",
        repeat=0,
        status=status,
        turns=(turn(0, OPENING, "bad é", "error"), turn(1, observation, "good")) if turns is None else turns,
        grade=grade(valid) if reward is not None else None,
        reward=Reward(preset="paper", total=reward, parts={"format": reward}) if reward is not None else None,
        **fields,
    )


PLAYED = (
    episode("e1"),
    episode("e2", 0.1, task="a_b"),
    episode("e3", 0.0, valid=False),
    episode("e4", None, status=EpisodeStatus.INFRA_ERROR),
    episode("e5", leaked=True),
    episode("e6", turns=()),
    episode("e7", turns=(turn(0, OPENING, "one"), turn(1, OPENING, "x" * 4_000, anew=True))),
)


@pytest.fixture
def training(tmp_path):
    folder = tmp_path / "training"
    write_text(folder / "train.json", "{}")
    for each in PLAYED:
        write_text(folder / "transcripts" / f"{each.id}.json", each.to_text())
    return folder


def run(*arguments):
    return CliRunner().invoke(app, ["export", "episodes", *map(str, arguments)])


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_fine_tuning_gets_messages_and_a_mask_of_replies(training, tmp_path):
    done = run(training, tmp_path / "out", "--format", "sft")
    assert done.exit_code == 0, done.output
    assert "4 episodes in" in done.output
    first, *_ = found = lines(tmp_path / "out" / "conversations.jsonl")
    assert [(each["role"], each["content"]) for each in first["messages"]] == [
        ("system", "rules"),
        ("user", "the task"),
        ("assistant", "bad é"),
        ("user", "it crashed"),
        ("assistant", "good"),
    ]
    assert first["loss"] == [0, 0, 1, 0, 1]
    assert (first["episode"], first["task"], first["reward"]) == ("e1", "a:b", 0.5)
    assert [each["episode"] for each in found] == ["e1", "e2", "e3", "e7", "e7"]


def test_replies_whose_code_failed_can_be_masked(training, tmp_path):
    assert run(training, tmp_path / "out", "--mask-failed").exit_code == 0
    assert lines(tmp_path / "out" / "conversations.jsonl")[0]["loss"] == [0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("selection", "kept", "why"),
    [
        ({}, ["e1", "e2", "e3", "e7"], {"masked": 1, "leaked": 1, "empty": 1}),
        ({"valid": True}, ["e1", "e2", "e7"], {"invalid": 1}),
        ({"min_reward": 0.1}, ["e1", "e2", "e7"], {"reward": 1}),
        ({"min_reward": 0.2}, ["e1", "e7"], {"reward": 2}),
        ({"max_tokens": 500}, ["e1", "e2", "e3"], {"too long": 1}),
    ],
)
def test_what_is_left_out_is_counted_by_its_reason(training, selection, kept, why):
    left_out = Counter()
    assert [each.id for each in selected_episodes(training, Selection(**selection), left_out)] == kept
    assert left_out == {"masked": 1, "leaked": 1, "empty": 1} | why


def test_an_episode_that_prompts_anew_is_several_conversations():
    assert [len(row.messages) for row in conversations(PLAYED[-1])] == [3, 3]


def test_rllm_gets_episodes_and_a_dataset_whose_ids_it_can_not_confuse(training, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra train")
    out = tmp_path / "out"
    assert run(training, out, "--format", "rllm").exit_code == 0
    files = sorted((out / "episodes").iterdir())
    records = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    assert [each["id"] for each in records] == ["a%3Ab:e1", "a_b:e2", "a%3Ab:e3", "a%3Ab:e7"]
    (trajectory,) = records[0]["trajectories"]
    assert trajectory["name"] == TRAJECTORY
    assert (trajectory["reward"], records[0]["termination_reason"]) == (0.5, "env_done")
    assert [(step["reward"], step["done"]) for step in trajectory["steps"]] == [(0.25, False), (0.25, True)]
    first, second = (step["chat_completions"] for step in trajectory["steps"])
    assert second[: len(first)] == first
    assert len(second) == 5
    registry = json.loads((out / "datasets" / "registry.json").read_text())
    split = registry["datasets"]["sandmle"]["splits"]["train"]
    table = parquet.read_table(out / "datasets" / split["path"])
    assert table["id"].to_pylist() == ["a%3Ab", "a_b"]
    assert (registry["version"], split["num_examples"], split["fields"]) == (2, 2, table.column_names)


def test_rllm_itself_reads_our_episodes(training, tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra train")
    types = pytest.importorskip("rllm.types", reason="rllm is not installed")
    assert run(training, tmp_path / "out", "--format", "rllm").exit_code == 0
    for path in (tmp_path / "out" / "episodes").iterdir():
        record = json.loads(path.read_text(encoding="utf-8"))
        assert types.Episode.from_dict(record).to_dict() == record


def test_verl_gets_one_prompt_a_task_and_one_conversation_a_row(training, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra train")
    assert run(training, tmp_path / "out", "--format", "verl").exit_code == 0
    prompts = parquet.read_table(tmp_path / "out" / "rl.parquet").to_pylist()
    assert [each["extra_info"]["task_id"] for each in prompts] == ["a:b", "a_b"]
    assert [each["extra_info"]["index"] for each in prompts] == [0, 1]
    assert prompts[0]["prompt"] == [message.model_dump() for message in OPENING]
    assert prompts[0]["reward_model"] == {"style": "rule", "ground_truth": "a:b"}
    told = parquet.read_table(tmp_path / "out" / "sft.parquet").to_pylist()
    assert [each["extra_info"]["episode"] for each in told] == ["e1", "e2", "e3", "e7", "e7"]
    assert told[0]["messages"][-1] == {"role": "assistant", "content": "good"}


@pytest.mark.parametrize(
    ("selection", "layout", "says"),
    [
        ({"min_reward": 0.9}, "sft", "no episode is left to export .*4 reward"),
        ({"learn_failed_steps": False}, "verl", "use --format sft"),
        ({"learn_failed_steps": False}, "rllm", "use --format sft"),
        ({}, "trl", "no layout trl; there are rllm, sft, verl"),
    ],
)
def test_what_can_not_be_exported_is_said_and_leaves_nothing(training, tmp_path, selection, layout, says):
    with pytest.raises(BadInput, match=says):
        export_episodes(training, tmp_path / "out", layout, Selection(**selection))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["training"]


@pytest.mark.parametrize("layout", ["rllm", "verl"])
def test_without_pyarrow_it_is_told_what_to_install(training, tmp_path, monkeypatch, layout):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(EnvironmentProblem, match="pyarrow is not installed"):
        export_episodes(training, tmp_path / "out", layout, Selection())
    assert not (tmp_path / "out").exists()


def test_folders_that_do_not_serve_are_refused(training, tmp_path):
    with pytest.raises(BadInput, match="neither a run"):
        export_episodes(tmp_path, tmp_path / "out", "sft", Selection())
    with pytest.raises(BadInput, match="not empty"):
        export_episodes(training, training, "sft", Selection())
    for path in (training / "transcripts").iterdir():
        path.unlink()
    with pytest.raises(BadInput, match="transcripts = true"):
        export_episodes(training, tmp_path / "out", "sft", Selection())


def told(index, prompt, reply):
    return TokenFields(prompt_ids=prompt, completion_ids=reply, logprobs=[-0.5] * len(reply))


def test_statistics_count_tokens_and_breaks():
    turns = (
        turn(0, OPENING, "a", tokens=told(0, (1, 2), (3, 4))),
        turn(1, OPENING, "b", tokens=told(1, (1, 2, 3, 4, 5), (6,))),
        turn(2, OPENING, "c", tokens=told(2, (1, 9), (6, 7, 8))),
    )
    found = TokenStatistics.of_all([episode("e", turns=turns), PLAYED[0]])
    assert (found.episodes, found.told, found.turns, found.sampled, found.rows, found.breaks) == (2, 1, 5, 6, 2, 1)
    assert (found.longest, found.mean_logprob) == (6, -0.5)


def test_show_tells_the_statistics_of_an_episode_and_of_a_training(training):
    def show(path):
        return CliRunner().invoke(app, ["show", str(path)], env={"COLUMNS": "160"}).output

    (line,) = [line for line in show(training).splitlines() if "react train:policy" in line]
    assert [cell.strip() for cell in line.split("│")[2:-1]] == ["4", "8", "0", "0", "-", "-", "-"]
    assert "breaks" in show(training / "transcripts" / "e1.json")
