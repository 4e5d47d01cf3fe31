from __future__ import annotations

import pytest

from sandmle.eval.acceptance.brief import check_brief
from sandmle.eval.metrics import get_metric
from sandmle.task import SubmissionFormat

BRIEF = """# Which beds flood?

The council logs every bed of the canal. Predict `yield` of each bed from the log of the week before.

## Data

- `train.csv`: 200 beds with their `yield`.
- `test.csv`: 2,000 beds without it.
- `sample_submission.csv`: a submission in the right form.

| column | meaning |
| --- | --- |
| `row_id` | identifies the bed |
| `depth` | depth in cm |
| `flow` | litres per second, measured at dawn (see `depth`) |
| `yield` | did it flood: `no` or `yes` |

## Evaluation

Area under the ROC curve between the predicted probability and what happened; higher is better.

## Submission

Write `submission.csv` with the columns `row_id` and `yield`, the probability of `yes`:

    row_id,yield
    17,0.5
"""
FORMAT = SubmissionFormat(id_column="row_id", prediction_columns=("yield",), kind="probability", classes=("no", "yes"))
TERMS = ("z(depth) * z(flow)", "sine of z(log depth), 2.1 per unit", "|z(flow) - 0.4| < 0.5", "depth")


@pytest.fixture
def public(tmp_path):
    for name, header in {
        "train.csv": "row_id,depth,flow,yield",
        "test.csv": "row_id,depth,flow",
        "sample_submission.csv": "row_id,yield",
    }.items():
        (tmp_path / name).write_text(header + "\n1,2,3,no\n")
    (tmp_path / "description.md").write_text(BRIEF)
    return tmp_path


def _check(text, public, metric="roc_auc", submission=FORMAT, declared_shift=()):
    found = check_brief(
        text,
        public,
        metric=get_metric(metric),
        submission=submission,
        target="yield",
        rule_terms=TERMS,
        declared_shift=declared_shift,
    )
    assert found.probe == "brief"
    assert found.passed == (not found.reason)
    return found.reason


def test_a_good_brief_passes(public):
    assert _check(BRIEF, public) == ""


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("`sample_submission.csv`", "a sample", "the file sample_submission.csv is not named"),
        ("## Evaluation", "See `answers.csv`.\n\n## Evaluation", "names answers.csv, which is not there"),
        ("## Evaluation", "See data/train_extra.csv.\n\n## Evaluation", "names train_extra.csv"),
        ("`flow`", "`stream`", "the column flow is not named"),
        ("Area under the ROC curve", "The score", "the metric 'Area under the ROC curve' is not named"),
        ("higher is better", "do well", "does not say that higher is better"),
        ("higher is better", "higher is better, lower is better", "it says 'lower is better'"),
        ("## Submission", "## Form", "no section is headed 'Submission'"),
        ("columns `row_id` and", "columns id and", ""),
        ("`row_id` and `yield`, the", "`bed` and `flood`, the", ""),
        ("    row_id,yield\n    17,0.5\n", "", ""),
        ("`yes`", "one", "the class yes is not named"),
    ],
)
def test_what_a_host_would_send_back(public, old, new, fault):
    changed = BRIEF.replace(old, new)
    assert changed != BRIEF
    reason = _check(changed, public)
    assert fault in reason if fault else reason == ""


def test_the_submission_section_names_its_columns(public):
    text = BRIEF[: BRIEF.index("Write `submission.csv`")] + "Write one line a bed.\n"
    reason = _check(text, public)
    assert "does not name the column row_id" in reason
    assert "does not name the column yield" in reason


@pytest.mark.parametrize(
    ("leak", "fault"),
    [
        ("It follows a hidden rule.", "'hidden rule' speaks of"),
        ("Try sin(depth).", "'sin(' speaks of"),
        ("The coefficient is 2.", "'coefficient is' speaks of"),
        ("Gold threshold: 0.9.", "'Gold threshold' speaks of"),
        ("What counts is z(depth)*Z( flow ).", "the term 'z(depth) * z(flow)'"),
        ("Beds with |z(flow) - 0.4| < 0.5 flood.", "the term '|z(flow) - 0.4| < 0.5'"),
        ("What counts is `depth` × `flow`.", "'`depth` × `flow`' is a formula"),
        ("The risk is 0.7 * depth.", "'0.7 * depth' is a formula"),
    ],
)
def test_what_gives_the_rule_away(public, leak, fault):
    assert fault in _check(BRIEF.replace("## Evaluation", f"{leak}\n\n## Evaluation"), public)


def test_a_metric_whose_title_holds_a_giveaway_word(public):
    metric = get_metric("mcc")
    assert _check(BRIEF.replace("Area under the ROC curve", metric.title), public, "mcc") == ""


def test_the_direction_of_a_loss(public):
    metric = get_metric("log_loss")
    text = BRIEF.replace("Area under the ROC curve", metric.title)
    assert "but lower is better" in _check(text, public, "log_loss")
    assert _check(text.replace("higher is", "lower scores are"), public, "log_loss") == ""


def test_all_faults_are_listed_at_once(public):
    assert _check("Nothing.", public).count(";") >= 6


def test_a_folder_of_items_is_named_as_a_whole(public):
    for folder in ("train_images", "test_images"):
        (public / folder).mkdir()
        for name in ("a1.png", "b2.png"):
            (public / folder / name).write_bytes(b"")
    reason = _check(BRIEF, public)
    assert "the folder train_images/ is not named" in reason
    assert "a1.png" not in reason
    told = "Photos are in `train_images/` and `test_images/`, such as `train_images/a1.png`."
    text = BRIEF.replace("## Data", f"## Data\n\n{told}")
    assert _check(text, public) == ""
    assert "names the folder masks/" in _check(text.replace("Photos", "Photos and `masks/`"), public)
    assert "names c3.png" in _check(text.replace("images/a1.png", "images/c3.png"), public)


def test_columns_of_further_tables_and_columns_that_look_like_files(public):
    (public / "edges.csv").write_text("from_bed,to_bed\n1,2\n")
    text = BRIEF.replace("## Evaluation", "- `edges.csv`: pairs, `from_bed` and `to_bed`\n\n## Evaluation")
    assert "the column from_bed is not named" in _check(BRIEF, public)
    assert _check(text, public) == ""
    (public / "edges.csv").write_text("photo.png,to_bed\n1,2\n")
    assert _check(text.replace("`from_bed`", "`photo.png`"), public) == ""


def test_a_declared_shift_is_told(public):
    assert "does not say that flow differs" in _check(BRIEF, public, declared_shift=("flow",))
    told = "The test beds were logged in spring, so `flow` differs there."
    assert _check(BRIEF.replace("## Evaluation", f"{told}\n\n## Evaluation"), public, declared_shift=("flow",)) == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "mask", "classes": (), "mask_shape": (8, 8)}, ("start", "length", "none")),
        ({"kind": "label_set"}, ("space", "none")),
        ({"kind": "ranked_labels", "top": 3}, ("space", "3")),
    ],
)
def test_the_form_of_a_cell_is_told(public, changes, words):
    form = SubmissionFormat(**{**FORMAT.model_dump(), **changes})
    reason = _check(BRIEF, public, submission=form)
    assert all(f"does not say {word!r}" in reason for word in words)
    cell = "Cells hold up to 3 things separated by spaces, or start and length, or none; `no` or `yes`."
    assert _check(BRIEF + cell, public, submission=form) == ""


@pytest.mark.parametrize("fine", ["It logs the drag coefficient of each gate.", "Photos are 24 x 24 pixels."])
def test_words_of_the_trade_give_nothing_away(public, fine):
    assert _check(BRIEF.replace("## Evaluation", f"{fine}\n\n## Evaluation"), public) == ""
