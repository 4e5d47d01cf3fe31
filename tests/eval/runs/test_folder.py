"""The run folder: what survives a crash, what is resumed, what is refused."""

import errno
import json
import subprocess
import sys
from io import FileIO

import pytest

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.eval.runs import EvalSettings, RunRecord, Scale, open_run, read_run, summarize_episode
from sandmle.eval.runs import _folder as folder_module
from sandmle.grades import GradeReport
from sandmle.trajectory import Action, Episode, Message, Price, Reward, StepResult, Turn, Usage


def record(**changes) -> RunRecord:
    settings = {"suite": "synthetic:tasks", "models": ("scripted:dummy",), "repeats": 2, **changes}
    return RunRecord(
        settings=EvalSettings(**settings), tasks={"one": "aa", "two": "bb"}, versions={"python": "3"}, isolation="A"
    )


def episode(name="e1", task="one", repeat=0, status="answered") -> Episode:
    step = StepResult(status="timeout", wall_s=3.0, cpu_s=1.0, tier="A")
    said = Message(role="user", content="solve it")
    turns = (
        Turn(index=0, messages=(said,), reply="x", action=None, format_ok=False, model_s=0.5),
        Turn(
            index=1,
            messages=(),
            reply="y",
            action=Action(kind="python", code="pass"),
            format_ok=True,
            step=step,
            usage=Usage(prompt_tokens=7, completion_tokens=3),
        ),
    )
    grade = GradeReport(task_id=task, metric="accuracy", lower_is_better=False, score=0.5)
    return Episode(
        id=name,
        task_id=task,
        task_hash="aa",
        scaffold="react",
        policy="scripted:dummy",
        protocol="clean",
        repeat=repeat,
        status=status,
        turns=turns,
        grade=grade,
        reward=Reward(preset="paper", total=0.4, parts={"format": 0.1, "exec": 0.3}),
        wall_s=9.0,
    )


def test_a_summary_keeps_counts_and_times_and_drops_the_text():
    summary = summarize_episode(episode())
    assert (summary.turns, summary.format_ok, summary.steps, summary.timed_out) == (2, 1, 1, 1)
    assert summary.timing.code_s == 1.0
    assert summary.timing.overhead_s == 2.0
    assert (summary.timing.prompt_tokens, summary.timing.completion_tokens) == (7, 3)
    assert "solve it" not in summary.model_dump_json()


def test_an_episode_is_read_back_with_its_transcript(tmp_path):
    with open_run(tmp_path / "run", record()) as writer:
        writer.add(episode(), b"id,y\n1,2\n")
    run = read_run(tmp_path / "run")
    assert run.episodes == (summarize_episode(episode()),)
    assert Episode.read(tmp_path / "run" / "transcripts" / "e1.json") == episode()
    assert (tmp_path / "run" / "submissions" / "e1.csv").read_bytes() == b"id,y\n1,2\n"


def test_the_transcript_is_on_disk_before_the_line(tmp_path, monkeypatch):
    def crash(stream, line):
        raise KeyboardInterrupt

    monkeypatch.setattr(folder_module, "_append", crash)
    with pytest.raises(KeyboardInterrupt), open_run(tmp_path, record()) as writer:
        writer.add(episode(), None)
    assert (tmp_path / "transcripts" / "e1.json").exists()
    assert read_run(tmp_path).episodes == ()


def test_an_episode_that_is_run_again_leaves_nothing_of_the_first_try(tmp_path, monkeypatch):
    def killed(stream, line):
        raise KeyboardInterrupt

    monkeypatch.setattr(folder_module, "_append", killed)
    with pytest.raises(KeyboardInterrupt), open_run(tmp_path, record()) as writer:
        writer.add(episode("e1"), b"id,y\n1,2\n", '{"nodes": []}')
    files = [tmp_path / "submissions" / "e1.csv", tmp_path / "journals" / "e1.json"]
    assert all(path.exists() for path in files)
    monkeypatch.undo()
    with open_run(tmp_path, record()) as writer:
        writer.add(episode("e1"), None)
    assert not any(path.exists() for path in files)


def test_temporary_files_of_a_killed_process_go_and_folders_of_others_stay(tmp_path):
    with open_run(tmp_path, record()) as writer:
        writer.add(episode("e1"), b"id,y\n1,2\n", '{"nodes": []}')
    names = (".run.json.x1", "transcripts/.e1.json.x1", "submissions/.e1.csv.x1", "journals/.e1.json.x1")
    for name in names:
        (tmp_path / name).write_text("half")
    mine = tmp_path / "submissions" / ".ipynb_checkpoints"
    mine.mkdir()
    with open_run(tmp_path, record()) as writer:
        assert set(writer.done) == {"e1"}
    assert not any((tmp_path / name).exists() for name in names)
    assert mine.is_dir()


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_a_cut_off_last_line_is_ignored_and_repaired_on_resume(tmp_path, cut):
    with open_run(tmp_path, record()) as writer:
        writer.add(episode("e1"), None)
        writer.add(episode("e2", repeat=1), None)
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    assert [found.id for found in read_run(tmp_path).episodes] == ["e1"]
    with open_run(tmp_path, record()) as writer:
        assert set(writer.done) == {"e1"}
        writer.add(episode("e2", repeat=1), None)
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == ["e1", "e2"]


def test_a_last_line_of_zero_bytes_after_a_power_cut_is_repaired(tmp_path):
    with open_run(tmp_path, record()) as writer:
        writer.add(episode("e1"), None)
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(path.read_bytes() + b"\0" * 50)
    with open_run(tmp_path, record()) as writer:
        assert set(writer.done) == {"e1"}


def test_a_broken_line_in_the_middle_is_bad_input_that_names_it(tmp_path):
    with open_run(tmp_path, record()) as writer:
        writer.add(episode("e1"), None)
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(b'{"id": 3}\n' + path.read_bytes())
    with pytest.raises(BadInput, match=r"episodes\.jsonl, line 1"):
        read_run(tmp_path)


def test_infrastructure_errors_are_run_again_and_their_last_line_wins(tmp_path):
    with open_run(tmp_path, record()) as writer:
        writer.add(episode("e1", status="infra_error"), None)
        writer.add(episode("e2", repeat=1, status="model_timeout"), None)
    with open_run(tmp_path, record()) as writer:
        assert set(writer.done) == {"e2"}
        writer.add(episode("e1"), None)
    assert [(found.id, found.status.value) for found in read_run(tmp_path).episodes] == [
        ("e1", "answered"),
        ("e2", "model_timeout"),
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 1}, "seed was 0, now 1"),
        ({"protocol": "paper"}, "protocol was clean, now paper"),
        ({"repeats": 1}, "repeats was 2, now 1"),
        ({"models": ("scripted:best",)}, "models was scripted:dummy, now scripted:best"),
        ({"budget": {"turns": 3}}, "budget was the default, now turns 3"),
    ],
)
def test_other_settings_in_the_same_folder_are_refused(tmp_path, changes, said):
    with open_run(tmp_path, record()):
        pass
    before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(BadInput, match=said), open_run(tmp_path, record(**changes)):
        pass
    assert (tmp_path / "run.json").read_bytes() == before


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ({"one": "aa"}, "two is gone"),
        ({"one": "aa", "two": "cc"}, "two has changed"),
        ({"one": "aa", "two": "bb", "three": "cc"}, "three is new"),
    ],
)
def test_other_tasks_in_the_same_folder_are_refused(tmp_path, tasks, said):
    with open_run(tmp_path, record()):
        pass
    with pytest.raises(BadInput, match=said), open_run(tmp_path, record().model_copy(update={"tasks": tasks})):
        pass


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"endpoint": "http://two/v1"}, "the endpoint was http://one/v1, now http://two/v1"),
        ({"endpoint": None}, "the endpoint was http://one/v1, now the default"),
        ({"versions": {"python": "3", "sandmle": "2"}}, "sandmle was 1, now 2"),
    ],
)
def test_another_endpoint_or_sandmle_is_refused_even_where_repeats_grow(tmp_path, changes, said):
    versions = {"python": "3", "sandmle": "1"}
    first = record().model_copy(update={"endpoint": "http://one/v1", "versions": versions})
    with open_run(tmp_path, first):
        pass
    before = (tmp_path / "run.json").read_bytes()
    more = record(repeats=5).model_copy(update={"endpoint": "http://one/v1", "versions": versions})
    with pytest.raises(BadInput, match=said), open_run(tmp_path, more.model_copy(update=changes)):
        pass
    assert (tmp_path / "run.json").read_bytes() == before
    with open_run(tmp_path, more.model_copy(update={"versions": {"python": "4", "sandmle": "1"}})):
        pass


def test_repeats_may_grow_and_the_suite_may_move(tmp_path):
    with open_run(tmp_path, record()):
        pass
    with open_run(tmp_path, record(repeats=5, suite="synthetic:elsewhere")):
        pass
    assert read_run(tmp_path).record.settings.repeats == 5


def test_a_resumption_takes_over_new_prices_and_scales(tmp_path):
    first = record().model_copy(update={"prices": {"a": Price(input=1), "b": Price(input=2)}})
    again = record(repeats=3).model_copy(
        update={"prices": {"b": Price(input=5)}, "scales": {"one": Scale(dummy=4, bayes=1)}}
    )
    for asked in (first, again):
        with open_run(tmp_path, asked):
            pass
    known = read_run(tmp_path).record
    assert known.prices == {"a": Price(input=1), "b": Price(input=5)}
    assert known.scales["one"].headroom(2.5) == 0.5


def test_the_tokens_of_all_episodes_are_counted_also_after_a_resumption(tmp_path):
    with open_run(tmp_path, record()) as writer:
        writer.add(episode("e1"), None)
        writer.add(episode("e2", repeat=1, status="infra_error"), None)
        assert writer.tokens == 20
    with open_run(tmp_path, record()) as writer:
        assert writer.tokens == 20
        added = writer.add(episode("e2", repeat=1), None, discarded=Usage(prompt_tokens=4, completion_tokens=1))
        assert (added.timing.prompt_tokens, added.timing.completion_tokens) == (11, 4)
        assert writer.tokens == 35
    with open_run(tmp_path, record()) as writer:
        assert writer.tokens == 35


def test_a_run_of_an_older_sandmle_is_read(tmp_path):
    with open_run(tmp_path, record()) as writer:
        writer.add(episode(), None)
    for name, new in (("run.json", ("scales", "prices")), ("episodes.jsonl", ("history",))):
        older = json.loads((tmp_path / name).read_text())
        for field in new:
            del older[field]
        (tmp_path / name).write_text(json.dumps(older) + "\n")
    run = read_run(tmp_path)
    assert (run.record.scales, run.record.prices, run.episodes[0].history) == ({}, {}, ())


def test_the_hash_of_an_episode_ignores_what_does_not_shape_it():
    same = record(repeats=9, suite="synthetic:b", models=("scripted:best",)).settings
    assert record().settings.episode_hash == same.episode_hash
    assert record().settings.episode_hash != record(temperature=0.5).settings.episode_hash


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(BadInput, match=r"thesis\.tex"), open_run(tmp_path, record()):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_below_a_file_is_refused(tmp_path):
    (tmp_path / "notes").write_text("mine")
    for out in (tmp_path / "notes", tmp_path / "notes" / "run"):
        with pytest.raises(BadInput, match=r"not a folder|can't write there"), open_run(out, record()):
            pass


def test_reading_what_is_no_run_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="no such run folder"):
        read_run(tmp_path / "nowhere")
    with pytest.raises(BadInput, match=r"run\.json"):
        read_run(tmp_path)


HOLD = """
import sys
from pathlib import Path
from sandmle.eval.runs import RunRecord, open_run
with open_run(Path(sys.argv[1]), RunRecord.model_validate_json(sys.argv[2])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused_while_the_first_writes_and_not_once_it_was_killed(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path), record().model_dump_json()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout.readline() == "held\n"
            with pytest.raises(BadInput, match="another sandmle is writing"), open_run(tmp_path, record()):
                pass
        finally:
            other.kill()
    with open_run(tmp_path, record()) as writer:
        assert set(writer.done) == set()


class FullDisk(FileIO):
    """A file on a disk with room for ten more bytes."""

    room = 10

    def write(self, data):
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = super().write(data[: self.room])
        self.room -= written
        return written


def test_a_full_disk_is_an_environment_problem_and_leaves_whole_lines(tmp_path, monkeypatch):
    with open_run(tmp_path, record()) as writer:
        writer.add(episode("e1"), None)
    before = (tmp_path / "episodes.jsonl").read_bytes()
    monkeypatch.setattr(folder_module, "FileIO", FullDisk)
    with pytest.raises(EnvironmentProblem, match="disk is full"), open_run(tmp_path, record()) as writer:
        writer.add(episode("e2", repeat=1), None)
    assert (tmp_path / "episodes.jsonl").read_bytes() == before


def test_duplicate_models_are_refused():
    with pytest.raises(ValueError, match="named twice"):
        record(models=("scripted:best", "scripted:best"))
