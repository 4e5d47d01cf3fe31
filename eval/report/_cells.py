"""The rows of a report before any number is worked out: the episodes of each scaffold and policy of each run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sandmle.errors import BadInput
from sandmle.eval.runs import EpisodeSummary, Run, Scale
from sandmle.trajectory import Price

__all__ = ["Cell", "labels_of", "reward_of", "rows_of", "scales_of", "tiered", "won_medal"]

COMPARABLE = ("protocol", "reward", "temperature", "budget")


@dataclass(frozen=True)
class Cell:
    """The episodes of one scaffold and policy in one run, in a fixed order.

    Attributes:
        tasks: ids of the run's tasks.
        scales: of the tasks whose Bayes score is known, by task hash.
        ranked: hashes of the run's tasks with leaderboards.
        price: of the policy's tokens, None where it is not known.
    """

    run: str
    scaffold: str
    policy: str
    expected: int
    episodes: tuple[EpisodeSummary, ...]
    tasks: frozenset[str] = frozenset()
    scales: Mapping[str, Scale] = field(default_factory=dict)
    ranked: frozenset[str] = frozenset()
    price: Price | None = None

    @property
    def counted(self) -> list[EpisodeSummary]:
        """The unmasked episodes."""
        return [episode for episode in self.episodes if not episode.masked]

    @property
    def in_full_repeats(self) -> list[EpisodeSummary]:
        """The counted episodes of the repeats in which every task has one."""
        played: dict[int, set[str]] = defaultdict(set)
        for episode in self.counted:
            played[episode.repeat].add(episode.task_id)
        return [episode for episode in self.counted if played[episode.repeat] >= self.tasks]

    @property
    def privileged(self) -> bool:
        """Whether the policy was handed the hidden rule."""
        return any(episode.privileged for episode in self.episodes)

    @property
    def rewards(self) -> dict[str, list[float]]:
        """Rewards of the counted episodes by task hash."""
        return self.values(reward_of)

    def values(
        self,
        value: Callable[[EpisodeSummary], float],
        chosen: Callable[[EpisodeSummary], bool] = lambda _: True,
    ) -> dict[str, list[float]]:
        """A value of the chosen counted episodes by task hash, so that equal tasks pair across runs."""
        groups: dict[str, list[float]] = defaultdict(list)
        for episode in self.counted:
            if chosen(episode):
                groups[episode.task_hash].append(value(episode))
        return dict(groups)


def labels_of(runs: Sequence[Run]) -> list[str]:
    """Folder names, made unique by the whole path; nothing for a single run.

    Raises:
        BadInput: the runs may not stand in one table, or one is named twice.
    """
    _refuse_mixture(runs)
    if len(runs) == 1:
        return [""]
    folders = [run.folder.resolve() for run in runs]
    if len(set(folders)) < len(folders):
        raise BadInput("the same run folder is named twice")
    names = Counter(folder.name for folder in folders)
    return [folder.name if names[folder.name] == 1 else str(folder) for folder in folders]


def _refuse_mixture(runs: Sequence[Run]) -> None:
    first = runs[0]
    for run in runs[1:]:
        for name in COMPARABLE:
            ours, theirs = getattr(first.record.settings, name), getattr(run.record.settings, name)
            if ours != theirs:
                raise BadInput(
                    f"{run.folder}: {name} is {theirs} but {first.folder} has {ours}; such results may not stand in"
                    " one table: report them apart"
                )


def scales_of(runs: Sequence[Run]) -> dict[str, Scale]:
    """What any of the runs knows of a task's scale, by task hash, so that all measure it alike."""
    return {run.record.tasks[name]: scale for run in runs for name, scale in run.record.scales.items()}


def rows_of(run: Run, label: str, scales: Mapping[str, Scale]) -> list[Cell]:
    """The rows of a run: scaffolds x policies."""
    record, settings, prices = run.record, run.record.settings, run.record.prices
    tasks, expected = frozenset(record.tasks), len(record.tasks) * settings.repeats
    ranked = frozenset(record.tasks[name] for name in record.ranked)
    groups: dict[tuple[str, str], list[EpisodeSummary]] = defaultdict(list)
    for episode in run.episodes:
        groups[episode.scaffold, episode.policy].append(episode)
    return [
        Cell(label, scaffold, model, expected, tuple(groups[scaffold, model]), tasks, scales, ranked, prices.get(model))
        for scaffold in settings.scaffolds
        for model in settings.models
    ]


def reward_of(episode: EpisodeSummary) -> float:
    """The reward; 0 where there is none."""
    return episode.reward.total if episode.reward else 0.0


def tiered(episode: EpisodeSummary) -> bool:
    """Whether the task has thresholds."""
    return episode.grade is not None and episode.grade.thresholds is not None


def won_medal(episode: EpisodeSummary) -> float:
    """1 with a medal, 0 without."""
    return float(episode.grade is not None and episode.grade.medal is not None)
