"""The small data sets inside scikit-learn; always at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sandmle.seeds.bundled._define import Bundled, bundled

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SEEDS"]


def _frame(loader: str, target: str, labels: tuple[str, ...] = ()) -> pd.DataFrame:
    """Features and target of ``sklearn.datasets.<loader>``; ``labels`` renames the class codes 0..K-1."""
    from sklearn import datasets

    loaded = getattr(datasets, loader)(as_frame=True)
    rows: pd.DataFrame = loaded.data.copy()
    rows.columns = [_plain(name) for name in rows.columns]
    rows[target] = [labels[code] for code in loaded.target] if labels else loaded.target
    return rows


def _plain(name: str) -> str:
    """A column name of letters, digits and underscores."""
    return name.replace(" (cm)", "_cm").replace(" ", "_").replace("/", "_per_")


def _reader(loader: str, target: str, labels: tuple[str, ...] = ()) -> Callable[[], pd.DataFrame]:
    return lambda: _frame(loader, target, labels)


def _digits_parity() -> pd.DataFrame:
    rows = _frame("load_digits", "parity", DIGITS)
    return rows.assign(parity=["odd" if int(digit) % 2 else "even" for digit in rows["parity"]])


def _digit_scans() -> pd.DataFrame:
    import numpy as np
    import pandas as pd
    from sklearn.datasets import load_digits

    loaded = load_digits()
    pixels = np.rint(loaded.images * (255 / 16)).astype(np.uint8)
    return pd.DataFrame({"image": list(pixels), "digit": [DIGITS[digit] for digit in loaded.target]})


def _wine_alcohol() -> pd.DataFrame:
    return _frame("load_wine", "cultivar", CULTIVARS).drop(columns="cultivar")


CULTIVARS = ("cultivar_1", "cultivar_2", "cultivar_3")
DIGITS = tuple("0123456789")
IRISES = ("setosa", "versicolor", "virginica")

_WINE = (
    "Chemical analyses of 178 wines grown in one region of Italy from three cultivars of grape. The table is the Wine"
    " data set of the UCI repository (M. Forina and colleagues, 1991), as scikit-learn ships it."
)
_DIGITS = (
    "Scans of 1,797 handwritten digits, reduced to 8 × 8 pixels. This is the test part of the UCI data set Optical"
    " Recognition of Handwritten Digits (E. Alpaydin and C. Kaynak, 1998), as scikit-learn ships it. The split here is"
    " by row, so one writer's digits can be on both sides."
)
_PIXELS = (
    "The columns `pixel_R_C` hold the ink in row R and column C, from 0 (none) to 16; there are no missing values."
)

SEEDS: tuple[Bundled, ...] = (
    bundled(
        "breast-cancer",
        title="Malignant or benign breast masses from cell images",
        about="Measurements of cell nuclei in 569 fine needle aspirates of breast masses: the Breast Cancer Wisconsin"
        " (Diagnostic) data set of the UCI repository (W. Wolberg, N. Street and O. Mangasarian, 1995), as scikit-learn"
        " ships it.",
        columns="Thirty numbers a row: ten properties of the nuclei (radius, texture, perimeter, area, smoothness,"
        " compactness, concavity, concave points, symmetry, fractal dimension), each as mean, standard error and"
        " worst value over the image. There are no missing values.",
        goal="Predict the probability that a mass is malignant; about 37 % are.",
        problem_type="binary",
        metric="roc_auc",
        target="diagnosis",
        classes=("benign", "malignant"),
        n_rows=569,
        carrier="sklearn",
        # scikit-learn codes malignant as 0
        rows=_reader("load_breast_cancer", "diagnosis", ("malignant", "benign")),
    ),
    bundled(
        "wine",
        title="Which cultivar a wine was made from",
        about=_WINE,
        columns="Thirteen numbers a row, such as alcohol, malic acid, ash, magnesium, flavanoids, colour intensity, hue"
        " and proline. There are no missing values.",
        goal="Predict the cultivar; the three are present in shares of about 33, 40 and 27 %.",
        problem_type="multiclass",
        metric="macro_f1",
        target="cultivar",
        classes=CULTIVARS,
        n_rows=178,
        carrier="sklearn",
        rows=_reader("load_wine", "cultivar", CULTIVARS),
    ),
    bundled(
        "wine-alcohol",
        family="wine",
        title="How much alcohol a wine holds",
        about=_WINE,
        columns="Twelve numbers a row from the same analysis, such as malic acid, ash, flavanoids, colour intensity,"
        " hue and proline; the cultivar is left out. There are no missing values.",
        goal="Predict the alcohol in percent by volume, between 11 and 15.",
        problem_type="regression",
        metric="r2",
        target="alcohol",
        n_rows=178,
        carrier="sklearn",
        rows=_wine_alcohol,
    ),
    bundled(
        "iris",
        title="Species of iris flowers",
        about="Measurements of 150 iris flowers, 50 of each of three species, published by R. A. Fisher in 1936 from"
        " E. Anderson's field data, as scikit-learn ships them. Two of the rows are equal.",
        columns="Length and width of sepal and petal in centimetres. There are no missing values.",
        goal="Predict the probability of each species.",
        problem_type="multiclass",
        metric="multiclass_log_loss",
        target="species",
        classes=IRISES,
        n_rows=150,
        carrier="sklearn",
        rows=_reader("load_iris", "species", IRISES),
    ),
    bundled(
        "digits",
        title="Handwritten digits at 8 by 8 pixels",
        about=_DIGITS,
        columns=_PIXELS,
        goal="Predict which digit was written; all ten are about equally frequent.",
        problem_type="multiclass",
        metric="accuracy",
        target="digit",
        classes=DIGITS,
        n_rows=1797,
        carrier="sklearn",
        rows=_reader("load_digits", "digit", DIGITS),
    ),
    bundled(
        "digits-parity",
        family="digits",
        title="Even or odd handwritten digits at 8 by 8 pixels",
        about=_DIGITS,
        columns=_PIXELS,
        goal="Predict whether the digit is even or odd; about half are odd.",
        problem_type="binary",
        metric="mcc",
        target="parity",
        classes=("even", "odd"),
        n_rows=1797,
        carrier="sklearn",
        rows=_digits_parity,
    ),
    bundled(
        "digit-scans",
        family="digits",
        title="Pictures of handwritten digits at 8 by 8 pixels",
        about=f"{_DIGITS} The seed is a sample of 800 scans.",
        columns="The column `image` holds the path of a picture: white ink on black, from 0 (no ink) to 255.",
        goal="Predict the probability of each digit; all ten are about equally frequent.",
        problem_type="multiclass",
        metric="multiclass_log_loss",
        target="digit",
        classes=DIGITS,
        n_rows=800,
        carrier="sklearn",
        modality="image",
        sampled=True,
        rows=_digit_scans,
    ),
    bundled(
        "diabetes",
        title="Progression of diabetes within a year",
        about="Ten baseline variables of 442 diabetes patients and a measure of how far the disease progressed in the"
        " year after: the data of B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, Least Angle Regression (2004),"
        " as scikit-learn ships them.",
        columns="Age, sex, body mass index (`bmi`), blood pressure (`bp`) and six blood serum values (`s1` to `s6`)."
        " Each column was centred and scaled to a sum of squares of 1, over all rows. There are no missing values.",
        goal="Predict the progression, a number between 25 and 346.",
        problem_type="regression",
        metric="rmse",
        target="progression",
        n_rows=442,
        carrier="sklearn",
        rows=_reader("load_diabetes", "progression"),
    ),
)
