"""The Palmer penguins, from the wheel ``palmerpenguins``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandmle.seeds.bundled._define import Bundled, bundled, read_carried

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SEEDS"]


def _penguins() -> pd.DataFrame:
    return read_carried("palmerpenguins", "datasets", "data/penguins.csv")


def _sexed_penguins() -> pd.DataFrame:
    return _penguins().dropna(subset=["sex"]).reset_index(drop=True)


def _weighed_penguins() -> pd.DataFrame:
    return _penguins().dropna(subset=["body_mass_g"]).reset_index(drop=True)


_ABOUT = (
    "Penguins of three species, measured in 2007 to 2009 on three islands of the Palmer Archipelago, Antarctica, by"
    " K. Gorman and the Palmer Station Long Term Ecological Research programme; published by A. Horst, A. Hill and"
    " K. Gorman (2020) and shipped in the package palmerpenguins."
)

SEEDS: tuple[Bundled, ...] = (
    bundled(
        "penguins",
        title="Species of Antarctic penguins",
        about=_ABOUT,
        columns="Island, length and depth of the bill and length of the flipper in millimetres, body mass in grams, sex"
        " and year. A few measurements and eleven sexes are missing.",
        goal="Predict the species of 344 birds; about 44 % are Adelie, 36 % Gentoo and 20 % Chinstrap.",
        problem_type="multiclass",
        metric="macro_f1",
        target="species",
        classes=("Adelie", "Chinstrap", "Gentoo"),
        n_rows=344,
        carrier="palmerpenguins",
        extra="datasets",
        rows=_penguins,
    ),
    bundled(
        "penguins-sex",
        family="penguins",
        title="Female or male penguins",
        about=_ABOUT,
        columns="Species, island, length and depth of the bill and length of the flipper in millimetres, body mass in"
        " grams and year. Birds of unknown sex are left out.",
        goal="Predict the probability that each of 333 birds is male; about half are.",
        problem_type="binary",
        metric="log_loss",
        target="sex",
        classes=("female", "male"),
        n_rows=333,
        carrier="palmerpenguins",
        extra="datasets",
        rows=_sexed_penguins,
    ),
    bundled(
        "penguins-mass",
        family="penguins",
        title="Body mass of penguins",
        about=_ABOUT,
        columns="Species, island, length and depth of the bill and length of the flipper in millimetres, sex and year."
        " Nine sexes are missing; birds that were not weighed are left out.",
        goal="Predict the body mass of 342 birds in grams.",
        problem_type="regression",
        metric="mape",
        target="body_mass_g",
        n_rows=342,
        carrier="palmerpenguins",
        extra="datasets",
        rows=_weighed_penguins,
    ),
)
