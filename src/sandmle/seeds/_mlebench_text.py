"""Careful guesses from the text of an MLE-bench entry: None where the description does not tell.

Grader names alone mislead: some entries carry the name of another metric, and ``auc-roc`` is also used where several
labels are averaged. So a problem type is given only where the description names the metric too.
"""

from __future__ import annotations

import re

from sandmle.task import Modality, ProblemType

__all__ = ["METRIC_NAMES", "guess_modality", "guess_problem", "is_loss"]

METRIC_NAMES = {
    "accuracy": "accuracy",
    "multi-class-classification-accuracy": "accuracy",
    "macro-f1-score": "macro_f1",
    "matthews-correlation-coefficient": "mcc",
    "quadratic-weighted-kappa": "quadratic_kappa",
    "log-loss": "log_loss",
    "multi-class-log-loss": "multiclass_log_loss",
    "auc-roc": "roc_auc",
    "root-mean-squared-error": "rmse",
    "root_mean_squared_error": "rmse",
    "mean-absolute-error": "mae",
}
LOSS_WORDS = ("error", "loss", "distance", "divergence", "rmsle")

MODALITY_WORDS: dict[Modality, str] = {
    "image": r"images?|photos?|photographs?|jpe?g|png|tiff?|dicom|dcm",
    "audio": r"audio|wav|flac|mp3|aiff?|sounds?|speech",
    "text": r"texts?|sentences?|tweets?|comments?|essays?|questions?|answers?|words?|phrases?|documents?",
}
LINKS = re.compile(r"!\[[^\]]*\]\([^)]*\)|https?://\S+")
CLEAR_COUNT = 5
CLEAR_RATIO = 3

SEVERAL_LABELS = re.compile(r"multi-?label|column-?wise|each (predicted )?column|averaged? (over|of|across)", re.I)
IMPLIED: dict[str, tuple[str, ProblemType]] = {
    "roc_auc": (r"roc|receiver operating|area under", "binary"),
    "log_loss": (r"log(arithmic)?[ -]?loss", "binary"),
    "multiclass_log_loss": (r"log(arithmic)?[ -]?loss", "multiclass"),
    "rmse": (r"root[ -]mean[ -]squared?|rmse", "regression"),
    "mae": (r"mean absolute error|\bmae\b", "regression"),
    "quadratic_kappa": (r"kappa", "multiclass"),
}


def is_loss(grader: str) -> bool:
    """Whether a grader's name says that lower is better."""
    return any(word in grader.lower() for word in LOSS_WORDS) and "likelihood" not in grader.lower()


def guess_modality(description: str) -> Modality | None:
    """The modality whose words clearly prevail in ``description``, links and embedded pictures aside."""
    text = LINKS.sub(" ", description)
    counts = {modality: len(re.findall(rf"\b({words})\b", text, re.I)) for modality, words in MODALITY_WORDS.items()}
    (first, most), (_, second) = sorted(counts.items(), key=lambda item: -item[1])[:2]
    return first if most >= CLEAR_COUNT and most >= CLEAR_RATIO * second else None


def guess_problem(metric: str, description: str) -> ProblemType | None:
    """The problem type, where ``metric`` implies one and ``description`` names that metric for a single label."""
    phrase, problem = IMPLIED.get(metric, (None, None))
    if phrase is None or SEVERAL_LABELS.search(description) or not re.search(phrase, description, re.I):
        return None
    return problem
