"""Survey data from the wheel of ``statsmodels``, whose files are read without importing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandmle.seeds.bundled._define import Bundled, bundled, read_carried

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SEEDS"]


def _affairs() -> pd.DataFrame:
    rows = read_carried("statsmodels", "datasets", "datasets/fair/fair.csv")
    return rows.assign(affair=["yes" if value > 0 else "no" for value in rows["affairs"]]).drop(columns="affairs")


def _party() -> pd.DataFrame:
    return read_carried(
        "statsmodels", "datasets", "datasets/anes96/anes96.csv", separator="\t", quote="'", text=("PID",)
    )


def _spending() -> pd.DataFrame:
    rows = read_carried("statsmodels", "datasets", "datasets/ccard/ccard.csv")
    return rows.drop(columns="INCOMESQ")


SEEDS: tuple[Bundled, ...] = (
    bundled(
        "affairs",
        title="Extramarital affairs in a magazine survey",
        about="Answers of 6,366 married women to a survey by the magazine Redbook in 1974, analysed by R. Fair, A"
        " Theory of Extramarital Affairs (Journal of Political Economy, 1978), as statsmodels ships them. Who answers"
        " such a survey is no random sample, and many rows have equal features.",
        columns="Rating of the marriage (1 to 5), age, years married, number of children, religiousness (1 to 4),"
        " education in years, and the occupation of wife and husband (1 to 6); ages and years are midpoints of"
        " intervals. There are no missing values.",
        goal="Predict the probability that a woman reports any affair; about 32 % do.",
        problem_type="binary",
        metric="roc_auc",
        target="affair",
        classes=("no", "yes"),
        n_rows=6366,
        carrier="statsmodels",
        extra="datasets",
        rows=_affairs,
    ),
    bundled(
        "party",
        title="Party identification of American voters in 1996",
        about="Answers of 944 people to the American National Election Study of 1996, the subset that statsmodels"
        " ships.",
        columns="Population of the place in thousands, days a week with television news, where the respondent puts"
        " themself, Clinton and Dole from left (1) to right (7), age, education (1 to 7), income bracket (1 to 24) and"
        " the expected vote (0 Clinton, 1 Dole). There are no missing values.",
        goal="Predict the party identification, an ordered label from 0 (strong Democrat) over 3 (independent) to 6"
        " (strong Republican).",
        problem_type="multiclass",
        metric="quadratic_kappa",
        target="PID",
        classes=tuple("0123456"),
        n_rows=944,
        carrier="statsmodels",
        extra="datasets",
        rows=_party,
    ),
    bundled(
        "card-spending",
        title="Monthly credit card spending",
        about="Seventy-two credit card holders, an example of W. Greene, Econometric Analysis, from statsmodels.",
        columns="Age, income in 10,000 dollars and whether the holder owns their home (1) or not (0). There are no"
        " missing values. The spread of the spending grows with income.",
        goal="Predict the average monthly spending in dollars.",
        problem_type="regression",
        metric="mae",
        target="AVGEXP",
        n_rows=72,
        carrier="statsmodels",
        extra="datasets",
        rows=_spending,
    ),
)
