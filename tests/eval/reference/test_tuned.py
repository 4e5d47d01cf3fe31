import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandmle.eval.acceptance.search.facts import Facts
from sandmle.eval.acceptance.search.greedy import row_losses
from sandmle.eval.reference.tuned import curves
from sandmle.eval.reference.tuned.machines import Machine, machines_for
from sandmle.eval.reference.tuned.main import Member, blend
from sandmle.eval.reference.tuned.pictures import edge_histograms, picture_views
from sandmle.eval.reference.tuned.views import View, scaled, text_views

RNG = np.random.default_rng(0)


def chances(rng, n, k):
    raw = rng.random((n, k)) + 0.01
    return raw / raw.sum(axis=1, keepdims=True)


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_a_blend_is_no_worse_than_its_best_member(draw, count):
    rng = np.random.default_rng(draw)
    y = np.eye(3)[rng.integers(0, 3, 30)]
    members = [Member(str(i), chances(rng, 30, 3), np.zeros((1, 3))) for i in range(count)]
    weights = blend(members, y, "classes")
    mixed = np.tensordot(weights, [each.inside for each in members], 1)
    assert weights.sum() == pytest.approx(1)
    assert weights.min() >= 0
    best = min(row_losses(each.inside, y, "classes").mean() for each in members)
    assert row_losses(mixed, y, "classes").mean() <= best + 1e-12


def test_a_blend_finds_two_members_whose_errors_cancel():
    y = RNG.normal(size=(50, 1))
    error = RNG.normal(size=(50, 1))
    found = [Member(name, y + shift, y) for name, shift in (("up", error), ("down", -error), ("far", 3 * error))]
    assert blend(found, y, "number") == pytest.approx([0.5, 0.5, 0])


@pytest.mark.parametrize("kind", ["columns", "pixels", "wide"])
@pytest.mark.parametrize("mode", ["classes", "number"])
def test_machines_learn_a_plain_signal(kind, mode):
    x = RNG.normal(size=(160, 4))
    level = x[:, 0] + 0.5 * x[:, 1]
    y = np.eye(3)[np.digitize(level, (-0.5, 0.5))] if mode == "classes" else level[:, None]
    for name, machine in machines_for(kind, mode, 4, 0):
        found = machine.predictions(machine.scores(x[:110], y[:110], x[110:]), 1.0)
        assert found.shape == (50, y.shape[1]), name
        if mode == "classes":
            assert found.sum(axis=1) == pytest.approx(1)
            assert (found.argmax(axis=1) == y[110:].argmax(axis=1)).mean() > 0.6, name
        else:
            assert np.corrcoef(found[:, 0], y[110:, 0])[0, 1] > 0.8, name


def test_a_class_that_training_lacks_gets_the_least_chance():
    y = np.eye(3)[[0, 1] * 20]
    x = y[:, :2] + 0.1 * RNG.normal(size=(40, 2))
    for _, machine in machines_for("columns", "classes", 2, 0):
        assert isinstance(machine, Machine)
        assert (machine.predictions(machine.scores(x, y, x), 1.0).argmin(axis=1) == 2).all()


def test_scales_are_those_of_the_training_rows():
    matrix = np.column_stack([np.r_[0.0, 2.0, 100.0], np.ones(3)])
    assert scaled(View("any", "columns", matrix), 2).matrix.tolist() == [[-1, 0], [1, 0], [8, 0]]


def test_words_of_test_texts_alone_are_not_known():
    (_, words, first), (_, _, pieces) = [
        (view.name, view.kind, view.matrix) for view in text_views(["red fox runs", "red fox sits", "blue fox"] * 3, 6)
    ]
    assert words == "terms"
    assert first.shape[0] == pieces.shape[0] == 9
    assert first.shape[1] < pieces.shape[1]


def test_edges_do_not_depend_on_the_light():
    grey = RNG.random((3, 12, 12)).round(2)
    assert edge_histograms(grey + 0.3) == pytest.approx(edge_histograms(grey))


def test_edges_tell_directions_apart():
    upright = np.zeros((1, 12, 12))
    upright[:, :, 6:] = 1
    flat = upright.transpose(0, 2, 1)
    assert np.abs(edge_histograms(upright) - edge_histograms(flat)).max() > 0.5


def test_large_pictures_are_made_small():
    views = {name: matrix for name, _, matrix in picture_views(RNG.random((2, 64, 48, 3)))}
    assert views["pixels"].shape == (2, 32 * 24)


def test_series_of_any_length_are_stretched():
    values = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 3.0]])
    found = curves.stretched(values, np.linspace(0, 1, 5))
    assert found.tolist() == [[0, 0.5, 1, 1.5, 2], [1, 1.5, 2, 2.5, 3], [3] * 5]


def test_convolutions_are_those_of_numpy():
    series = RNG.normal(size=(4, 3, 40))
    found = curves.convolved(series, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    length, dilation = int(rng.choice((7, 9, 11))), None
    dilation = int(2 ** rng.uniform(0, np.log2(39 / (length - 1))))
    weights = rng.normal(size=length)
    weights -= weights.mean()
    channel, bias = int(rng.integers(2)), float(rng.uniform(-1, 1))
    kernel = np.zeros((length - 1) * dilation + 1)
    kernel[::dilation] = weights
    for row, one in zip(found, series[:, channel], strict=True):
        expected = np.convolve(one, kernel[::-1], "same") + bias
        assert row[:2] == pytest.approx([expected.max(), (expected > 0).mean()])


def test_curves_are_read_in_the_order_of_the_ids(tmp_path, monkeypatch):
    (tmp_path / "input").mkdir()
    for part, ids in (("train", (4, 9)), ("test", (1,))):
        rows = [{"id": key, "step": step, "a": 10 * key + step} for key in ids for step in range(3)]
        pd.DataFrame(rows).to_csv(tmp_path / "input" / f"{part}_series.csv", index=False)
    monkeypatch.chdir(tmp_path)
    facts = Facts.read('{"id_column": "id", "target": "y", "kind": "number"}')
    found = curves.read_curves(facts, pd.Series(["9", "4", "1"]))
    assert found[:, 0, 0].tolist() == [90, 40, 10]
    assert found[:, 0, -1].tolist() == [92, 42, 12]
