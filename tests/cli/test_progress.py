"""Progress on a terminal (bars with running means) and elsewhere (lines)."""

import io

from sandmle.cli._progress import eval_progress
from sandmle.eval.runner import EpisodeFinished, RunStarted
from sandmle.eval.runs import EpisodeSummary, Timing
from sandmle.grades import GradeReport
from sandmle.trajectory import Reward


def finished(repeat, reward):
    return EpisodeSummary(
        id=f"e{repeat}",
        task_id="iris",
        task_hash="aa",
        scaffold="react",
        policy="openai:a[b]",
        protocol="clean",
        repeat=repeat,
        privileged=False,
        status="infra_error" if reward is None else "answered",
        reason="endpoint down" if reward is None else "",
        turns=1,
        format_ok=1,
        steps=1,
        timed_out=0,
        tiers=("A",),
        grade=None
        if reward is None
        else GradeReport(task_id="iris", metric="accuracy", lower_is_better=False, score=0.5),
        reward=None if reward is None else Reward(preset="paper", total=reward, parts={}),
        pruned=0,
        leaked=False,
        timing=Timing(),
    )


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self):
        return True


def test_a_terminal_shows_counts_running_means_and_masked_episodes(monkeypatch):
    terminal = Terminal()
    for name, value in {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stderr", terminal)
    with eval_progress() as on_event:
        on_event(RunStarted(3, (finished(0, 0.2),), (("react", "openai:a[b]"),)))
        on_event(EpisodeFinished(finished(1, 0.6)))
        on_event(EpisodeFinished(finished(2, None)))
    shown = terminal.getvalue()
    assert "react openai:a[b] 0.400" in shown
    assert "3/3" in shown
    assert "infra_error: endpoint down" in shown


def test_elsewhere_each_episode_is_a_plain_line(capsys):
    with eval_progress() as on_event:
        on_event(RunStarted(2, (), (("react", "openai:a[b]"),)))
        on_event(EpisodeFinished(finished(0, 0.4)))
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["2 episodes", "[1/2] react openai:a[b] on iris: answered, valid, reward 0.400"]
