"""Data sets of the book An Introduction to Statistical Learning, from the wheel ``islp``.

The wheel asks for PyTorch, which these data don't need: its files are read without importing it, so installing it
without its dependencies is enough. The book's simulated tables (Carseats, Credit, Default) are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sandmle.seeds.bundled._define import Bundled, bundled, read_carried

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SEEDS"]

_BOOK = "as the package ISLP of G. James, D. Witten, T. Hastie, R. Tibshirani and J. Taylor ships it"


def _reader(file: str, target: str, *left_out: str) -> Callable[[], pd.DataFrame]:
    def rows() -> pd.DataFrame:
        table = read_carried("ISLP", "islp", f"data/{file}.csv").drop(columns=list(left_out))
        return table.dropna(subset=[target]).reset_index(drop=True)

    return rows


def _bike_days() -> pd.DataFrame:
    """The hours of each day as a series of weather, and the day's users."""
    import pandas as pd

    days = read_carried("ISLP", "islp", "data/Bikeshare.csv").groupby("day", sort=True)
    plain = days[["season", "weekday", "holiday", "workingday"]].first().reset_index(drop=True)
    series = [{name: hours[name].to_numpy() for name in ("hr", *WEATHER)} for _, hours in days]
    return plain.assign(series=pd.Series(series), bikers=days["bikers"].sum().to_numpy())


WEATHER = ("temp", "atemp", "hum", "windspeed")

SEEDS: tuple[Bundled, ...] = (
    bundled(
        "auto",
        title="Fuel consumption of cars",
        about="Cars of the model years 1970 to 1982: the Auto MPG data set of the StatLib library"
        f" without the rows of unknown horsepower, {_BOOK}.",
        columns="Cylinders, displacement in cubic inches, horsepower, weight in pounds, seconds from 0 to 60 miles an"
        " hour, model year, origin (1 American, 2 European, 3 Japanese) and the name. There are no missing values.",
        goal="Predict the miles per gallon of 392 cars.",
        problem_type="regression",
        metric="rmse",
        target="mpg",
        n_rows=392,
        carrier="ISLP",
        extra="islp",
        rows=_reader("Auto", "mpg"),
    ),
    bundled(
        "hitters",
        title="Salaries of baseball players",
        about="Major League Baseball players of 1986 and what they earned in 1987, from Sports Illustrated and the"
        f" Baseball Encyclopedia Update, published in the StatLib library, {_BOOK}. Players of unknown salary are left"
        " out.",
        columns="Times at bat, hits, home runs, runs, runs batted in and walks, in 1986 and (with a C) over the career;"
        " years in the league, put-outs, assists, errors, league and division in 1986 and league in 1987. There are no"
        " missing values.",
        goal="Predict the salary of 263 players in thousand dollars; the distribution is skewed.",
        problem_type="regression",
        metric="rmsle",
        target="Salary",
        n_rows=263,
        carrier="ISLP",
        extra="islp",
        rows=_reader("Hitters", "Salary"),
    ),
    bundled(
        "wage",
        title="Wages of men in the Mid-Atlantic region",
        about="Men in the Mid-Atlantic region of the United States, 2003 to 2009, assembled by S. Miller from the"
        f" Current Population Survey, {_BOOK}. The logarithm of the wage is left out.",
        columns="Year, age, marital status, race, education, region (constant), class of job, health and whether the"
        " man has health insurance; categories are numbered text. There are no missing values.",
        goal="Predict the wage of 3,000 men in thousand dollars a year; much of it can't be told from these columns.",
        problem_type="regression",
        metric="mae",
        target="wage",
        n_rows=3000,
        carrier="ISLP",
        extra="islp",
        rows=_reader("Wage", "wage", "logwage"),
    ),
    bundled(
        "orange-juice",
        title="Which orange juice a customer buys",
        about="Purchases of one of two brands of orange juice, Citrus Hill (CH) or Minute Maid (MM), in five stores;"
        f" the data of R. Foster, D. Stine and R. Waterman (1998), {_BOOK}. One customer can occur several times.",
        columns="Week, store (in three codings), price, discount, special offer and sale price of each brand, their"
        " differences, and the customer's loyalty to Citrus Hill. Several columns follow from others. There are no"
        " missing values.",
        goal="Predict the brand of 1,070 purchases; about 61 % are Citrus Hill.",
        problem_type="binary",
        metric="mcc",
        target="Purchase",
        classes=("CH", "MM"),
        n_rows=1070,
        carrier="ISLP",
        extra="islp",
        rows=_reader("OJ", "Purchase"),
    ),
    bundled(
        "college",
        title="Private or public American colleges",
        about="American colleges from the 1995 issue of US News and World Report, published in the StatLib library,"
        f" {_BOOK}. Some values are implausible, such as a graduation rate of 118 %.",
        columns="Applications, acceptances and enrolments, shares of students from the top 10 and 25 % of their class,"
        " numbers of undergraduates, costs, teachers with a doctorate, students per teacher, donating alumni, spending"
        " per student and graduation rate. There are no missing values.",
        goal="Predict whether each of 777 colleges is private (Yes) or public (No); about 73 % are private.",
        problem_type="binary",
        metric="accuracy",
        target="Private",
        classes=("No", "Yes"),
        n_rows=777,
        carrier="ISLP",
        extra="islp",
        rows=_reader("College", "Private"),
    ),
    bundled(
        "bike-share",
        title="Hourly users of a bike sharing system",
        about="Hourly counts of the Capital Bikeshare system in Washington, D.C., with weather: a part of the Bike"
        f" Sharing data set of the UCI repository (H. Fanaee-T and J. Gama, 2013), {_BOOK}. The counts of casual and"
        " registered users, whose sum is the target, are left out. The split here is by row, so neighbouring hours can"
        " be on both sides.",
        columns="Season, month, day of the year, hour, holiday, weekday, working day, weather, and scaled temperature,"
        " felt temperature, humidity and wind speed. There are no missing values.",
        goal="Predict the number of users in each of 8,645 hours.",
        problem_type="regression",
        metric="rmsle",
        target="bikers",
        n_rows=8645,
        carrier="ISLP",
        extra="islp",
        rows=_reader("Bikeshare", "bikers", "casual", "registered"),
    ),
    bundled(
        "bike-days",
        family="bike-share",
        title="Daily users of a bike sharing system from the weather of the day",
        about="The days of 2011 at the Capital Bikeshare system in Washington, D.C., with hourly weather: a part of the"
        " Bike Sharing data set of the UCI repository (H. Fanaee-T and J. Gama, 2013; CC BY 4.0),"
        f" {_BOOK}. The split here is by day, so neighbouring days can be on both sides.",
        columns="Season (1 winter to 4 autumn), weekday (0 Sunday), holiday and working day are in the tables. The"
        " series have a step for each recorded hour, 8 to 24 a day, and the channels `hr` (hour of the day), `temp`,"
        " `atemp` (felt temperature), `hum` (humidity) and `windspeed`, all four scaled.",
        goal="Predict the number of users on each of 365 days, between 400 and 6,100.",
        problem_type="regression",
        metric="mae",
        target="bikers",
        n_rows=365,
        carrier="ISLP",
        extra="islp",
        modality="series",
        rows=_bike_days,
    ),
)
