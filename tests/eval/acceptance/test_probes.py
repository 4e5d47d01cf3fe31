from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from sandmle.errors import BadInput
from sandmle.eval.acceptance import Acceptance, Verdict, accept, calibrate, judge, probe_names
from sandmle.eval.metrics import get_metric


def _judge(name, evidence):
    return judge(name, evidence, calibrate(evidence, resamples=100))


@pytest.mark.parametrize("name", ["binary", "regression"])
def test_a_good_task_is_accepted_by_every_probe(name, request):
    evidence = request.getfixturevalue(name)
    found = accept(evidence)
    assert found.passed, found.reason
    assert found.flags == ()
    assert [verdict.probe for verdict in found.verdicts] == list(probe_names())
    assert probe_names()[:3] == ("order", "headroom", "trivial")
    assert probe_names()[-1] == "discoverability"
    assert found == accept(evidence)
    assert Acceptance.model_validate_json(found.to_text()) == found
    assert "NaN" not in found.to_text()


def test_an_unknown_probe_is_bad_input(binary):
    with pytest.raises(BadInput, match="choose from order, headroom"):
        _judge("smell", binary)


def test_the_first_failing_probe_gives_the_reason(binary):
    swapped = {**binary.predictions, "informed": binary.predictions["linear"], "linear": binary.predictions["informed"]}
    found = accept(replace(binary, predictions=swapped))
    assert not found.passed
    assert found.reason.startswith("order: informed 0.")
    assert len(found.verdicts) == len(probe_names())
    json.loads(found.to_text())


def _blend(evidence, weight, rung, other):
    pairs = zip(evidence.predictions[rung], evidence.predictions[other], strict=True)
    return tuple(weight * a + (1 - weight) * b for a, b in pairs)


def test_headroom_needs_a_strong_informed_rung(regression):
    weak = _blend(regression, 0.3, "informed", "linear")
    found = _judge("headroom", replace(regression, predictions={**regression.predictions, "informed": weak}))
    assert not found.passed
    assert "informed covers 0." in found.reason
    assert "needed >= 0.7" in found.reason


def test_headroom_refuses_a_generic_rung_that_needs_no_rule(regression):
    strong = _blend(regression, 0.95, "informed", "linear")
    found = _judge("headroom", replace(regression, predictions={**regression.predictions, "trees": strong}))
    assert "generic trees covers 0." in found.reason
    assert "less than 0.08 apart" in found.reason


def test_headroom_needs_something_to_learn(regression):
    found = _judge("headroom", replace(regression, bayes=regression.predictions["dummy"][0] + 1))
    assert not found.passed
    assert "nothing to learn" in found.reason


def test_discoverability_marks_and_never_fails(binary):
    found = _judge("discoverability", replace(binary, search=binary.predictions["linear"]))
    assert found.passed
    assert found.marks == "undiscoverable"
    assert found.numbers["recovered_share"] == pytest.approx(0, abs=1e-12)
    whole = _judge("discoverability", replace(binary, search=binary.predictions["informed"]))
    assert whole.marks is None
    assert whole.numbers["recovered_share"] == pytest.approx(1)


@pytest.mark.parametrize("redraw", range(3))
def test_a_search_of_one_redraw_is_compared_with_the_ladder_of_that_redraw(binary, redraw):
    """The redraws in another order, so that each comes first once: rungs recover exactly 0 and 1 of their own gap."""
    turned = {name: runs[redraw:] + runs[:redraw] for name, runs in binary.predictions.items()}
    for rung, share in (("linear", 0), ("informed", 1)):
        found = _judge("discoverability", replace(binary, predictions=turned, search=turned[rung][:1]))
        assert found.numbers["recovered_share"] == pytest.approx(share, abs=1e-12)


def test_a_search_that_was_not_run_marks_nothing_but_says_so(binary):
    found = _judge("discoverability", replace(binary, search=()))
    assert (found.passed, found.marks, found.numbers) == (True, None, {})
    assert found.reason == "the search was not run"


def test_a_sample_submission_that_knows_the_answer_is_found(binary):
    leaky = binary.sample.assign(**{"yield": np.where(binary.truth == 1, 0.9, 0.2)})
    found = _judge("trivial", replace(binary, sample=leaky))
    assert not found.passed
    assert found.reason.startswith("a trivial submission (sample) scores 1 and reaches bronze")


def test_an_id_that_knows_the_answer_is_found(binary):
    n, m = len(binary.train), len(binary.test)
    labels = np.concatenate([(binary.train["yield"] == "yes").to_numpy(), binary.truth == 1])
    ids = 2 * np.arange(n + m) + labels
    found = _judge(
        "trivial",
        replace(binary, train=binary.train.assign(row_id=ids[:n]), test=binary.test.assign(row_id=ids[n : n + m])),
    )
    assert "(identifier)" in found.reason


def test_sorted_rows_are_found_by_the_row_order_model(regression):
    order = np.argsort(regression.truth)
    found = _judge(
        "trivial",
        replace(
            regression,
            train=regression.train.sort_values("yield").reset_index(drop=True),
            truth=regression.truth[order],
            predictions={k: tuple(run[order] for run in runs) for k, runs in regression.predictions.items()},
            bayes=regression.bayes[order],
            private=regression.private[order],
        ),
    )
    assert "(row_order)" in found.reason


def test_duplicated_rows_pay(binary):
    copies = np.random.default_rng(0).integers(len(binary.train), size=len(binary.test))
    features = [name for name in binary.test if name != "row_id"]
    test = binary.test.copy()
    for name in features:
        test[name] = binary.train[name].to_numpy()[copies]
    truth = (binary.train["yield"] == "yes").to_numpy(float)[copies]
    found = judge("trivial", replace(binary, test=test, truth=truth), calibrate(binary, resamples=2))
    assert found.numbers["nearest_duplicate"] == 1
    assert "(nearest_duplicate)" in found.reason


def test_a_dummy_that_guesses_badly_loses_to_a_constant(binary):
    metric = get_metric("log_loss")
    absurd = tuple(np.full(len(binary.truth), 0.99) for _ in range(3))
    weak = tuple(0.9 * np.ones(len(binary.truth)) + 0.05 * (run - 0.5) for run in binary.predictions["linear"])
    evidence = replace(binary, metric=metric, predictions={**binary.predictions, "dummy": absurd, "linear": weak})
    found = _judge("trivial", evidence)
    assert not found.passed
    assert found.numbers["constant"] < found.numbers["bronze"]


@pytest.mark.parametrize("kind", ["label", "class_probabilities"])
def test_every_kind_of_classification_is_probed(binary, kind):
    label = kind == "label"

    def form(run):
        return (run > 0.5).astype(float) if label else np.column_stack([1 - run, run])

    columns = ("yield",) if label else ("no", "yes")
    evidence = replace(
        binary,
        metric=get_metric("accuracy" if label else "multiclass_log_loss"),
        submission=binary.submission.model_copy(update={"kind": kind, "prediction_columns": columns}),
        sample=binary.sample[["row_id"]].assign(**({"yield": "no"} if label else {"no": 0.5, "yes": 0.5})),
        predictions={k: tuple(map(form, runs)) for k, runs in binary.predictions.items()},
        bayes=form(binary.bayes),
        search=(),
    )
    found = accept(evidence)
    assert found.passed, found.reason
    assert set(found.verdicts[2].numbers) >= {"constant", "random", "sample", "identifier", "nearest_duplicate"}


def test_a_verdict_leaves_out_numbers_that_are_not_finite():
    found = Verdict(probe="x", passed=True, numbers={"a": float("nan"), "b": float("inf"), "c": 1.0})
    assert found.numbers == {"c": 1.0}
