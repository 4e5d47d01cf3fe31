"""An episode, or all of a run, as a table for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sandmle.rl.exports import Selection, selected_episodes
from sandmle.rl.statistics import TokenStatistics
from sandmle.trajectory import Episode

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["episode_table", "run_table"]


def episode_table(path: Path) -> Table:
    """One transcript: who played what, how it ended, and its tokens.

    Raises:
        BadInput: the file is no transcript.
    """
    from rich.table import Table
    from rich.text import Text

    episode = Episode.read(path)
    table = Table(title=f"episode {episode.id}", show_header=False, title_justify="left")
    rows = {
        "task": episode.task_id,
        "policy": f"{episode.policy}, {episode.scaffold}, repeat {episode.repeat}",
        "status": " ".join(filter(None, (episode.status.value, episode.reason))),
        "reward": f"{episode.reward.total:.4f}" if episode.reward else "none",
        "left out to fit": f"{episode.pruned} messages",
        **_facts(TokenStatistics.of(episode)),
    }
    for name, value in rows.items():
        table.add_row(name, Text(value))
    return table


def run_table(folder: Path) -> Table:
    """The tokens of a run's episodes by scaffold and policy; masked episodes are left out.

    Raises:
        BadInput: the folder is neither a run nor a training with transcripts.
    """
    from rich.table import Table

    found: dict[str, TokenStatistics] = {}
    for episode in selected_episodes(folder, Selection(), Counter()):
        name = f"{episode.scaffold} {episode.policy}"
        found[name] = found.get(name, TokenStatistics()) + TokenStatistics.of(episode)
    columns = list(_facts(TokenStatistics()))
    caption = "tokens sampled, tokens of the longest sequence, rows to train on, prefix breaks, nats a sampled token"
    table = Table("scaffold and policy", "episodes", *columns, title=str(folder), caption=caption)
    for name, statistics in sorted(found.items()):
        table.add_row(name, str(statistics.episodes), *_facts(statistics).values())
    return table


def _facts(found: TokenStatistics) -> Mapping[str, str]:
    """In words; a dash where an endpoint sends text only, so that rows and breaks are not known."""
    mean = found.mean_logprob
    return {
        "turns": str(found.turns),
        "sampled": str(found.sampled),
        "longest": str(found.longest),
        "rows": str(found.rows) if found.told else "-",
        "breaks": str(found.breaks) if found.told else "-",
        "log-prob": "-" if mean is None else f"{mean:.3f}",
    }
