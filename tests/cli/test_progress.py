"""Progress on a terminal (bars with running means) and elsewhere (lines)."""

import io

from sandmle.cli._progress import eval_progress
from sandmle.eval.runner import EpisodeFinished, RunStarted, RunStopped
from sandmle.eval.runs import EpisodeSummary, Timing
from sandmle.grades import GradeReport
from sandmle.trajectory import Price, Reward


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
        timing=Timing(prompt_tokens=1_000, completion_tokens=100),
    )


class Hand:
    """A clock that is moved by hand."""

    time = 0.0

    def __call__(self):
        return self.time


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self):
        return True


def test_a_terminal_shows_counts_running_means_and_masked_episodes(monkeypatch):
    terminal = Terminal()
    for name, value in {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stderr", terminal)
    hand = Hand()
    with eval_progress(hand) as on_event:
        on_event(RunStarted(4, (finished(0, 0.2),), (("react", "openai:a[b]"),)))
        hand.time = 40
        on_event(EpisodeFinished(finished(1, 0.6)))
        on_event(EpisodeFinished(finished(2, None)))
        on_event(RunStopped("the run has used 3,300 of 3,000 tokens", 1))
    shown = terminal.getvalue()
    assert "react openai:a[b] 0.400" in shown
    assert "3/4 3,300 tokens" in shown
    assert "3/4 3,300 tokens · about 20 s left" in shown
    assert "infra_error: endpoint down" in shown
    assert "stopped: the run has used 3,300 of 3,000 tokens; 1 episode left" in shown


def test_elsewhere_each_episode_is_a_plain_line(capsys):
    hand = Hand()
    prices = {"openai:a[b]": Price(input=100.0, output=1_000.0)}
    with eval_progress(hand) as on_event:
        on_event(RunStarted(4, (finished(0, 0.2),), (("react", "openai:a[b]"),), prices))
        hand.time = 600
        on_event(EpisodeFinished(finished(1, 0.4)))
        hand.time = 1_200
        on_event(EpisodeFinished(finished(2, None)))
        on_event(EpisodeFinished(finished(3, 0.9)))
        on_event(RunStopped("the run has used its 1200 s", 2))
    assert capsys.readouterr().err.splitlines() == [
        "4 episodes, 1 of them done before",
        "[2/4] react openai:a[b] on iris: answered, valid, reward 0.400 · mean 0.300"
        " · 2,200 tokens, 0.40 by the given prices, about 0.80 for all 4 · about 20 min left",
        "[3/4] react openai:a[b] on iris: infra_error: endpoint down · mean 0.300"
        " · 3,300 tokens, 0.60 by the given prices, about 0.80 for all 4 · about 10 min left",
        "[4/4] react openai:a[b] on iris: answered, valid, reward 0.900 · mean 0.500"
        " · 4,400 tokens, 0.80 by the given prices",
        "stopped: the run has used its 1200 s; 2 episodes left: the same command with a larger limit goes on",
    ]
