"""Labelled series of the UCR and UEA archives from the wheel ``aeon``, whose files are read without importing it.

The wheel asks for numba, which these data don't need, so installing it without its dependencies is enough. A file in
its format has a head of ``#`` and ``@`` lines, then a line a case: channels parted by colons, values by commas, and the
label last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sandmle.seeds.bundled._define import Bundled, bundled, carried_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SEEDS"]


def _reader(name: str, target: str, labels: dict[str, str], channels: tuple[str, ...]) -> Callable[[], pd.DataFrame]:
    """Both published parts of a data set; ``labels`` renames its own."""

    def rows() -> pd.DataFrame:
        import numpy as np
        import pandas as pd

        cases = [case for part in ("TRAIN", "TEST") for case in _cases(f"{name}/{name}_{part}.ts")]
        numbers = [[np.array(values.split(","), dtype=float) for values in case[:-1]] for case in cases]
        series = [dict(zip(channels, values, strict=True)) for values in numbers]
        return pd.DataFrame({"series": series, target: [labels[label] for *_, label in cases]})

    return rows


def _cases(file: str) -> Iterator[list[str]]:
    for line in carried_file("aeon", "aeon", f"datasets/data/{file}").read_text(encoding="utf-8").splitlines():
        if line and line[0] not in "#@":
            yield line.strip().split(":")


_ARCHIVE = "as aeon (BSD licence) ships them from the UCR and UEA archives (no licence stated)"

SEEDS: tuple[Bundled, ...] = (
    bundled(
        "power-season",
        title="Winter or summer from a day of power demand",
        about="Demand for electrical power in Italy on single days, 24 hourly values each: the data set"
        f" ItalyPowerDemand (E. Keogh and colleagues, 2006), {_ARCHIVE}. Every day was centred and scaled on its own."
        " The seed is a sample of 800 of its 1,096 days.",
        columns="The series have one channel, `demand`, and a step for each hour from midnight on.",
        goal="Predict the probability that a day lies in `summer` (April to September); about half of the days do, the"
        " others in `winter`.",
        problem_type="binary",
        metric="log_loss",
        target="season",
        classes=("winter", "summer"),
        n_rows=800,
        carrier="aeon",
        extra="aeon",
        modality="series",
        sampled=True,
        rows=_reader("ItalyPowerDemand", "season", {"1": "winter", "2": "summer"}, ("demand",)),
    ),
    bundled(
        "vowel-speakers",
        title="Which of nine speakers said two vowels",
        about="Nine men said the Japanese vowels a and e, 640 times in all: the data set Japanese Vowels of the UCI"
        f" repository (M. Kudo, J. Toyama and M. Shimbo, 1999; CC BY 4.0), {_ARCHIVE}. The seed is a sample of 480 of"
        " the 640 utterances.",
        columns="The series have twelve channels `c1` to `c12`, the cepstral coefficients of a linear prediction"
        " analysis, and 7 to 29 steps.",
        goal="Predict the probability of each speaker; their shares lie between 8 and 19 %.",
        problem_type="multiclass",
        metric="multiclass_log_loss",
        target="speaker",
        classes=tuple(f"speaker_{number}" for number in range(1, 10)),
        n_rows=480,
        carrier="aeon",
        extra="aeon",
        modality="series",
        sampled=True,
        rows=_reader(
            "JapaneseVowels",
            "speaker",
            {str(number): f"speaker_{number}" for number in range(1, 10)},
            tuple(f"c{number}" for number in range(1, 13)),
        ),
    ),
    bundled(
        "leaf-outlines",
        title="Species of a leaf from its outline",
        about="Outlines of 442 photographed leaves of six species of maple and oak, unrolled into the distance from"
        f" the middle: the data set OSULeaf (A. Gandhi, 2002), {_ARCHIVE}. Every outline was centred and scaled.",
        columns="The series have one channel, `distance`, and 427 steps around the leaf.",
        goal="Predict the species; the names in the archive are numbers. Shares lie between 9 and 22 %.",
        problem_type="multiclass",
        metric="accuracy",
        target="species",
        classes=tuple(f"species_{number}" for number in range(1, 7)),
        n_rows=442,
        carrier="aeon",
        extra="aeon",
        modality="series",
        rows=_reader("OSULeaf", "species", {str(number): f"species_{number}" for number in range(1, 7)}, ("distance",)),
    ),
)
