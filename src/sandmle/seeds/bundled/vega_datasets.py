"""The weather of Seattle from the wheel ``vega_datasets``, whose file is read without importing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandmle.seeds.bundled._define import Bundled, bundled, read_carried

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SEEDS"]

CHANNELS = ("precipitation", "temp_max", "temp_min", "wind")
DAYS = 7
STRIDE = 2
KINDS = ("drizzle", "fog", "rain", "snow", "sun")


def _weather() -> pd.DataFrame:
    """The week up to every second day, and what was noted on that day."""
    import pandas as pd

    daily = read_carried("vega_datasets", "datasets", "_data/seattle-weather.csv")
    lasts = range(DAYS - 1, len(daily), STRIDE)
    weeks = [{name: daily[name].to_numpy()[last - DAYS + 1 : last + 1] for name in CHANNELS} for last in lasts]
    return pd.DataFrame({"series": weeks, "weather": [daily["weather"][last] for last in lasts]})


SEEDS: tuple[Bundled, ...] = (
    bundled(
        "weather-notes",
        title="The weather that was noted in Seattle",
        about="Daily weather in Seattle from 2012 to 2015, from NOAA (public domain), as vega_datasets (MIT licence)"
        " ships it. A row is the week up to one day. The seed is a sample of 500 of every second day, so weeks overlap,"
        " also across the split; which weeks are neighbours is not told.",
        columns="The series have the channels `precipitation` in millimetres, `temp_max` and `temp_min` in degrees"
        " Celsius and `wind` in metres per second; the last step is the day in question. There are no missing values.",
        goal="Predict what was noted as the weather of that last day. Sun and fog make up three quarters of the days,"
        " snow under 2 %.",
        problem_type="multiclass",
        metric="mcc",
        target="weather",
        classes=KINDS,
        n_rows=500,
        carrier="vega_datasets",
        extra="datasets",
        modality="series",
        sampled=True,
        rows=_weather,
    ),
)
