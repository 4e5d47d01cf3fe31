"""What a recipe says of sandboxes is what they are opened with, or is refused."""

import os
import pickle

import pytest

from sandmle.errors import BadInput
from sandmle.rl.rllm.on_verl import playing_of
from sandmle.rl.rllm.recipe import Recipe, Sandboxes
from sandmle.rl.rllm.sandboxes import refuse_missing_cores
from sandmle.sandboxes import LocalBackend


def playing(allow_unisolated=True, **sandboxes):
    """As the process that plays receives it."""
    recipe = Recipe.load("qwen3-8b", {"sandboxes": sandboxes})
    return pickle.loads(pickle.dumps(playing_of(recipe, 9, allow_unisolated)))


def test_local_sandboxes_are_opened_by_default():
    assert isinstance(playing().open_sandboxes(), LocalBackend)


def test_a_clusters_sandboxes_have_the_gpus_that_the_recipe_says(monkeypatch):
    pytest.importorskip("ray", reason="pip install 'sandmle[ray]'")
    told = {}
    monkeypatch.setattr("sandmle.sandboxes.ray.RayBackend", lambda **given: told.update(given))
    playing(backend="ray", gpus_each=0.5, gpus=32).open_sandboxes()
    assert (told["gpus"], told["allow_unisolated"]) == (0.5, True)


def test_more_cores_than_there_are_is_said_before_a_training_starts(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    refuse_missing_cores(Sandboxes(cpus=8))
    refuse_missing_cores(Sandboxes(cpus=64, backend="ray"))
    with pytest.raises(BadInput, match=r"^sandboxes.cpus = 64: this machine has 8 cores; lower it and sandboxes.count"):
        refuse_missing_cores(Sandboxes())
