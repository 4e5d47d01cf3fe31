"""MLE-bench in miniature: a checkout and prepared data in its layout, 30 test rows a competition, all made up.

Only the formats are those of the real competitions: names of files and columns, spelling of ids and labels.
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROWS = 30
BOARD = [0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.55, 0.5, 0.4]
Row = dict[str, object]


@dataclass(frozen=True)
class Miniature:
    """One competition.

    Attributes:
        id_column, row_id: the id column, and the id of row i.
        truth: the target columns of a row, from a source of chance.
        guess: the same columns as a submission may hold them.
        sample: what the sample submission holds in each target column.
        answers, sample_file: below ``prepared``.
        lower: lower scores are better.
        beside: further columns of the answers.
        grader: the registry's name of the metric.
    """

    split: str
    id_column: str
    row_id: Callable[[int], str]
    truth: Callable[[random.Random], Row]
    guess: Callable[[random.Random], Row]
    sample: object
    answers: str = "private/test.csv"
    sample_file: str = "public/sample_submission.csv"
    lower: bool = False
    beside: Callable[[int], Row] = lambda row: {}
    grader: str = "auc-roc"


def binary(column: str, id_column: str, row_id=lambda row: f"r{row}", split="low", **more) -> Miniature:
    """A probability of 1, scored by ROC AUC or log loss."""
    return Miniature(
        split,
        id_column,
        row_id,
        lambda chance: {column: chance.randint(0, 1)},
        lambda chance: {column: round(chance.random(), 3)},
        0.5,
        **more,
    )


def several(columns: tuple[str, ...], id_column: str, split="low", negative=0.0, **more) -> Miniature:
    """A probability of each label; a share ``negative`` of the rows is marked -1 throughout."""

    def truth(chance: random.Random) -> Row:
        out = chance.random() < negative
        return {name: -1 if out else chance.randint(0, 1) for name in columns}

    return Miniature(
        split,
        id_column,
        lambda row: f"r{row}",
        truth,
        lambda chance: {name: round(chance.random(), 3) for name in columns},
        0.25,
        grader="mean-column-wise-roc-auc",
        **more,
    )


def one_of(columns: tuple[str, ...], id_column: str, **more) -> Miniature:
    """Class probabilities, scored by log loss."""

    def truth(chance: random.Random) -> Row:
        own = chance.choice(columns)
        return {name: int(name == own) for name in columns}

    def guess(chance: random.Random) -> Row:
        shares = [chance.randint(1, 9) for _ in columns]
        return {name: share / sum(shares) for name, share in zip(columns, shares, strict=True)}

    name = "multi-class-log-loss"
    return Miniature(
        "low", id_column, lambda row: f"r{row}", truth, guess, 1 / len(columns), lower=True, grader=name, **more
    )


def label(column: str, id_column: str, classes: tuple[object, ...], row_id=str, split="low", **more) -> Miniature:
    """A class, scored by accuracy or kappa."""
    more = {"sample": classes[0], "grader": "accuracy"} | more

    def draw(chance: random.Random) -> Row:
        return {column: chance.choice(classes)}

    return Miniature(split, id_column, row_id, draw, draw, **more)


def number(columns: tuple[str, ...], id_column: str, row_id=str, **more) -> Miniature:
    """Positive numbers, scored by their errors."""

    def draw(chance: random.Random) -> Row:
        return {name: round(chance.uniform(0, 3), 2) for name in columns}

    return Miniature("low", id_column, row_id, draw, draw, 1.5, lower=True, grader="some-error", **more)


WORDS = ("one", "two hundred", "Ärger", "o'clock", "3", "a, b", "the", "12.50")
text = Miniature(
    "low",
    "id",
    lambda row: f"{row // 7}_{row % 7}",
    lambda chance: {"after": chance.choice(WORDS)},
    lambda chance: {"after": chance.choice(WORDS)},
    "the",
    answers="private/answers.csv",
    sample_file="private/sample_submission.csv",
    grader="accuracy",
)
CATHETERS = tuple(f"{tube} - {place}" for tube in ("ETT", "NGT") for place in ("Abnormal", "Borderline", "Normal"))
CATHETERS += ("NGT - Incompletely Imaged", "CVC - Abnormal", "CVC - Borderline")
SAMPLE = "public/sampleSubmission.csv"
ANSWERS = "private/answers.csv"

MINIATURES = {
    "aerial-cactus-identification": binary("has_cactus", "id", lambda row: f"{row:032x}.jpg"),
    "aptos2019-blindness-detection": label(
        "diagnosis", "id_code", (0, 1, 2, 3, 4), lambda row: f"{row:012x}", grader="quadratic-weighted-kappa"
    ),
    "denoising-dirty-documents": number(
        ("value",),
        "id",
        lambda row: f"{row // 6}_{row // 2 % 3 + 1}_{row % 2 + 1}",
        answers=ANSWERS,
        sample_file=SAMPLE,
    ),
    "detecting-insults-in-social-commentary": binary(
        "Insult",
        "Comment",
        lambda row: f'"You, sir, are number {row},"\n\\xa0he said',
        sample_file="public/sample_submission_null.csv",
        beside=lambda row: {"Date": "20120618192155Z" if row % 3 else "", "Usage": "PrivateTest"},
    ),
    "dogs-vs-cats-redux-kernels-edition": binary(
        "label", "id", lambda row: str(row + 1), answers=ANSWERS, lower=True, grader="log-loss"
    ),
    "histopathologic-cancer-detection": binary("label", "id", lambda row: f"{row:040x}", answers=ANSWERS),
    "jigsaw-toxic-comment-classification-challenge": several(
        ("toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"), "id", negative=0.3
    ),
    "mlsp-2013-birds": binary("Probability", "Id", lambda row: str(row // 19 * 100 + row % 19), answers=ANSWERS),
    "new-york-city-taxi-fare-prediction": number(
        ("fare_amount",),
        "key",
        lambda row: f"2009-06-15 17:26:{row:02}.0000001",
        beside=lambda row: {"passenger_count": 1},
    ),
    "nomad2018-predict-transparent-conductors": number(
        ("formation_energy_ev_natom", "bandgap_energy_ev"),
        "id",
        lambda row: str(row + 1),
        beside=lambda row: {"alpha": 90.0},
    ),
    "plant-pathology-2020-fgvc7": several(("healthy", "multiple_diseases", "rust", "scab"), "image_id"),
    "random-acts-of-pizza": binary(
        "requester_received_pizza", "request_id", lambda row: f"t3_{row:05}", sample_file=SAMPLE
    ),
    "ranzcr-clip-catheter-line-classification": several(
        CATHETERS, "StudyInstanceUID", beside=lambda row: {"CVC - Normal": row % 2, "PatientID": f"{row:09x}"}
    ),
    "siim-isic-melanoma-classification": binary("target", "image_name", lambda row: f"ISIC_{row:07}"),
    "spooky-author-identification": one_of(("EAP", "HPL", "MWS"), "id"),
    "tabular-playground-series-dec-2021": label(
        "Cover_Type", "Id", (1, 2, 3), sample=2, beside=lambda row: {"Elevation": 2800 + row}
    ),
    "tabular-playground-series-may-2022": binary("target", "id", str, beside=lambda row: {"f_00": -0.5}),
    "text-normalization-challenge-english-language": text,
    "the-icml-2013-whale-challenge-right-whale-redux": binary(
        "probability", "clip", lambda row: f"20090328_000000_{row}s3ms_Test{row}.aif", sample_file=SAMPLE
    ),
    "invasive-species-monitoring": binary(
        "invasive", "name", str, "dev", answers=ANSWERS, sample_file="private/sample_submission.csv"
    ),
    "movie-review-sentiment-analysis-kernels-only": label(
        "Sentiment", "PhraseId", (0, 1, 2, 3, 4), split="dev", answers=ANSWERS, sample_file=SAMPLE, sample=2
    ),
    "paddy-disease-classification": label(
        "label",
        "image_id",
        ("blast", "hispa", "normal"),
        lambda row: f"1{row:05}.jpg",
        "dev",
        sample="",
        beside=lambda row: {"variety": "ADT45", "age": 45},
    ),
    "playground-series-s3e18": several(("EC1", "EC2"), "id", "dev", beside=lambda row: {"EC3": 1}),
    "spaceship-titanic": label(
        "Transported", "PassengerId", (False, True), lambda row: f"{row:04}_01", "dev", beside=lambda row: {"Age": 3.0}
    ),
}


def answers(name: str) -> list[Row]:
    """The hidden rows of a competition, with ids."""
    made, chance = MINIATURES[name], random.Random(f"{name} truth")
    return [{made.id_column: made.row_id(row), **made.truth(chance)} for row in range(ROWS)]


def sample(name: str) -> list[Row]:
    """The sample submission."""
    made = MINIATURES[name]
    return [{key: cell if key == made.id_column else made.sample for key, cell in row.items()} for row in answers(name)]


def as_csv(rows: list[Row]) -> str:
    """Rows as CSV text, as pandas writes them."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def submissions(name: str) -> dict[str, str]:
    """Submissions to a competition as CSV text, sound and broken, by what they are."""
    made, rows = MINIATURES[name], sample(name)
    chance = random.Random(f"{name} guess")
    guesses = [[{**row, **made.guess(chance)} for row in rows] for _ in range(3)]
    first, column = guesses[0], next(key for key in rows[0] if key != made.id_column)

    def spoiled(value: object) -> list[Row]:
        return [{**first[0], column: value}, *first[1:]]

    return {
        "sample": as_csv(rows),
        "truth": as_csv(answers(name)),
        **{f"guess {number}": as_csv(guess) for number, guess in enumerate(guesses)},
        "shuffled": as_csv(chance.sample(first, ROWS)),
        "further column": as_csv([{**row, "note": "x"} for row in first]),
        "missing row": as_csv(first[1:]),
        "extra row": as_csv([*first, {**first[0], made.id_column: "999999"}]),
        "row twice": as_csv([*first[1:], first[1]]),
        "other id": as_csv([{**first[0], made.id_column: "999999"}, *first[1:]]),
        "missing column": as_csv([{made.id_column: row[made.id_column], "x": 1} for row in first]),
        "header only": as_csv(first).partition("\n")[0] + "\n",
        "empty": "",
        "blank cell": as_csv(spoiled("")),
        "word": as_csv(spoiled("seven")),
        "large number": as_csv(spoiled(1.5e3)),
        "negative number": as_csv(spoiled(-0.25)),
    }


def build_checkout(root: Path, names: tuple[str, ...] = tuple(MINIATURES), board: list[float] = BOARD) -> Path:
    """A checkout with the entries ``names``, whose code can't be imported."""
    for name in names:
        made, entry = MINIATURES[name], root / "mlebench" / "competitions" / name
        entry.mkdir(parents=True)
        config = {
            "id": name,
            "name": f"Competition {name}",
            "dataset": {
                "answers": f"{name}/prepared/{made.answers}",
                "sample_submission": f"{name}/prepared/{made.sample_file}",
            },
            "grader": {"name": made.grader, "grade_fn": "os:abort"},
        }
        (entry / "config.yaml").write_text(_yaml(config))
        (entry / "description.md").write_text(f"# {name}\n\nPredict `{made.id_column}`'s target.\n")
        scores = sorted(board, reverse=not made.lower)
        (entry / "leaderboard.csv").write_text("teamId,score\n" + "".join(f"1,{score}\n" for score in scores))
    splits = root / "experiments" / "splits"
    splits.mkdir(parents=True)
    for split in ("low", "medium", "high", "dev"):
        listed = [name for name in names if MINIATURES[name].split == split]
        (splits / f"{split}.txt").write_text("".join(f"{name}\n" for name in listed))
    return root


def build_data(root: Path, names: tuple[str, ...] = tuple(MINIATURES)) -> Path:
    """The data folder that ``mlebench prepare`` would make for the entries ``names``."""
    for name in names:
        made, prepared = MINIATURES[name], root / name / "prepared"
        for folder in ("public/images", "private"):
            (prepared / folder).mkdir(parents=True)
        rows = [{**row, **made.beside(number)} for number, row in enumerate(answers(name))]
        (prepared / made.answers).write_text(as_csv(rows), newline="")
        (prepared / made.sample_file).write_text(as_csv(sample(name)), newline="")
        train = [{**row, made.id_column: f"t{number}", "x": number % 7} for number, row in enumerate(answers(name))]
        test = [{made.id_column: row[made.id_column], "x": number % 5} for number, row in enumerate(rows)]
        (prepared / "public" / "train.csv").write_text(as_csv(train), newline="")
        (prepared / "public" / "test.csv").write_text(as_csv(test), newline="")
        (prepared / "public" / "images" / "1.png").write_bytes(b"\x89PNG")
        (prepared / "public" / "description.md").write_text(f"# {name}\n\nFrom the data.\n")
    return root


def _yaml(value: object) -> str:
    import yaml

    return str(yaml.safe_dump(value))
