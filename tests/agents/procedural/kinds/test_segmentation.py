"""Masks: the fields of pixels are what they claim, run lengths are those of the grader, and the rungs are in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds import get_kind
from sandmle.eval.grading import encode_mask
from sandmle.files import hash_tree

Make = Any


@pytest.fixture(scope="module")
def made(make: Make) -> Any:
    return make("segmentation", n_train=60, n_test=120)


@pytest.fixture(scope="module")
def generator(made: Any) -> dict[str, Any]:
    return dict(made.generator())


@pytest.mark.parametrize("sigma", [0.6, 1.2, 2.5])
def test_smoothing_is_a_gaussian_filter(generator: dict[str, Any], sigma: float) -> None:
    pictures = np.random.default_rng(0).random((4, generator["HEIGHT"], generator["WIDTH"]))
    expected = ndimage.gaussian_filter(pictures, (0, sigma, sigma), mode="reflect", truncate=10)
    assert generator["smooth"](pictures, sigma) == pytest.approx(expected, abs=1e-9)


def test_distance_is_that_to_the_nearest_marked_pixel(generator: dict[str, Any]) -> None:
    marked = np.random.default_rng(1).random((8, generator["HEIGHT"], generator["WIDTH"])) < 0.01
    marked[:, 3, 5] = True
    expected = np.stack([ndimage.distance_transform_edt(~picture) for picture in marked])
    assert generator["distance"](marked) == pytest.approx(expected)


def test_lean_and_coarseness_tell_weaves_apart(generator: dict[str, Any]) -> None:
    y, x = np.mgrid[: generator["HEIGHT"], : generator["WIDTH"]]

    def weave(side: int, period: float) -> np.ndarray:
        wave = 0.5 + 0.05 * np.sin(2 * np.pi * (x + side * y) / (np.sqrt(2) * period))
        return np.rint(wave * 255).astype(np.uint8)

    channels = 3 if "warmth" in generator["fields"](np.zeros((1, y.shape[0], y.shape[1], 3), np.uint8)) else 1
    pictures = np.stack([weave(1, 3.0), weave(-1, 3.0), weave(1, 6.0)])[..., None].repeat(channels, axis=3)
    found = generator["fields"](pictures).groupby(np.repeat(np.arange(3), y.size)).mean()
    assert found["lean"][0] > 1 > -1 > found["lean"][1]
    assert found["coarseness"][2] > found["coarseness"][0] + 1
    assert found["tone"].std() < 0.05


def test_fields_are_about_standardised(generator: dict[str, Any]) -> None:
    found = generator["fields"](generator["draw_pictures"](np.random.default_rng(2), 60))
    assert found.mean().abs().max() < 0.6
    assert found.std().between(0.5, 1.6).all(), found.std()


def test_masks_are_written_as_the_grader_reads_them(generator: dict[str, Any], made: Any) -> None:
    shape = (5, generator["HEIGHT"], generator["WIDTH"])
    masks = np.random.default_rng(3).random(shape) < np.array([0.0, 0.2, 0.5, 0.9, 1.0])[:, None, None]
    cells = generator["encode"](masks)
    assert cells == [encode_mask(mask.astype(float)) for mask in masks]
    rung = made.run("dummy")
    assert [rung["encode"](mask) for mask in masks] == cells
    assert (np.stack([rung["decode"](cell) for cell in cells]) == masks.reshape(5, -1)).all()


def test_masks_have_regions_and_the_share_of_the_rule(made: Any) -> None:
    masks = made.run("dummy")["masks"].reshape(60, *made.plan.submission.mask_shape)
    share = Blueprint.of(made.plan).rule.shares[0]
    assert abs(masks.mean() - share) < 0.08
    alike = (masks[:, :, 1:] == masks[:, :, :-1]).mean()
    assert alike > share**2 + (1 - share) ** 2 + 0.15


def test_pictures_are_what_the_brief_says(made: Any) -> None:
    blueprint = Blueprint.of(made.plan)
    height, width = made.plan.submission.mask_shape
    brief = get_kind("segmentation").brief(blueprint)
    assert all((made.public / file.name).is_dir() for file in brief.files)
    assert [column.name for column in brief.columns] == list(made.table("test.csv").columns[1:])
    for path in made.table("test.csv")[blueprint.content["column"]][:20]:
        with Image.open(made.public / path) as image:
            assert (image.mode, image.size) == ("RGB" if blueprint.content["colour"] else "L", (width, height))
    text = " ".join((*brief.paragraphs, *(column.description for column in brief.columns)))
    assert f"{width} pixels wide and {height} high" in text
    for factor in ("lean", "coarse", "weave", "standout", "distance"):
        assert factor not in text


def test_equal_seeds_give_equal_bytes(made: Any) -> None:
    assert hash_tree(made.generate("again")) == hash_tree(made.root / "draw")


@pytest.mark.slow
def test_every_rung_runs_and_the_informed_one_is_best(made: Any) -> None:
    scores = {rung: made.score(rung) for rung in made.plan.rungs}
    assert scores["informed"] > max(scores[rung] for rung in made.plan.rungs[:-1])
    assert max(scores["trees"], scores["blend"]) > scores["dummy"] + 0.01
    assert made.bayes() >= scores["informed"] - 0.02
