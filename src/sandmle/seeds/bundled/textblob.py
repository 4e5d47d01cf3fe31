"""A lexicon of opinion words from the wheel ``textblob``, which is not imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandmle.seeds.bundled._define import Bundled, bundled, carried_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SEEDS"]


def _polarity() -> pd.DataFrame:
    from xml.etree import ElementTree

    import pandas as pd

    path = carried_file("textblob", "datasets", "en/en-sentiment.xml")
    words = [entry.attrib for entry in ElementTree.parse(path).getroot() if entry.get("sense")]
    return pd.DataFrame(
        {
            "entry": [f"{word['form']}: {word['sense']}" for word in words],
            "polarity": [float(word["polarity"]) for word in words],
        }
    )


SEEDS: tuple[Bundled, ...] = (
    bundled(
        "word-polarity",
        title="How favourable the sense of a word is",
        about="Entries of an English lexicon of adjectives and other opinion words, tagged by T. De Smedt and W."
        " Daelemans for the library Pattern (2012; public domain dedication) with definitions from WordNet 3 (WordNet"
        " licence), as textblob (MIT licence) ships it. The seed is a sample of 800 of its about 2,800 defined"
        " entries. Some were tagged by hand and some inferred, and one word can occur in several senses, on both sides"
        " of the split.",
        columns="The column `entry` holds a word, a colon and the definition of one of its senses.",
        goal="Predict the polarity of the sense, from -1 (most unfavourable) over 0 (neutral, about a third of the"
        " entries) to 1 (most favourable).",
        problem_type="regression",
        metric="pearson",
        target="polarity",
        n_rows=800,
        carrier="textblob",
        extra="datasets",
        modality="text",
        sampled=True,
        rows=_polarity,
    ),
)
